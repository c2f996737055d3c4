"""Any sequence of documented calls gets documented answers: schemathesis makes up the calls from the API's description
and follows ids from one answer to the next call. ``make endure`` tries 5,000 cases, the suite a few."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

CASES = int(os.environ.get("PEARL_ENDURE", "0")) * 5_000 or 60
STEPS = 10  # calls of one sequence
LONGEST_URL = 60_000  # characters; a longer one the HTTP server refuses, in plain text


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_calls_in_any_order_get_documented_answers(listen: Callable[..., Any]) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis.stateful import run_state_machine_as_test

    served = listen(rate_limit="", max_draft_tokens=50)
    names = (f"user{number}" for number in count())
    schema = schemathesis.openapi.from_url(f"{served.address}/openapi.json")
    schema = schema.exclude(path_regex="^/metrics")  # of the operator, with another key

    # not that every body of the schema is taken: JSON Schema cannot say which characters an id may have
    checks = schemathesis.checks.CHECKS
    wanted = [
        checks.get_one(name)
        for name in (
            "not_a_server_error",
            "status_code_conformance",
            "content_type_conformance",
            "response_schema_conformance",
        )
    ]

    class Calls(schema.as_state_machine()):  # type: ignore[misc]
        def setup(self) -> None:  # each sequence begins without a history, so that it can be played again
            self.headers = served.house.as_user(next(names)).headers

        def get_call_kwargs(self, case: Any) -> dict[str, Any]:
            return {"headers": self.headers}

        def validate_response(self, response: Any, case: Any, **more: Any) -> None:
            if len(response.request.url or "") < LONGEST_URL:
                case.validate_response(response, checks=wanted)

    run_state_machine_as_test(
        Calls,
        settings=settings(
            max_examples=max(1, CASES // STEPS),
            stateful_step_count=STEPS,
            deadline=None,
            derandomize="PEARL_ENDURE" not in os.environ,
            phases=(Phase.explicit, Phase.generate),
            suppress_health_check=list(HealthCheck),
        ),
    )
