"""The figures against arithmetic by hand."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from eval.asking.reply import NO_VERDICT
from eval.asking.verdict import Answer, Failed, Given, Invalid, Score
from eval.judges.items import Items
from eval.judges.judge import Judgement, Judgements, Questions, Round, Trial
from eval.judges.style_rank import CHECKS, JUDGE, PRESETS, RankItem, RankOptions, rank
from eval.report.checks import preflight
from pearl.models.chat.base import Reply
from pearl.records import Usage

AB, AS_PUBLISHED = (RankOptions(preset=name, **PRESETS.chosen(name)) for name in ("corrected", "as_published"))
RUBRIC = replace(AB, scheme="rubric_style")
CHOICE = {"1": Given(Answer.A), "2": Given(Answer.B), "-": Invalid(NO_VERDICT), "!": Failed("timeout")}


def item(number=1, texts=("A longer text.", "A text."), request="Why?", styles=("storytelling",), task="email"):
    return RankItem(number, f"i{number}", task, styles, request, texts, {})


def ab(*draws, items=None):
    """A string an item, of pairs: what is said of text a first, and of text b first; 1 is Output (a)."""
    return [
        Judgement(Trial(place, items[place] if items else item(), draw, bool(second)), CHOICE[word])
        for place, said in enumerate(draws)
        for draw, pair in enumerate(said.split())
        for second, word in enumerate(pair)
    ]


def scored(*draws, items=None):
    """A string an item, of pairs: the points of text a, and of text b."""
    points = {"-": Invalid(NO_VERDICT)} | {str(n): Score(float(n)) for n in range(6)}
    trials = [each.trial for each in ab(*(re.sub("[^ ]", "1", said) for said in draws), items=items)]
    return [Judgement(trial, points[word]) for trial, word in zip(trials, re.sub(" ", "", "".join(draws)), strict=True)]


def label(judged, options=AB):
    (ranked,) = rank(judged, options)
    return ranked.label


@pytest.mark.parametrize(
    ("draws", "corrected", "as_published"),
    [
        ("12", "a", "a"),  # text a in both orders
        ("21", "b", "b"),
        ("11", "tie", "tie"),  # the first, whatever it is
        ("22", "tie", "tie"),
        ("12 12 21", "a", "a"),
        ("12 21 11 11", "tie", "tie"),
        ("12 21", None, "tie"),  # an even vote
        ("12 11", None, "tie"),
        ("12 12 21 21 11", None, "tie"),
        ("1-", None, "tie"),  # half a draw
        ("-2", None, "tie"),
        ("!1", None, "tie"),
        ("12 1- 1-", "a", "tie"),
        ("--", None, None),
        ("!!", None, None),
        ("-- 21", "b", "b"),
    ],
)
def test_disagreeing_orders_tie_and_most_draws_decide(draws, corrected, as_published):
    assert label(ab(draws)) == corrected
    assert label(ab(draws), AS_PUBLISHED) == as_published


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        ("43", "a"),
        ("34", "b"),
        ("33", "tie"),
        ("50 04 04", "b"),  # 5/3 and 8/3, though
        ("51 12 12", "a"),  # 7/3 and 5/3, though b wins two draws of three
        ("30 03 33", "tie"),
        ("4- -3", "a"),
        ("1- 21 -2", "tie"),  # 3/2 and 3/2, of those that can be read
        ("4-", None),
        ("--", None),
    ],
)
def test_the_higher_mean_of_the_points_decides(draws, expected):
    assert label(scored(draws), RUBRIC) == expected


def test_thirds_that_are_equal_tie():
    """0.1 + 0.2 is not 0.3; the means of the same points are the same all the same."""
    points = [(0.1, 0.2), (0.2, 0.3), (0.3, 0.1)]
    judged = [
        Judgement(Trial(0, item(), draw, bool(second)), Score(pair[second]))
        for draw, pair in enumerate(points)
        for second in (0, 1)
    ]
    assert label(judged, RUBRIC) == "tie"


def judgements(judged, items, replies=(), passed_over=None):
    of = Items(tuple(items), len(items), passed_over or {})
    return Judgements(of, (), Round(tuple(judged), lambda: replies), None, "mock", {})


def figures(judged, items, options=AB):
    return JUDGE.figures(judgements(judged, items), options)


def test_what_the_judge_is_worth():
    items = [item(n, request=f"Question {n // 2}") for n in range(4)]
    found = figures(ab("12 12", "12 11", "21 21", "1- 12", items=items), items)
    assert (found["n"], found["items"], found["requests"]) == (16, 4, 2)
    assert found["verdicts"] == {"A": 9, "B": 6, "invalid": 1}
    assert found["invalid"] == {"no_verdict": 1}
    assert {name: each["count"] for name, each in found["labels"].items()} == {"a": 2, "tie": 0, "b": 1, "no_label": 1}
    assert found["labels"]["a"]["value"] == 2 / 4
    assert found["draw_labels"] == {"a": 4, "tie": 1, "b": 2, "no_label": 1}
    assert found["p_first"]["value"] == pytest.approx(9 / 15)
    assert (found["flip_rate"]["value"], found["pairs_of_orders"]) == (pytest.approx(1 / 7), 7)
    assert found["prefers_longer"]["value"] == pytest.approx(2 / 3)  # a is longer, and two of three labels
    assert found["scores"] is None


def test_self_consistency_is_randolphs_kappa_of_the_draws():
    from statsmodels.stats.inter_rater import fleiss_kappa

    items = [item(n) for n in range(3)]
    found = figures(ab("12 12", "12 11", "21 21", items=items), items)
    # two of three items agree with themselves; of three labels chance is a third
    assert found["randolph_kappa"]["value"] == pytest.approx((2 / 3 - 1 / 3) / (1 - 1 / 3))
    assert found["randolph_kappa"]["value"] == pytest.approx(
        fleiss_kappa([[2, 0, 0], [1, 1, 0], [0, 0, 2]], method="randolph")
    )
    assert found["band"] == "moderate"


@pytest.mark.parametrize(("draws", "reason"), [("--", "no draw has a label"), ("12", "there is only one rater")])
def test_a_consistency_that_is_undefined_is_null_with_a_reason(draws, reason):
    found = figures(ab(draws), [item()])
    assert (found["randolph_kappa"], found["band"]) == (None, None)
    assert found["undefined"]["randolph_kappa"].startswith(reason)


def test_one_label_in_all_draws_is_full_agreement():
    found = figures(ab("12 12"), [item()])
    assert (found["randolph_kappa"]["value"], found["band"], found["undefined"]) == (1.0, "almost perfect", {})


def test_the_interval_of_the_consistency_is_over_requests():
    """Four pairs for two requests: more pairs for each are no more evidence."""
    items = [item(n, request=f"Question {n // 2}") for n in range(4)]
    twice = figures(ab("12 12", "12 12", "12 11", "12 11", items=items), items)["randolph_kappa"]
    assert twice == figures(ab("12 12", "12 11", items=items[::2]), items[::2])["randolph_kappa"]


def test_the_figures_of_a_rubric():
    items = [item(1), item(2, task="tweet")]
    found = figures(scored("43 33", "12 -2", items=items), items, RUBRIC)
    assert {name: each["count"] for name, each in found["labels"].items()} == {"a": 1, "tie": 0, "b": 1, "no_label": 0}
    assert found["draw_labels"] == {"a": 1, "tie": 1, "b": 1, "no_label": 1}
    assert (found["p_first"], found["flip_rate"]) == (None, None)
    assert found["scores"] == {
        "a": {"mean": (4 + 3 + 1) / 3, "counts": {"1": 1, "3": 1, "4": 1}},
        "b": {"mean": (3 + 3 + 2 + 2) / 4, "counts": {"2": 2, "3": 2}},
    }
    assert found["verdicts"] == {"invalid": 1, "scored": 7}
    assert [(part["task"], part["labels"]["a"]["count"]) for part in found["tasks"]] == [("email", 1), ("tweet", 0)]


def test_the_report_names_what_was_chosen_and_every_label():
    found = JUDGE.figures(judgements(ab("12 12 1-"), [item()], passed_over={"mood": 1}), AS_PUBLISHED)
    assert (found["choices"], found["passed_over"]) == (PRESETS.chosen("as_published"), {"mood": 1})
    votes = {"a": 2, "tie": 1, "b": 0, "no_label": 0}
    assert found["ranked"] == [{"item": "i1", "label": "a", "draws": votes, "mean_scores": None}]


def said(text, finish_reason="stop"):
    return Reply(text, finish_reason, Usage())


def test_every_draw_asks_in_both_orders():
    items, options = [item(), item(2)], replace(AB, draws=2)
    assert [(each.place, each.run, each.swapped) for each in JUDGE.trials(items, options)] == [
        (place, draw, second) for place in (0, 1) for draw in (0, 1) for second in (False, True)
    ]
    assert [each.sample for each in Questions(JUDGE, items, options)] == [0, 0, 1, 1] * 2


def read(replies, of, options=AB):
    """The judgements of one draw."""
    trials = JUDGE.trials([of], replace(options, draws=1))
    return [
        Judgement(trial, JUDGE.verdict(reply, trial, options)) for trial, reply in zip(trials, replies, strict=True)
    ]


def test_a_reply_that_is_cut_off_or_is_not_there():
    assert [each.verdict for each in read([said("Output (a)", "length"), Failed("timeout")], item())] == [
        Invalid("cut_off"),
        Failed("timeout"),
    ]


def test_the_lines_of_judgements():
    pair = RankItem(1, "i1", "tweet", ("storytelling", "journalistic"), "Why?", ("One.", "Two."), {"generator_a": "g"})
    replies = [said("Output (b)"), Failed("timeout")]
    first, second = JUDGE.lines(judgements(read(replies, pair), [pair], replies), AB)
    assert first == {
        "kind": "ranking",
        "item": "i1",
        "task": "tweet",
        "style": ["storytelling", "journalistic"],
        "scheme": "ab_style",
        "judge": "mock",
        "generator_a": "g",
        "request": "a706a9fc5db47f85",
        "draw": 0,
        "order": "ab",
        "verdict": "B",
        "score": None,
        "reason": None,
        "reply": "Output (b)",
    }
    assert (second["order"], second["verdict"], second["reason"], second["reply"]) == ("ba", "error", "timeout", None)
    replies, helpfulness = [said("Fine.\nScore: 4"), said("Score: 9")], replace(AB, scheme="rubric_helpfulness")
    first, second = JUDGE.lines(judgements(read(replies, pair, helpfulness), [pair], replies), helpfulness)
    assert (first["style"], first["response"], first["verdict"], first["score"]) == (None, "a", "scored", 4)
    assert (second["response"], second["verdict"], second["score"]) == ("b", "invalid", None)
    assert "order" not in first


@pytest.mark.parametrize(
    ("pairs", "check", "records"),
    [
        ([item(texts=("Same text.", " same  text."))], "identical_texts", (1,)),
        ([item(texts=("Why?", "Because."))], "text_is_request", (1,)),
        ([item(texts=("A bit of Storytelling!", "No."))], "style_named", (1,)),
        ([item(styles=("poetic and lyrical",), texts=("Poetic & lyrical.", "No."))], "style_named", (1,)),
        ([item(1), item(2, texts=("A text.", "A longer text."))], "same_pair", (1, 2)),
    ],
)
def test_what_is_wrong_with_the_items(pairs, check, records):
    (finding,) = preflight(CHECKS, pairs)
    assert (finding.check, finding.records) == (check, records)


def test_nothing_is_wrong():
    assert preflight(CHECKS, [item(1), item(2, request="How?"), item(3, styles=("journalistic",))]) == []
