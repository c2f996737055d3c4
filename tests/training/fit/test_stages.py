from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pearl.records import Document, Request
from retriever.calibrated.head import MOST
from retriever.history.signals import NAMES
from retriever.models.cross_encoder import PairReading
from training.choose.measure import measure
from training.config import LOSSES, SEARCH
from training.data.records import Example
from training.data.selection import SelectionOptions, select
from training.fit import kept
from training.fit.cross_encoder import CrossEncoderOptions, GroupFitting, logits_of, new_cross_encoder
from training.fit.head import Anchor, HeadOptions
from training.fit.kept import CrossEncoderFit
from training.fit.material import FitMaterial
from training.fit.stages import EVERYTHING, SURE, TAUS, SecondStage, fit_first_stage, fit_second_stage, loss_of, taus

QUICK = HeadOptions(members=1, hidden=4, epochs=12)
OPTIONS = CrossEncoderOptions(PairReading(64), batch=4, rate=1e-3, evaluations=1)
SELECTION = SelectionOptions()


@pytest.fixture
def material(make_examples, make_material) -> FitMaterial:
    return make_material(make_examples(12), make_examples(6, user="c:ben"), make_examples(5, user="c:cid"))


def test_tau_and_y0_are_chosen_on_dev(make_run, material):
    first = fit_first_stage(make_run(), material, QUICK)
    quartiles = np.quantile(material.chosen.positive_gains, (0.25, 0.5, 0.75))
    assert first.anchor.tau in TAUS
    assert first.anchor.y0 in quartiles
    assert {each["tau"] for each in first.tried} == set(TAUS)
    fit = measure(first.dev_scores, [each.gains for each in material.dev])
    assert fit.quality == max(each["share"] + each["pearson_r"] / 4 for each in first.tried)
    assert fit.share > 0.5  # what is about the same thing is found
    for scores, example in zip(first.dev_scores, material.dev, strict=True):
        assert np.array_equal(scores, first.head.logits(example.signals))


@pytest.fixture
def uneven() -> FitMaterial:
    """Signals of which the first says the gain, which is a few nats for most requests and hundreds for some."""
    draw = np.random.default_rng(0)

    def examples(user: str, count: int = 16) -> list[Example]:
        found = []
        for number in range(count):
            signals = draw.normal(size=(5, len(NAMES))).astype(np.float32)
            gains = np.exp(2 * signals[:, 0] + draw.normal(size=5) / 2).astype(np.float32)
            documents = tuple(Document(str(place), "text") for place in range(5))
            found.append(Example(user, f"q{number}", Request("say it"), documents, gains, "said", 0, signals))
        return found

    train, dev = examples("c:ann"), examples("c:ben")
    return FitMaterial(train, dev, [], [], select(train, SELECTION), None)  # type: ignore[arg-type]  # no gain is by proxy


def test_y0_is_the_quartile_that_dev_prefers(make_run, uneven):
    first = fit_first_stage(make_run(), uneven, QUICK)
    quartiles = [float(each) for each in np.quantile(uneven.chosen.positive_gains, (0.25, 0.5, 0.75))]
    assert sorted({each["y0"] for each in first.tried}) == pytest.approx(quartiles)
    best = max(first.tried, key=lambda each: each["share"] + each["pearson_r"] / 4)
    assert asdict(first.anchor) == {"y0": best["y0"], "tau": best["tau"]}
    assert first.anchor.y0 != pytest.approx(quartiles[1])  # here the median is not the best


def test_y0_and_tau_that_are_given_are_taken(make_run, uneven):
    quartiles = np.quantile(uneven.chosen.positive_gains, (0.25, 0.5, 0.75))
    for y0, expected in (("q1", quartiles[0]), ("median", quartiles[1]), ("q3", quartiles[2]), (7.5, 7.5)):
        for loss in ("calibrated", "relevance"):
            first = fit_first_stage(make_run(loss=loss, tau=3.0, y0=y0), uneven, replace(QUICK, epochs=1))
            assert (first.anchor.y0, first.anchor.tau) == (pytest.approx(expected), 3.0)
            assert len(first.tried) == (loss == "calibrated")
    first = fit_first_stage(make_run(y0="median"), uneven, replace(QUICK, epochs=1))
    assert [each["tau"] for each in first.tried] == list(TAUS)
    assert {each["y0"] for each in first.tried} == {first.anchor.y0}
    assert first.anchor.y0 == pytest.approx(quartiles[1])


@pytest.mark.parametrize("loss", LOSSES)
def test_the_ablations(make_run, material, loss):
    first = fit_first_stage(make_run(loss=loss), material, QUICK)
    logits = first.dev_scores[0]
    assert np.isfinite(logits).all()
    assert (loss == "relevance") == (not logits.any())
    assert len(first.tried) == {"calibrated": len(TAUS), "relevance": 0}.get(loss, len(TAUS))
    assert first.anchor.y0 == pytest.approx(10.0)  # all quartiles are the same here


def test_without_proxies_and_with_one_request(make_run, make_examples, make_material):
    first = fit_first_stage(make_run(), make_material(make_examples(1), make_examples(1)), QUICK)
    assert np.isfinite(first.dev_scores[0]).all()


def test_only_the_calibrated_loss_knows_the_anchor():
    import torch

    logits, gains, mask = torch.zeros(1, 2), torch.tensor([[10.0, 0.0]]), torch.ones(1, 2, dtype=torch.bool)
    low, high = Anchor(0.0, 5.0), Anchor(30.0, 5.0)
    shifted = logits + 3.0
    assert loss_of("kl", low)(logits, gains, mask) == loss_of("kl", high)(shifted, gains, mask)
    assert loss_of("calibrated", high)(logits, gains, mask) < loss_of("calibrated", high)(shifted, gains, mask)


def test_temperatures_are_of_the_gains_they_are_tried_on(make_examples):
    """Targets of 10 and 30 tokens, 20 on average: nats a token are a twentieth of nats."""
    train = [replace(each, target_tokens=tokens) for each, tokens in zip(make_examples(2), (10, 30), strict=True)]
    assert taus(train, "sum") == TAUS == (5.0, 10.0, 20.0)
    assert taus(train, "mean") == (0.25, 0.5, 1.0)


def test_the_mean_is_fitted_as_the_sum_is(make_run, make_examples, make_material):
    """Where all targets are of one length, both are the same but for the unit."""
    found = []
    for normalize, scale in (("sum", 1.0), ("mean", 20.0)):
        train, dev = (
            [
                replace(each, gains=each.gains / np.float32(scale), target_tokens=20)
                for each in make_examples(9, user=user)
            ]
            for user in ("c:ann", "c:ben")
        )
        material = make_material(train, dev, selection=SelectionOptions(normalize))
        first = fit_first_stage(make_run(normalize=normalize), material, QUICK)
        found.append((first.dev_scores[0], first.anchor.y0 * scale, first.anchor.tau * scale))
    (logits, y0, tau), (mean_logits, mean_y0, mean_tau) = found
    assert (mean_y0, mean_tau) == (pytest.approx(y0), tau)
    assert mean_logits == pytest.approx(logits, abs=1e-2)


@pytest.fixture
def few(make_examples, make_material) -> FitMaterial:
    return make_material(make_examples(6), make_examples(3, user="c:ben"), make_examples(3, user="c:cid"))


@pytest.fixture
def second(few, make_run, bert_folder, tmp_path) -> Callable[..., SecondStage]:
    """The second stage of few examples after a first one that was fitted in three epochs."""
    first = fit_first_stage(make_run(loss="kl"), few, replace(QUICK, epochs=3))

    def fit(
        loss: str = "calibrated",
        y0: float = 10.0,
        material: FitMaterial = few,
        weight: float | str = SEARCH,
        **changed: Any,
    ) -> SecondStage:
        options = replace(OPTIONS, **changed)
        start = CrossEncoderFit(new_cross_encoder(str(bert_folder), options), {"steps": 0})
        anchored = replace(first, anchor=Anchor(y0, 5.0))
        run = make_run(loss=loss, weight=weight, work=tmp_path)
        return fit_second_stage(run, start, anchored, material, options)

    return fit


@pytest.fixture
def fitted(monkeypatch) -> list[list[Any]]:
    """The groups of each training, none of which takes place."""
    seen: list[list[Any]] = []

    def fit(model: Any, fitting: GroupFitting, folder: Path) -> dict[str, Any]:
        seen.append(list(fitting.groups))
        return {"seconds": 1.0, "whole": True}

    monkeypatch.setattr(kept, "fit_cross_encoder", fit)
    return seen


@pytest.fixture
def check_weighed(make_run, few) -> Callable[[SecondStage], None]:
    """Check that scores on dev are both stages' by the weight."""
    first = fit_first_stage(make_run(loss="kl"), few, replace(QUICK, epochs=3))

    def check(found: SecondStage) -> None:
        weight = found.cascade.weight
        for example, own, scores in zip(few.dev, first.dev_scores, found.dev_scores, strict=True):
            logits = logits_of(found.model, example.request, example.documents, OPTIONS.reading)
            assert scores == pytest.approx((1 - weight) * own + weight * logits, abs=1e-3)

    return check


def test_only_the_same_training_is_gone_on_with(second, trainings):
    for loss, y0 in (("calibrated", 10.0), ("kl", 10.0), ("calibrated", 9.0)):
        second(loss, y0)
    assert len(set(trainings)) == 3


def test_it_is_trained_on_the_groups_that_were_chosen(second, few, fitted):
    """Those by proxy are selected with the same options; those with true gains count twice, if there are others."""
    chosen = replace(few.chosen, groups=few.chosen.groups[:1])
    second(material=replace(few, chosen=chosen))
    assert [group for group in fitted[0] if group is chosen.groups[0]] == chosen.groups * 2
    assert len(fitted[0]) == 2 + len(select(few.warm, SELECTION).groups)
    second(material=replace(few, warm=[]), repeated=1)
    assert len(fitted[1]) == len(few.chosen.groups)


def test_the_logit_is_weighed_on_dev(second, check_weighed):
    found = second()
    tried, weight = found.report["weights"], found.cascade.weight
    assert [each["weight"] for each in tried] == [0.0, 0.25, 0.5]
    assert tried[0]["better_in"] == 0
    sure = [each for each in tried if each["better_in"] >= SURE] or tried[:1]
    assert weight == max(sure, key=lambda each: each["share"] + each["pearson_r"] / 4)["weight"]
    check_weighed(found)


def test_a_weight_that_is_given_is_taken(second, check_weighed):
    for weight, most in ((0.0, MOST), (0.4, MOST), (1.0, EVERYTHING)):
        found = second(weight=weight)
        assert (found.cascade.weight, found.cascade.most) == (weight, most)
        check_weighed(found)


def test_documents_are_read_as_they_were_learned_from(second, few):
    alone = PairReading(64, own_requests=False)
    found = second(weight=1.0, reading=alone)
    for reading, alike in ((alone, True), (OPTIONS.reading, False)):
        said = [logits_of(found.model, each.request, each.documents, reading) for each in few.dev]
        assert np.allclose(np.concatenate(said), np.concatenate(found.dev_scores), atol=1e-4) == alike


def test_what_was_fitted_is_kept_and_found_again(second):
    one, again = second(), second()
    assert again.report == one.report
    assert again.report["steps"] >= 1
    for first, other in zip(one.dev_scores, again.dev_scores, strict=True):
        assert other == pytest.approx(first, abs=0.1)  # in bfloat16
    assert second("kl").report["made_of"] != one.report["made_of"]
    assert second(y0=9.0).report["made_of"] != one.report["made_of"]


def test_under_relevance_the_model_stays_as_it_is(second, few, bert_folder):
    before = logits_of(
        new_cross_encoder(str(bert_folder), OPTIONS), few.dev[0].request, few.dev[0].documents, OPTIONS.reading
    )
    found = second("relevance")
    assert found.cascade.weight == 1.0
    assert found.dev_scores[0] == pytest.approx(before, abs=1e-5)
    assert found.cascade.most > 10_000  # nothing comes before it that could choose for it
