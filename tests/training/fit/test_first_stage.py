from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pearl.errors import InputError
from retriever.history.word_weights import WordWeights
from training.choose.measure import measure
from training.data.records import Example
from training.data.selection import SelectionOptions
from training.fit.first_stage import (
    TAUS,
    Anchor,
    Data,
    Signals,
    compute_signals,
    fit_first_stage,
    groups_of,
    loss_of,
    positives,
    selected,
    taus,
)
from training.fit.head import HeadOptions
from training.options import LOSSES

Make = Callable[..., list[Example]]
QUICK = HeadOptions(members=1, hidden=4, epochs=12)
SILENT = Console(file=StringIO())


@pytest.fixture
def material(make_examples: Make, word_encoder: Any) -> tuple[Data, Signals]:
    data = Data(make_examples(12), make_examples(6, user="c:ben"), make_examples(5, user="c:cid"), [])
    return data, compute_signals(data, word_encoder(), WordWeights.count(["the wheel"]), SILENT)


def test_signals_stand_in_the_order_of_the_data(material: tuple[Data, Signals]) -> None:
    data, signals = material
    for part in ("train", "dev", "warm", "warm_dev"):
        examples, lists = getattr(data, part), getattr(signals, part)
        assert [each.gains is example.gains for each, example in zip(lists, examples, strict=True)] == [True] * len(
            lists
        )


def test_tau_and_y0_are_chosen_on_dev(material: tuple[Data, Signals]) -> None:
    data, signals = material
    head, anchor, tried = fit_first_stage(data, signals, "calibrated", SelectionOptions(), SILENT, QUICK)
    quartiles = np.quantile(positives(data.train, SelectionOptions()), (0.25, 0.5, 0.75))
    assert anchor.tau in TAUS
    assert anchor.y0 in quartiles
    assert {each["tau"] for each in tried} == set(TAUS)
    fit = measure([head.logits(each.signals) for each in signals.dev], [each.gains for each in signals.dev])
    assert fit.quality == max(each["share"] + each["pearson_r"] / 4 for each in tried)
    assert fit.share > 0.5  # what is about the same thing is found


@pytest.mark.parametrize("loss", LOSSES)
def test_the_ablations(material: tuple[Data, Signals], loss: str) -> None:
    data, signals = material
    head, anchor, tried = fit_first_stage(data, signals, loss, SelectionOptions(), SILENT, QUICK)
    logits = head.logits(signals.dev[0].signals)
    assert np.isfinite(logits).all()
    assert (loss == "relevance") == (not logits.any())
    assert len(tried) == {"calibrated": len(TAUS), "relevance": 0}.get(loss, len(TAUS))
    assert anchor.y0 == pytest.approx(10.0)  # all quartiles are the same here


def test_without_proxies_and_with_one_request(make_examples: Make, word_encoder: Any) -> None:
    data = Data(make_examples(1), make_examples(1), [], [])
    signals = compute_signals(data, word_encoder(), WordWeights.count([]), SILENT)
    head, _, _ = fit_first_stage(data, signals, "calibrated", SelectionOptions(), SILENT, QUICK)
    assert np.isfinite(head.logits(signals.dev[0].signals)).all()


def test_algorithm_1_keeps_two_thirds(make_examples: Make) -> None:
    examples = make_examples(6)
    for number, example in enumerate(examples):
        example.gains[:] += number
    assert selected(examples, 2 / 3) == [2, 3, 4, 5]
    found = positives(examples, SelectionOptions())
    assert sorted(found.tolist()) == [10.0 + n for n in (2, 2, 3, 3, 4, 4, 5, 5)]


def test_a_gain_that_is_no_number_is_refused(make_examples: Make) -> None:
    examples = make_examples(2)
    examples[1].gains[3] = np.nan
    with pytest.raises(InputError, match="Request 'q1' of user 'c:ann'"):
        positives(examples, SelectionOptions())


def test_only_the_calibrated_loss_knows_the_anchor() -> None:
    import torch

    logits, gains, mask = torch.zeros(1, 2), torch.tensor([[10.0, 0.0]]), torch.ones(1, 2, dtype=torch.bool)
    low, high = Anchor(0.0, 5.0), Anchor(30.0, 5.0)
    shifted = logits + 3.0
    assert loss_of("kl", low)(logits, gains, mask) == loss_of("kl", high)(shifted, gains, mask)
    assert loss_of("calibrated", high)(logits, gains, mask) < loss_of("calibrated", high)(shifted, gains, mask)


def test_temperatures_are_of_the_gains_they_are_tried_on(make_examples: Make) -> None:
    """Targets of 10 and 30 tokens, 20 on average: nats a token are a twentieth of nats."""
    train = [replace(each, target_tokens=tokens) for each, tokens in zip(make_examples(2), (10, 30), strict=True)]
    assert taus(train, "sum") == TAUS == (5.0, 10.0, 20.0)
    assert taus(train, "mean") == (0.25, 0.5, 1.0)


def test_the_mean_is_fitted_as_the_sum_is(make_examples: Make, word_encoder: Any) -> None:
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
        data = Data(train, dev, [], [])
        signals = compute_signals(data, word_encoder(), WordWeights.count(["the wheel"]), SILENT)
        head, anchor, _ = fit_first_stage(data, signals, "calibrated", SelectionOptions(normalize), SILENT, QUICK)
        found.append((head.logits(signals.dev[0].signals), anchor.y0 * scale, anchor.tau * scale))
    (logits, y0, tau), (mean_logits, mean_y0, mean_tau) = found
    assert (mean_y0, mean_tau) == (pytest.approx(y0), tau)
    assert mean_logits == pytest.approx(logits, abs=1e-2)


def test_what_is_selected_is_what_is_asked_for(make_examples: Make) -> None:
    examples = make_examples(6)
    assert len(positives(examples, SelectionOptions(share=1.0))) == 6 * 2
    assert len(positives(examples, SelectionOptions(share=0.5, positives=3))) == 3 * 3
    assert {len(group.documents) for group in groups_of(examples, SelectionOptions(negatives=1))} == {2}
    for nothing in (SelectionOptions(share=0.0), SelectionOptions(positives=6)):
        with pytest.raises(InputError, match="keep a larger --share, or take fewer --positives"):
            positives(examples, nothing)
