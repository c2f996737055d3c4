"""The cross-encoder under our loss, with sentence-transformers' trainer, from a model of a few thousand weights."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from pearl.errors import InputError
from pearl.records import Document, Request
from retriever.models.cross_encoder import PairReading
from training.data.records import Example
from training.fit.cross_encoder import (
    CrossEncoderOptions,
    GroupFitting,
    GroupLoss,
    check_base,
    fit_cross_encoder,
    last_layer,
    logits_of,
    new_cross_encoder,
    place,
    restart,
)
from training.fit.head import calibrated, plain

OPTIONS = CrossEncoderOptions(PairReading(64), batch=2, rate=1e-2, evaluations=2)


def groups(count: int) -> list[Example]:
    """The document that says yes has the gain."""
    texts = (Document("a", "yes yes yes"), Document("b", "no", request="asked"), Document("c", "never " * 9))
    gains = np.array([20.0, 0.0, -5.0], np.float32)
    sizes = [2 + number % 2 for number in range(count)]
    return [
        Example("ann", f"q{number}", Request(f"say it {number}"), texts[:size], gains[:size])
        for number, size in enumerate(sizes)
    ]


@pytest.fixture
def model(bert_folder) -> Any:
    return new_cross_encoder(str(bert_folder), OPTIONS)


def rows(some: list[Example]) -> tuple[list[list[Any]], list[torch.Tensor]]:
    """As the trainer hands them over."""
    from training.fit.cross_encoder import _dataset

    found = _dataset(some, OPTIONS.reading)[:]
    return [found["request"], found["documents"]], [torch.tensor(each) for each in found["label"]]


def test_the_loss_of_a_group_is_over_its_logits(model):
    some = groups(3)
    model.model.eval()
    with torch.inference_mode():
        found = GroupLoss(model, calibrated(10.0, 5.0))(*rows(some))
        expected = []
        for group in some:
            logits = torch.from_numpy(logits_of(model, group.request, group.documents, OPTIONS.reading))[None]
            mask = torch.ones_like(logits, dtype=torch.bool)
            expected.append(calibrated(10.0, 5.0)(logits, torch.from_numpy(group.gains)[None], mask))
    assert found.item() == pytest.approx(torch.stack(expected).mean().item(), abs=1e-4)


def test_it_learns_and_leaves_no_checkpoint(model, tmp_path):
    embeddings = model.model.get_input_embeddings().weight.detach().clone()
    found = fit_cross_encoder(model, GroupFitting(groups(12), groups(4), plain(5.0), OPTIONS), tmp_path / "checkpoints")
    assert (found["groups"], found["steps"], found["whole"]) == (12, 6, True)
    assert min(found["dev_losses"]) < found["dev_loss_before"]
    assert np.isfinite(found["dev_losses"]).all()
    yes, no = logits_of(
        model, Request("say it"), [Document("a", "yes yes yes"), Document("b", "no", request="asked")], OPTIONS.reading
    )
    assert yes > no
    assert torch.equal(model.model.get_input_embeddings().weight, embeddings)  # they stay as they were pretrained
    assert not list((tmp_path / "checkpoints").rglob("*.safetensors"))


def test_standard_output_is_left_to_figures(model, tmp_path, capsys):
    fit_cross_encoder(model, GroupFitting(groups(8), groups(2), calibrated(10.0, 5.0), OPTIONS), tmp_path / "fit")
    said = capsys.readouterr()
    assert said.out == ""
    assert all("training the cross-encoder" in line for line in said.err.splitlines())  # not the losses either


def test_no_time_is_one_step(model, tmp_path):
    found = fit_cross_encoder(
        model, GroupFitting(groups(12), groups(2), plain(5.0), OPTIONS, seconds=0.0), tmp_path / "c"
    )
    assert (found["steps"], found["whole"]) == (1, False)


def test_it_ends_in_time_where_steps_take_longer_than_they_did(model, tmp_path):
    calls, exact = count(), calibrated(10.0, 5.0)

    def slower(*given: Any) -> torch.Tensor:
        if next(calls) >= 2:  # so many are timed
            time.sleep(0.2)
        return exact(*given)

    report = fit_cross_encoder(model, GroupFitting(groups(80), groups(4), slower, OPTIONS, seconds=2.0), tmp_path / "c")
    assert 1 <= report["steps"] < 40
    assert report["dev_losses"]  # what the last step came to


@pytest.mark.parametrize(("seconds", "steps"), [(60.0, 3), (69.0, 3), (70.0, 4), (600.0, 40)])
def test_no_step_is_begun_that_would_end_too_late(model, tmp_path, monkeypatch, seconds, steps):
    """Each step of two groups takes ten seconds, and so does a look at dev; one is taken before, one in the end."""
    now, exact = [0.0], calibrated(10.0, 5.0)
    monkeypatch.setattr("training.fit.cross_encoder.time", SimpleNamespace(monotonic=lambda: now[0]))

    def slow(*given: Any) -> torch.Tensor:
        now[0] += 10.0
        return exact(*given)

    options = replace(OPTIONS, evaluations=1)
    report = fit_cross_encoder(
        model, GroupFitting(groups(80), groups(2), slow, options, seconds=seconds), tmp_path / "c"
    )
    assert (report["steps"], report["whole"]) == (steps, steps == 40)
    assert now[0] <= seconds
    assert report["dev_losses"]


def test_fewer_groups_than_a_batch(model, tmp_path):
    options = CrossEncoderOptions(PairReading(64), batch=16)
    found = fit_cross_encoder(
        model, GroupFitting(groups(1), groups(1), plain(5.0), options, seconds=60.0), tmp_path / "c"
    )
    assert found["steps"] == 1


def test_an_interrupted_run_is_gone_on_from(bert_folder, tmp_path):
    loss, calls = plain(5.0), iter(range(100))

    def interrupted(*arguments: Any) -> torch.Tensor:
        """In the fourth step: before it are two evaluations and three steps."""
        if next(calls) == 5:
            raise KeyboardInterrupt
        return loss(*arguments)

    def fit(loss: Any, some: list[Example], folder: Path) -> Any:
        model = new_cross_encoder(str(bert_folder), OPTIONS)
        return fit_cross_encoder(model, GroupFitting(some, groups(2), loss, OPTIONS), folder)

    with pytest.raises(KeyboardInterrupt):
        fit(interrupted, groups(12), tmp_path / "c")
    folder = tmp_path / "c"
    assert [path.name for path in folder.glob("checkpoint-*")] == ["checkpoint-3"]
    half = shutil.copytree(folder / "checkpoint-3", folder / "checkpoint-4")
    (half / "trainer_state.json").unlink()  # it is written last
    steps: list[int] = []

    def counted(*arguments: Any) -> torch.Tensor:
        steps.append(1)
        return loss(*arguments)

    assert fit(counted, groups(12), tmp_path / "c")["steps"] == 6
    assert len(steps) == 1 + 3 + 1  # an evaluation, the three steps that were missing, an evaluation
    assert not folder.exists()


def test_after_an_interruption_it_still_stops_early(bert_folder, tmp_path):
    """Looks at dev without a better loss count as in a run of one piece; a rate of almost nothing changes no loss."""
    options, loss = replace(OPTIONS, epochs=4, rate=1e-30, evaluations=12, patience=4), plain(5.0)

    def fit(loss: Any, folder: Path) -> Any:
        return fit_cross_encoder(
            new_cross_encoder(str(bert_folder), options), GroupFitting(groups(12), groups(2), loss, options), folder
        )

    whole, calls = fit(loss, tmp_path / "whole"), iter(range(100))

    def interrupted(*arguments: Any) -> torch.Tensor:
        if next(calls) == 9:
            raise KeyboardInterrupt
        return loss(*arguments)

    with pytest.raises(KeyboardInterrupt):
        fit(interrupted, tmp_path / "c")
    again = fit(loss, tmp_path / "c")
    assert again["steps"] == whole["steps"] < 24
    assert (again["dev_losses"], again["whole"]) == (whole["dev_losses"], True)


def test_restarted_every_logit_is_nearly_zero(model):
    before = logits_of(model, Request("say"), [Document("a", "yes"), Document("b", "no")], OPTIONS.reading)
    restart(model)
    after = logits_of(model, Request("say"), [Document("a", "yes"), Document("b", "no")], OPTIONS.reading)
    assert last_layer(model).out_features == 1
    assert np.abs(after).max() < 0.05
    assert after.tolist() == pytest.approx((before * 0.01).tolist(), abs=1e-4)


def test_the_same_seed_gives_the_same_model(bert_folder):
    one, again = (new_cross_encoder(str(bert_folder), OPTIONS) for _ in range(2))
    assert torch.equal(last_layer(one).weight, last_layer(again).weight)


@pytest.mark.parametrize(("layers", "trained"), [(0, {0, 1, 2}), (1, {1, 2}), (2, {2}), (3, set())])
def test_frozen_layers_stay_as_they_were(mpnet_folder, tmp_path, layers, trained):
    """The embeddings, and two layers above them."""
    options = replace(OPTIONS, frozen_layers=layers)
    model = new_cross_encoder(str(mpnet_folder), options)
    parts = [model.model.get_input_embeddings(), *model.model.base_model.encoder.layer]
    before = [[weight.detach().clone() for weight in part.parameters()] for part in parts]
    fit_cross_encoder(model, GroupFitting(groups(4), groups(2), plain(5.0), options), tmp_path / "c")
    moved = {
        place
        for place, part in enumerate(parts)
        if not all(map(torch.equal, before[place], [weight.detach() for weight in part.parameters()]))
    }
    assert moved == trained


def test_each_epoch_sees_all_groups(model, tmp_path):
    options = replace(OPTIONS, epochs=3, patience=9)
    found = fit_cross_encoder(model, GroupFitting(groups(8), groups(2), plain(5.0), options), tmp_path / "c")
    assert (found["steps"], found["whole"]) == (12, True)


def test_a_base_says_how_much_it_reads(bert_folder, mpnet_folder):
    assert check_base(str(bert_folder)) == 192
    assert check_base(str(mpnet_folder), frozen_layers=3) == 128  # two of its positions are of no token
    with pytest.raises(InputError, match=r"--choose frozen_layers=4: the base .* its embeddings and 2 layers above"):
        check_base(str(mpnet_folder), frozen_layers=4)


def test_a_base_that_is_no_model(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in (str(tmp_path / "empty"), str(tmp_path / "nowhere"), "no-such/model"):
        with pytest.raises(InputError, match=r"The base .* cannot be loaded") as caught:
            check_base(name)
        assert "\n" not in caught.value.message
        with pytest.raises(InputError):
            new_cross_encoder(name, OPTIONS)
    check_base("embedded")


def test_a_base_that_writes_texts_is_refused_before_the_work(causal_folder, seq2seq_folder):
    for folder in (causal_folder, seq2seq_folder):
        with pytest.raises(InputError, match=r"The base .* writes texts \(\w+\); name an encoder"):
            check_base(str(folder))


def test_the_trainer_works_where_the_model_is(tmp_path, monkeypatch):
    """As far as a machine without a second GPU can tell."""
    from sentence_transformers.cross_encoder import CrossEncoderTrainingArguments

    chosen: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    arguments = CrossEncoderTrainingArguments(output_dir=str(tmp_path), use_cpu=True, report_to="none")
    place(arguments, torch.device("cpu"))
    assert (arguments.device, chosen) == (torch.device("cpu"), [])
    place(arguments, torch.device("cuda:1"))
    assert (arguments.device, chosen) == (torch.device("cuda:1"), [torch.device("cuda:1")])
    assert arguments.n_gpu <= 1
