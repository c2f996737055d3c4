"""The figures against arithmetic by hand."""

from __future__ import annotations

from dataclasses import replace

import krippendorff
import pytest

from eval.asking.reply import CUT_OFF
from eval.asking.verdict import Answer, Failed, Given, Invalid
from eval.judges.authorship import CHECKS, JUDGE, PRESETS, AuthorshipItem, AuthorshipOptions
from eval.judges.authorship import figures as authorship_figures
from eval.judges.items import Items
from eval.judges.judge import Judgement, Judgements, Questions, Round, Trial
from eval.report.checks import preflight
from pearl.models.chat.base import Reply
from pearl.records import Usage

BOTH_ORDERS, RANDOM = (
    AuthorshipOptions(preset=name, systems=("ours", "bm25"), **PRESETS.chosen(name))
    for name in ("corrected", "as_published")
)


def items(*texts, owners=None):
    every = [
        AuthorshipItem(n + 1, f"i{n}", owners[n] if owners else f"user {n}", f"reference {n}", pair)
        for n, pair in enumerate(texts or [("ours, longer", "theirs")] * 2)
    ]
    return Items(tuple(every), len(every), {}, {"failed_drafts": {"ours": 0, "bm25": 0}})


def judged(of, *said):
    """Place, run, swapped, and what is said: 1 or 2 for POST ONE or TWO, 0 for both, None for an invalid reply."""
    answers = {1: Given(Answer.A), 2: Given(Answer.B), 0: Given(Answer.BOTH), None: Invalid("no_verdict")}
    return [Judgement(Trial(place, of.every[place], run, swapped), answers[word]) for place, run, swapped, word in said]


def figures(said, of=None, options=BOTH_ORDERS):
    of = of or items()
    first = Round(tuple(judged(of, *said)), lambda: ())
    return authorship_figures(Judgements(of, (), first, None, "mock", {}), options)


def values(rates):
    return {name: rates[name]["value"] for name in ("proposed", "baseline", "tie")}


def test_an_answer_is_of_a_position_and_undone_for_the_item():
    said = judged(items(), (0, 0, False, 1), (0, 0, True, 1), (0, 0, True, 0), (0, 0, True, None))
    assert [each.of_item() for each in said] == [
        Given(Answer.A),
        Given(Answer.B),
        Given(Answer.BOTH),
        Invalid("no_verdict"),
    ]


def test_rates_are_means_over_items_and_runs():
    found = figures([(0, 0, False, 1), (0, 0, True, 2), (1, 0, False, 2), (1, 0, True, None), (1, 1, False, 0)])
    # P P B - T
    assert values(found["rates_invalid_dropped"]) == {"proposed": 2 / 4, "baseline": 1 / 4, "tie": 1 / 4}
    assert values(found["rates_invalid_counted"]) == {"proposed": 2 / 5, "baseline": 1 / 5, "tie": 1 / 5}
    assert found["rates_invalid_counted"]["no_answer"]["value"] == 1 / 5
    assert found["margin"]["value"] == (2 - 1) / 4
    assert (found["n"], found["verdicts"]) == (5, {"A": 1, "B": 2, "both": 1, "invalid": 1})
    assert found["invalid"] == {"no_verdict": 1}
    assert found["rates"] == found["rates_invalid_counted"]
    share = found["rates"]["proposed"]
    assert share["low"] <= share["value"] <= share["high"]
    # Wilson, 2 of 5: (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)
    assert share["wilson"]["low"] == pytest.approx(0.1176, abs=1e-3)
    assert share["wilson"]["high"] == pytest.approx(0.7693, abs=1e-3)


def test_a_judge_that_follows_positions_is_found_out():
    said = [(place, run, swapped, 1) for place in range(4) for run in range(3) for swapped in (False, True)]
    of = items(*[("ours, longer", "theirs"), ("ours", "theirs, longer")] * 2)
    found = figures(said, of)
    assert values(found["rates"]) == {"proposed": 0.5, "baseline": 0.5, "tie": 0}
    assert (found["p_first"]["value"], found["flip_rate"]["value"]) == (1, 1)
    assert found["pairs_of_orders"] == 12
    assert values(found["rates_orders_must_agree"]) == {"proposed": 0, "baseline": 0, "tie": 1}
    assert found["alpha_within_order"]["value"] == 1
    assert found["alpha"]["value"] < 0
    same = {row["name"]: row["same_as_judge"]["value"] for row in found["baselines"]}
    assert (same["first"], same["second"], same["longer"]) == (1, 0, 0.5)


def test_a_judge_that_follows_length_is_found_out():
    of = items(("ours, longer", "theirs"), ("ours", "theirs, longer"), ("same", "size"))
    said = [(0, 0, False, 1), (0, 0, True, 2), (1, 0, False, 2), (1, 0, True, 1), (2, 0, False, 0), (2, 0, True, 0)]
    found = figures(said, of)
    assert found["prefers_longer"]["value"] == 1
    same = {row["name"]: row["same_as_judge"]["value"] for row in found["baselines"]}
    assert (same["longer"], same["shorter"]) == (1, pytest.approx(2 / 6))
    assert (found["flip_rate"]["value"], found["p_first"]["value"]) == (0, 0.5)


def test_alpha_is_the_librarys():
    said = [(0, 0, False, 1), (0, 1, False, 1), (0, 2, True, 1), (1, 0, False, 2), (1, 1, True, 1), (1, 2, False, None)]
    found = figures(said, options=RANDOM)
    # P P B, and B B -
    assert found["alpha"]["value"] == pytest.approx(
        krippendorff.alpha([[0, 1], [0, 1], [1, float("nan")]], level_of_measurement="nominal")
    )
    assert found["alpha"]["low"] <= found["alpha"]["value"] <= found["alpha"]["high"]
    assert "alpha_within_order" not in found
    assert found["rates_orders_must_agree"] is None
    assert found["flip_rate"] is None
    assert found["rates"] == found["rates_invalid_dropped"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([(0, 0, False, 1), (1, 0, False, 2)], "two answers"),  # one run
        ([(0, 0, False, 1), (0, 1, False, 1)], "only one answer"),
        ([(0, 0, False, None), (0, 1, False, None)], "two answers"),
    ],
)
def test_alpha_is_null_with_a_reason_where_it_is_undefined(said, reason):
    found = figures(said, options=RANDOM)
    assert found["alpha"] is None
    assert reason in found["undefined"]["alpha"]


def test_a_judge_that_never_answers():
    found = figures([(0, 0, False, None), (0, 0, True, None)])
    assert found["rates"]["no_answer"]["value"] == 1
    assert found["rates_invalid_dropped"]["proposed"] is None
    assert (found["margin"], found["p_first"], found["prefers_longer"]) == (None, None, None)
    assert found["sign_test"] == {"proposed": 0, "baseline": 0, "neither": 2 - 1, "p_value": None}


def test_the_sign_test_is_over_users():
    of = items(*[("a", "b")] * 4, owners=["ann", "ann", "bo", "cy"])
    found = figures([(0, 0, False, 1), (1, 0, False, 1), (2, 0, False, 1), (3, 0, False, 2)], of, RANDOM)
    assert found["sign_test"] == {"proposed": 2, "baseline": 1, "neither": 0, "p_value": 1.0}
    assert (found["users"], found["resampled"]) == (3, "users")


def test_a_reply_that_was_cut_off_never_came_to_its_verdict():
    trial = Trial(0, items().every[0], 0)
    said = [Reply("Well.\nPOST ONE", "stop", Usage()), Reply("Well.\nPOST ONE", "length", Usage()), Failed("refused")]
    verdicts = [JUDGE.verdict(reply, trial, BOTH_ORDERS) for reply in said]
    assert verdicts == [Given(Answer.A), Invalid(CUT_OFF), Failed("refused")]


def test_trials_of_the_presets():
    of = items(*[("a", "b")] * 40).every
    both = list(JUDGE.trials(of, BOTH_ORDERS))
    assert len(both) == 40 * 3 * 2
    once = list(JUDGE.trials(of, RANDOM))
    assert once == list(JUDGE.trials(of, RANDOM)) != list(JUDGE.trials(of, replace(RANDOM, seed=1)))
    assert len(once) == 40 * 3
    assert 40 < sum(trial.swapped for trial in once) < 80
    assert len(list(Questions(JUDGE, of, RANDOM))) == 120


def test_choices_by_name():
    assert PRESETS.chosen("as_published", ["order=both"]) == {"order": "both", "unparsed": "dropped"}


def test_what_is_wrong_with_the_items():
    of = items(("same  text", "Same text"), ("", "b"), ("reference 2", "b"), ("and reference 3 too", "b"), ("a", "b"))
    found = {finding.check: finding.records for finding in preflight(CHECKS, of.every)}
    assert found == {
        "identical_candidates": (1,),
        "empty_candidate": (2,),
        "candidate_is_reference": (3,),
        "candidate_contains_reference": (4,),
    }
    assert [finding.check for finding in preflight(CHECKS, [of.every[4]] * 2)] == ["same_reference"]
