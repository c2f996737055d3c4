"""Answers that need no judge, beside those of the authorship judge: by position, by length, by what is common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.judges.authorship_items import Item, Items
from eval.judges.authorship_trials import Judged, Outcome
from pearl.stats import Bootstrap

Rule = Callable[[Item, bool], float]  # above 0 it says the proposed system, below the baseline, at 0 a tie

DESCRIPTIONS: dict[str, tuple[str, Rule]] = {
    "first": ("always POST ONE", lambda item, swapped: -1.0 if swapped else 1.0),
    "second": ("always POST TWO", lambda item, swapped: 1.0 if swapped else -1.0),
    "longer": ("the draft with more characters", lambda item, swapped: _length(item, 0) - _length(item, 1)),
    "shorter": ("the draft with fewer characters", lambda item, swapped: _length(item, 1) - _length(item, 0)),
    "nearer_length": (
        "the draft whose length is nearer to the reference's",
        lambda item, swapped: _distance(item, 1) - _distance(item, 0),
    ),
}
MAJORITY = ("majority", "always the judge's most common answer")


def _length(item: Item, place: int) -> float:
    return len(item.texts[place].strip())


def _distance(item: Item, place: int) -> float:
    return abs(_length(item, place) - len(item.reference.strip()))


def rules(items: Items, judged: Sequence[Judged], code: NDArray[np.intp], bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """The rates of each rule, and how often the judge says the same, of the judgements with an answer."""
    outcomes = list(Outcome)
    trials = [(items.items[each.trial.place], each.trial.swapped) for each in judged]
    said = {
        name: (about, np.array([_code(rule(item, swapped), outcomes) for item, swapped in trials]))
        for name, (about, rule) in DESCRIPTIONS.items()
    }
    answered = code >= 0
    if answered.any():
        (most, _), *_ = Counter(code[answered].tolist()).most_common(1)
        said[MAJORITY[0]] = (MAJORITY[1], np.full(len(code), most))
    return [
        {
            "name": name,
            "description": about,
            **{outcome.value: float((mine == place).mean()) for place, outcome in enumerate(outcomes)},
            "same_as_judge": bootstrap.ratio((mine == code) & answered, answered).to_json(),
        }
        for name, (about, mine) in said.items()
    ]


def _code(says: float, outcomes: Sequence[Outcome]) -> int:
    return outcomes.index(Outcome.TIE if says == 0 else Outcome.PROPOSED if says > 0 else Outcome.BASELINE)
