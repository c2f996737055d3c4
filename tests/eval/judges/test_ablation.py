"""The figures of an ablation against arithmetic by hand."""

from __future__ import annotations

import pytest

from eval.asking.verdict import Answer, Failed
from eval.judges.items import Items
from eval.judges.judge import Judgement, Judgements, Round
from eval.judges.persona_modes import Mode, ablation
from eval.judges.personalized import JUDGE, PRESETS, PersonaItem, PersonaOptions
from pearl.models.chat.base import Reply
from pearl.records import Usage

MODES = (Mode(), Mode(fields=("age",)))


def report(*by_mode, personas=("x", "x", "y"), preset="corrected"):
    """A reply for each item, whose right answer is A, in each order; None for one that failed."""
    items = [
        PersonaItem(n + 1, f"i{n}", {"age": "9", "home": persona}, "", (f"hills {n}", f"sea {n}"), Answer.A)
        for n, persona in enumerate(personas)
    ]
    options = PersonaOptions(preset=preset, modes=MODES, **(PRESETS.chosen(preset, ["order=both"])))
    replies = [Failed("refused") if text is None else Reply(text, "stop", Usage()) for said in by_mode for text in said]
    said = zip(JUDGE.trials(items, options), replies, strict=True)
    judged = tuple(Judgement(trial, JUDGE.verdict(reply, trial, options)) for trial, reply in said)
    found = Items(tuple(items), len(items), {})
    judgements = Judgements(found, (), Round(judged, lambda: replies), None, "mock", {})
    return ablation(judgements, options.unparsed, options.threshold, options.seed)


def test_only_trials_that_count_in_both_are_compared():
    # in the other order the right one is B
    full = ["A]] [[90]]", "B]] [[90]]", "A]] [[90]]", None, "A]] [[50]]", "A]] [[70]]"]
    less = ["A]] [[90]]", "A]] [[30]]", "what?", "B]] [[90]]", "B]] [[50]]", "B]] [[40]]"]
    found = report(full, less)
    assert (found["items"], found["personas"]) == (3, 2)
    first, second = found["modes"]
    assert (first["n"], first["failed"], first["accuracy"]["part"]) == (5, {"refused": 1}, 4)
    assert (second["n"], second["failed"], second["accuracy"]["part"]) == (6, {}, 3)
    dropped = second["accuracies"]["invalid_dropped"]
    assert (dropped["part"], dropped["of"]) == (3, 5)
    assert (second["high_share"]["part"], second["high_share"]["of"], second["high"]["part"]) == (2, 6, 2)
    # right with 90, 90, 90 and 50, wrong with 70: it beats one of four
    assert first["auroc"]["value"] == pytest.approx(3 / 4)
    (row,) = found["differences"]
    # without the fourth: right are 1 1 1 - 1 0 and 1 0 0 - 0 1
    assert (row["n"], row["accuracy"]["value"]) == (5, pytest.approx(2 / 5 - 4 / 5))
    # high are 1 1 1 - 0 0 and 1 0 0 - 0 0
    assert row["high_share"]["value"] == pytest.approx(1 / 5 - 3 / 5)
    # of the last item one order is better and the other worse
    assert (row["items_better"], row["items_worse"], row["p_value"]) == (0, 2, 0.5)


def test_an_unread_reply_is_left_out_of_the_pairs_where_the_preset_says_so():
    found = report(["A]] [[90]]"] * 6, ["what?"] * 3 + ["B]] [[9]]"] * 3, preset="as_published")
    assert found["differences"][0]["n"] == 3
    assert found["modes"][1]["accuracies"]["invalid_wrong"]["of"] == 6


def test_the_interval_draws_personas_however_little_the_judge_is_told():
    """Two personas, on one of which all is lost: 0, 1/2 and 1 are all there is to draw."""
    right, wrong = ["A]] [[90]]", "B]] [[90]]"], ["B]] [[90]]", "A]] [[90]]"]
    found = report(right * 4, right * 2 + wrong * 2, personas=("x", "x", "y", "y"))
    difference = found["differences"][0]["accuracy"]
    assert difference == {"value": -0.5, "low": -1, "high": 0}
