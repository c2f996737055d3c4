"""Losses by hand, and a training that is interrupted."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rich.console import Console

from training.config import values_of
from training.reward.config import CODE, PAPER, RewardConfig, RewardOptions
from training.reward.fit import RewardNetwork, ShownPair, fit_network, items_of, rate_share
from training.reward.material import PreferencePair, RewardMaterial, ScoredText
from training.reward.network import HeadNetwork, cosine_losses
from training.reward.reading import KeptVectors
from training.reward.recipe import scaled

CONSOLE = Console(quiet=True)


def options(tmp_path: Path, **more: object) -> RewardOptions:
    made = RewardOptions(data=(), out=tmp_path / "out", work=tmp_path, variant="PR", rate=0.05, epochs=6, batch=4)
    return replace(made, **more)  # type: ignore[arg-type]


def network(chosen: RewardOptions) -> tuple[RewardNetwork, RewardMaterial]:
    """One of two entries of a vector says which text is better."""
    draw = np.random.default_rng(0)
    vectors = draw.normal(size=(40, 2)).astype(np.float32)
    scores = np.clip(5.5 + 2 * vectors[:, 0], 1, 10)
    material = RewardMaterial(
        tuple(map(str, range(40))),
        tuple(range(40)),
        tuple(ScoredText(place, float(score)) for place, score in enumerate(scores)),
        tuple(PreferencePair(*sorted((place, place + 1), key=lambda one: -scores[one])) for place in range(0, 40, 2)),
    )
    return RewardNetwork(KeptVectors(vectors), HeadNetwork(chosen.head, vectors, chosen.seed), chosen), material


def test_the_losses_by_hand(tmp_path):
    chosen = options(tmp_path, weight=0.25, penalty=0.5)
    made, _ = network(chosen)
    made.reader = KeptVectors(np.array([[1, 0], [0, 0]], np.float32))
    with torch.no_grad():
        made.head.mean.zero_()
        made.head.scale.fill_(1)
        made.head.outer.copy_(torch.tensor([2.0, 0.0]))
        made.head.slope.fill_(0.5413248546)  # softplus of it is 1
    error = (1 + 9 * torch.sigmoid(torch.tensor(2.0)) - 7.0) ** 2
    crossed = torch.log1p(torch.exp(torch.tensor(-2.0)))  # of a preference with log-odds 2 - 0
    items = [ScoredText(0, 7.0), ShownPair(0, 1, True)]
    assert made.loss(items).item() == pytest.approx(((0.25 * error + crossed) / 2).item(), abs=1e-5)
    assert made.penalised(items).item() == pytest.approx(made.loss(items).item() + 0.5 * 4, abs=1e-5)
    assert made.loss([ShownPair(1, 0, False)]).item() == pytest.approx(crossed.item(), abs=1e-5)


def test_the_code_adds_up_the_means_of_both_kinds(tmp_path):
    items = [ScoredText(0, 7.0), ScoredText(1, 4.0), ScoredText(2, 5.0), ShownPair(0, 1, True)]
    by_item, _ = network(options(tmp_path, weight=0.25))
    by_kind, _ = network(options(tmp_path, weight=0.25, average="kinds"))
    squared, crossed = by_item.sums(items)
    assert by_item.loss(items).item() == pytest.approx((squared + crossed).item() / 4, abs=1e-6)
    assert by_kind.loss(items).item() == pytest.approx((squared / 3 + crossed).item(), abs=1e-6)
    for some in (items[:3], items[3:]):  # of one kind both are the same
        assert by_kind.loss(some).item() == pytest.approx(by_item.loss(some).item(), abs=1e-6)
    nothing = options(tmp_path, weight=0.25, average="kinds", budget_minutes=0.0, batch=2)
    report = fit_network(by_kind, items, items, nothing, tmp_path / "made.pt", CONSOLE)
    assert report["dev_losses"] == [pytest.approx(by_kind.loss(items).item(), abs=1e-5)]  # over all batches


def test_the_codes_head_is_half_as_wide_with_dropout():
    head = HeadNetwork("mlp", np.random.default_rng(0).normal(size=(9, 8)), seed=0)
    assert head.inner.shape == (4, 8)
    vectors = torch.ones(1, 8)
    learning = {head.worth(vectors).item() for _ in range(20)}
    head.eval()
    assert len(learning) > 1
    softplus = torch.nn.functional.softplus(head.slope).item()  # of the scores' logits
    assert head.worth(vectors).item() == pytest.approx(head.head().logits(vectors.numpy())[0] / softplus, abs=1e-5)


def test_the_cosine_is_cut_as_published():
    vectors = torch.tensor([[1.0, 0, 1, 0], [1, 0, -1, 0], [3, 4, 4, 3]], requires_grad=True)
    found = cosine_losses(vectors, torch.tensor([True, False, True]))
    # cosines of 1 and -1, which is cut to 1e-7, and 24 / 25
    assert found.detach().numpy() == pytest.approx([0, 0, -np.log(0.96)], abs=1e-5)
    found.sum().backward()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()


def test_the_cosine_sees_each_pair_in_both_orders():
    material = RewardMaterial(("a", "b"), (0, 0), (), (PreferencePair(0, 1),))
    assert items_of(material, "cosine") == [ShownPair(0, 1, True), ShownPair(1, 0, False)]
    assert items_of(material, "scores") == [ShownPair(0, 1, True)]


@pytest.mark.parametrize("head", ["linear", "mlp"])
def test_it_learns_which_is_better_and_by_how_much(tmp_path, head):
    chosen = options(tmp_path, head=head, epochs=12, penalty=0.0, batch=16, rate=0.1)
    made, material = network(chosen)
    items = items_of(material, "scores")
    report = fit_network(made, items, items, chosen, tmp_path / "made.pt", CONSOLE)
    assert report["dev_losses"][report["best_epoch"]] == min(report["dev_losses"]) < report["dev_losses"][0] / 2
    found = made.head.head().scores(made.reader.vectors(range(40)).numpy())
    wanted = np.array([each.score for each in material.scored])
    assert np.corrcoef(found, wanted)[0, 1] > 0.9
    assert np.mean([found[pair.better] > found[pair.worse] for pair in material.pairs]) > 0.9


def test_an_interrupted_training_goes_on_as_it_would_have(tmp_path):
    chosen = options(tmp_path, patience=100)
    whole, material = network(chosen)
    items = items_of(material, "scores")
    straight = fit_network(whole, items, items, chosen, tmp_path / "straight.pt", CONSOLE)
    stopped, _ = network(chosen)
    calls = 0

    def interrupt(some: list[object]) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls > 30:  # in the third epoch
            raise KeyboardInterrupt
        return RewardNetwork.penalised(stopped, some)  # type: ignore[arg-type]

    stopped.penalised = interrupt  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        fit_network(stopped, items, items, chosen, tmp_path / "made.pt", CONSOLE)
    again, _ = network(chosen)
    resumed = fit_network(again, items, items, chosen, tmp_path / "made.pt", CONSOLE)
    assert resumed["resumed_from"] == 2
    assert resumed["dev_losses"] == straight["dev_losses"]
    assert torch.equal(again.head.outer, whole.head.outer)


def test_it_stops_when_dev_no_longer_gains_or_time_is_up(tmp_path):
    chosen = options(tmp_path, patience=2, epochs=50, rate=1e-8)
    made, material = network(chosen)
    items = items_of(material, "scores")
    against = [ShownPair(item.second, item.first, True) for item in items if isinstance(item, ShownPair)]
    report = fit_network(made, items, against, chosen, tmp_path / "made.pt", CONSOLE)
    assert report["epochs"] <= report["best_epoch"] + 2
    report = fit_network(made, items, items, replace(chosen, budget_minutes=0.0), tmp_path / "other.pt", CONSOLE)
    assert (report["epochs"], report["steps"], report["whole"]) == (0, 0, False)


def test_time_that_is_up_within_an_epoch_keeps_what_was_learned(tmp_path, monkeypatch):
    chosen = options(tmp_path, epochs=5, rate=0.1)
    made, material = network(chosen)
    items = items_of(material, "scores")
    of_epoch = len(items) // chosen.batch
    chosen = replace(chosen, budget_minutes=1.5 * of_epoch / 60)
    clock = SimpleNamespace(monotonic=count().__next__)  # a second a step; other threads look at their own
    monkeypatch.setattr("training.reward.fit.time", clock)
    report = fit_network(made, items, items, chosen, tmp_path / "made.pt", CONSOLE)
    assert (report["epochs"], report["whole"]) == (1, False)
    assert of_epoch < report["steps"] < 2 * of_epoch
    assert len(report["dev_losses"]) == 3


def test_the_codes_rate_rises_and_falls(tmp_path):
    chosen = options(tmp_path, schedule=values_of(RewardConfig, CODE)["schedule"], epochs=5)
    shares = [rate_share(chosen, step, 20) for step in range(100)]  # two steps are a tenth of an epoch
    assert shares[:4] == pytest.approx([0, 0.5, 1, 97 / 98])
    assert shares[51] == pytest.approx(0.5)
    assert shares[-1] == pytest.approx(1 / 98)
    assert [rate_share(chosen, step, 9) for step in (0, 44)] == pytest.approx([1, 1 / 45])  # too short to rise
    assert {rate_share(options(tmp_path), step, 20) for step in range(100)} == {1.0}


@pytest.mark.parametrize(("preset", "norms"), [(CODE, []), (PAPER, [1.0] * 5)])
def test_a_step_is_as_published(tmp_path, monkeypatch, preset, norms):
    values = {name: values_of(RewardConfig, preset)[name] for name in ("schedule", "clip", "rate")}
    chosen = options(tmp_path, epochs=1, batch=12, **values)
    made, material = network(chosen)
    clipped: list[float] = []
    rates: list[float] = []
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", lambda _, norm: clipped.append(norm))
    step = torch.optim.AdamW.step
    monkeypatch.setattr(
        torch.optim.AdamW, "step", lambda each: (rates.append(each.param_groups[0]["lr"]), step(each))[1]
    )
    items = items_of(material, "scores")
    fit_network(made, items, items, chosen, tmp_path / "made.pt", CONSOLE)
    assert clipped == norms
    assert rates == pytest.approx([1e-5 * share for share in ((1, 0.8, 0.6, 0.4, 0.2) if preset == CODE else [1] * 5)])


def test_the_code_looks_at_dev_within_an_epoch_and_keeps_the_best(tmp_path, monkeypatch):
    looks: list[float] = []
    made, material = network(options(tmp_path))
    items = items_of(material, "scores")
    falling = [0.9, 0.8, 0.2, 0.7, 0.3]  # before, after the first epoch, twice within the second and after it
    monkeypatch.setattr("training.reward.fit._dev_loss", lambda *_: looks.append(falling[len(looks)]) or looks[-1])
    kept: list[float] = []
    copied = RewardNetwork.state_dict
    monkeypatch.setattr(RewardNetwork, "state_dict", lambda each: (kept.append(len(looks)), copied(each))[1])
    chosen = options(tmp_path, epochs=2, batch=8, dev_steps=3)  # of 8 steps
    report = fit_network(made, items, items, chosen, tmp_path / "made.pt", CONSOLE)
    assert report["dev_losses"] == [0.9, 0.8, 0.2]  # the lowest of each epoch
    assert (len(looks), report["best_epoch"]) == (5, 2)
    assert kept == [1, 2, 2, 3, 5]  # before, the best and the state after each epoch, and the best within the second


def test_logits_of_pairs_alone_are_put_on_the_scale(tmp_path):
    made, material = network(options(tmp_path))
    with torch.no_grad():
        made.head.outer.copy_(torch.tensor([30.0, 0.0]))
    head = scaled(made.head.head(), made.reader, material)
    vectors = made.reader.vectors(range(40)).numpy()
    assert (np.argsort(head.scores(vectors)) == np.argsort(vectors[:, 0])).all()
    assert head.scores(vectors).mean() == pytest.approx(5.5, abs=0.5)
    assert 1 < head.scores(vectors).std() < 3
    without = scaled(made.head.head(), made.reader, replace(material, scored=()))
    assert without.scores(vectors).std() == pytest.approx(1, abs=0.3)
