"""The drafts of several systems as items that judges compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eval.drafts.systems import Case
from pearl.asking.write import Written


def case_ids(cases: Sequence[Case]) -> list[str]:
    """The id of each case as an item: its own, or its place where some have none or share one."""
    own = [case.record.id for case in cases if case.record.id is not None]
    usable = len(own) == len(set(own)) == len(cases)  # several files may use one id
    return own if usable else [str(place) for place in range(len(cases))]


def items_of(
    cases: Sequence[Case], names: Sequence[str], written: Sequence[Sequence[Written]], generator: str
) -> Iterator[dict[str, Any]]:
    """Yield an item per case: the drafts of the model ``generator`` with each system of ``names``, beside the user's
    real text."""
    ids = case_ids(cases)
    for place, case in enumerate(cases):
        yield {
            "id": ids[place],
            **({} if case.record.user_id is None else {"user_id": case.record.user_id}),
            "request": case.record.request.text,
            "reference": case.target,
            "candidates": {name: mine[place].text for name, mine in zip(names, written, strict=True)},
            "generators": dict.fromkeys(names, generator),
        }
