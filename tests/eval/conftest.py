"""What tests of eval share: the real command line, the metric that needs a model, judgements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from retriever.models.bertscore import BertScore


@pytest.fixture
def pearl_eval(run_pearl: Callable[..., Any]) -> Callable[..., Any]:
    """`pearl eval` with these words."""
    return partial(run_pearl, "eval")


@pytest.fixture(scope="session")
def bertscore() -> BertScore:
    """With the real embedded encoder, loaded once."""
    return BertScore()


PEOPLE = ("a baker in Porto", "a sailor from Bergen", "a teacher near Graz", "a nurse of Leeds", "a smith at Vaduz")


@pytest.fixture
def judged() -> Callable[..., list[dict[str, Any]]]:
    """Recorded judgements about made-up people: sound ones, half right, the surer the righter."""

    def make(count: int = 40, **fields: Any) -> list[dict[str, Any]]:
        return [_judged(place) | fields for place in range(count)]

    return make


def _judged(place: int) -> dict[str, Any]:
    gold = "AB"[place // 2 % 2]
    right = place % 4 in (0, 3)
    answer = gold if right else "BA"["BA".index(gold) - 1]
    certainty = (90 if right else 50) + place % 7 - 3
    texts = [f"Text number {2 * place} of somebody.", f"Text number {2 * place + 1} of someone else."]
    persona = f"The person is {PEOPLE[place % len(PEOPLE)]}."
    return {
        "prompt": f"Who wrote it? Say [[A]] or [[B]], and your certainty from 1 to 100.\n[User Profile]\n{persona}\n"
        f"[Response A]\n{texts[0]}\n[Response B]\n{texts[1]}\n[Answer]\n[[",
        "answer": answer,
        "certainty": str(certainty),
        "acc": right,
        "ground_truth": gold,
        "user_info": persona,
        "asst_A": texts[0],
        "asst_B": texts[1],
        "res": f"{answer}]] [[{certainty}]]",
    }


def user_text(body: dict[str, Any]) -> str:
    return body["messages"][-1]["content"]
