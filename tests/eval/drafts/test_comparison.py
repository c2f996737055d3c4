from __future__ import annotations

import numpy as np
import pytest

from eval.drafts.cases import Case
from eval.drafts.comparison import (
    CLAIM_KINDS,
    METRICS,
    Measures,
    TargetMetrics,
    chances,
    edges_kept,
    macro_f1_of_sums,
    metrics_in,
    mixed,
    stance_features,
)
from eval.drafts.stance import NTA, YTA
from eval.report.metric import differences, figures
from eval.retrieval.gains import GainsRecord
from pearl.records import Document, Request
from pearl.stats.bootstrap import Bootstrap


def figure(name: str, measured: Measures) -> float:
    metric = next(metric for metric in METRICS if metric.name == name)
    size = len(measured.features[name])
    return metric.fold(Bootstrap([str(index) for index in range(size)]), measured).value


def test_macro_f1_by_hand():
    true = [YTA, YTA, YTA, NTA, NTA, None]
    taken = [YTA, NTA, None, NTA, YTA, YTA]
    # YTA: 1 hit, 1 false alarm, 2 misses; NTA: 1 hit, 1 false alarm, 1 miss
    expected = (2 * 1 / (2 * 1 + 1 + 2) + 2 * 1 / (2 * 1 + 1 + 1)) / 2
    features = stance_features(true, taken)
    assert features[-1].tolist() == [0] * 6
    assert macro_f1_of_sums(features.sum(axis=0, keepdims=True))[0] == pytest.approx(expected)


def test_macro_f1_of_perfect_and_of_one_sided_answers():
    true = [YTA, YTA, NTA, NTA]
    assert macro_f1_of_sums(stance_features(true, true).sum(axis=0, keepdims=True))[0] == 1
    always = stance_features(true, [NTA] * 4).sum(axis=0, keepdims=True)
    assert macro_f1_of_sums(always)[0] == pytest.approx((0 + 2 * 2 / (2 * 2 + 2)) / 2)
    with np.errstate(invalid="ignore"):
        assert np.isnan(macro_f1_of_sums(stance_features([YTA], [YTA]).sum(axis=0, keepdims=True))[0])


def test_texts_are_measured_against_their_targets(bertscore):
    target_metrics = TargetMetrics(["the cat sat down", "NTA, you did well"], bertscore, stances=False)
    assert [metric.name for metric in target_metrics.metrics] == ["rouge1", "rouge2", "bertscore"]
    measured = target_metrics.measure(["the cat ran", "NTA, you did well"])
    assert figure("rouge1", measured) == pytest.approx((4 / 7 + 1) / 2)
    assert figure("rouge2", measured) == pytest.approx((2 / 5 + 1) / 2)
    assert 0.5 < figure("bertscore", measured) < 1
    assert measured.stances == ()


def test_stances_come_with_the_texts_that_may_take_them(bertscore):
    target_metrics = TargetMetrics(["YTA", "NTA", "maybe"], bertscore, stances=True)
    assert [metric.name for metric in target_metrics.metrics][-1] == "macro_f1"
    measured = target_metrics.measure(["YTA", "you're the asshole", "NTA"])
    assert measured.stances == (YTA, YTA, NTA)
    assert figure("macro_f1", measured) == pytest.approx((2 / 3 + 0) / 2)


def test_likeness_is_over_the_drafts_that_are_long_enough(bertscore):
    past = tuple(
        f"Well then, the {noun} waits but still it sings for us all, and so we stay by the {noun} until the tide turns "
        f"again, which is why I think that nobody should leave before the {noun} has come home; mind the step."
        for noun in ("kettle", "garden", "train", "letter", "harbour", "window", "piano", "boat", "bell", "gate")
    )
    target_metrics = TargetMetrics(["a"] * 3, bertscore, stances=None, histories=[past, past, ("Mind the tide.",)])
    assert [metric.name for metric in target_metrics.metrics][-1] == "likeness"
    long = past[0].replace("kettle", "lantern")
    strange = "I have read the changes that you sent (all of them). They are fine! Can we do it on 5 May? " * 2
    both = target_metrics.measure([long, strange, long])
    assert both.features["likeness"][:, 1].tolist() == [1, 1, 0]  # of the third, nothing is known
    assert both.features["likeness"][0, 0] > both.features["likeness"][1, 0]
    short = target_metrics.measure(["Mind the step.", long, long])
    assert short.features["likeness"][:, 1].tolist() == [0, 1, 0]
    assert figure("likeness", short) == pytest.approx(short.features["likeness"][1, 0])


SHOWN = [(Document("coats", "The coats are in Skellmouth."),), ()]
REQUESTS = ["Tell Nan that the rails are ready.", "Tell Ilse about the boats."]
WITH_COATS = ["Nan, the rails are ready in Skellmouth.", "I'll send them on Friday."]  # and Ilse is dropped
WITHOUT = ["Nan, the rails are ready.", "The boats are in, Ilse."]


def test_claims_are_counted_by_kind_and_a_lower_number_is_better(bertscore):
    target_metrics = TargetMetrics(["a", "b"], bertscore, stances=None, requests=REQUESTS)
    more, less = target_metrics.measure(WITH_COATS, SHOWN), target_metrics.measure(WITHOUT, SHOWN)
    counts = {name: more.features[name][:, 0].tolist() for name in CLAIM_KINDS}
    assert counts == {
        "carried_over": [1, 0],
        "unsupported": [0, 1],  # Friday
        "commitment": [0, 1],
        "dropped": [0, 1],
        "claims": [1, 3],
    }
    assert figure("claims", more) == 2
    assert figure("claims", less) == 0
    assert [metric.name for metric in metrics_in(dict.fromkeys(more.features))][-2:] == ["carried_over", "claims"]
    bootstrap = Bootstrap(["0", "1"])
    measured = {name: figures(target_metrics.metrics, bootstrap, of) for name, of in (("more", more), ("less", less))}
    (row,) = differences(target_metrics.metrics, ["more"], measured | {"same": measured["more"]}, ["less", "same"])
    assert row["claims"]["against"] == "less"
    assert row["claims"]["value"] == 2


def test_a_setting_gains_by_fewer_claims(bertscore):
    target_metrics = TargetMetrics(["a"] * 8, bertscore, stances=None, requests=REQUESTS[:1] * 8)
    more, less = (target_metrics.measure(texts[:1] * 8, SHOWN[:1] * 8) for texts in (WITH_COATS, WITHOUT))
    names = [str(index) for index in range(8)]
    assert chances(more, [less], names)["claims"] < 0.05
    assert chances(less, [more], names)["claims"] == 1


def test_mixing_picks_or_weighs():
    first, second = (Measures({"rouge1": np.array([[value, 1.0]] * 4)}) for value in (1.0, 0.0))
    assert figure("rouge1", mixed(np.array([1.0, 0, 0, 0]), first, second)) == 0.25
    assert figure("rouge1", mixed(np.full(4, 0.3), first, second)) == pytest.approx(0.3)
    assert figure("rouge1", mixed(np.ones(4), first, second)) == 1


@pytest.mark.parametrize(
    ("before", "after", "draft", "share"),
    [
        ("Hello Dev,\n\n", "\n\nMind the tide,\nOtti", "Hello Dev,\n\nYes.\n\nMind the tide,\nOtti", 1.0),
        ("Hello Dev,\n\n", "\n\nMind the tide,\nOtti", "Hello Dev! Yes.\n\nBest,\nOtti", 0.5),
        ("Hello Dev,\n\n", "\n\nMind the tide,\nOtti", "Dear Dev, yes.", 0.0),
        ("Hi,\n\n", "\n\nBest,\nAl", "This is the Best, Also fine. Hi, all", 0.0),
        ("", "", "Hello Dev, yes.", None),
    ],
)
def test_edges_that_a_draft_keeps(before, after, draft, share):
    days = ("Monday", "Tuesday", "Friday", "Sunday")
    history = tuple(Document(day, f"{before}{day} is fine.{after}", len(day)) for day in days)
    record = GainsRecord(Request("Dev asks about the ladder"), "otti", "1", "Yes.", history, (0.0,) * len(history))
    assert edges_kept(Case(record, "user otti", "Yes."), draft) == (share if share is None else pytest.approx(share))
