from __future__ import annotations

import shutil

import pytest
import torch
from safetensors.torch import save_file

from retriever.models.files import model_fingerprint, system_errors
from retriever.models.load_auxiliary import load_auxiliary


def test_what_is_embedded_goes_by_its_name():
    assert model_fingerprint("embedded") == ""


def test_a_folder_goes_by_its_configuration_and_weights(causal_folder, tmp_path):
    one = shutil.copytree(causal_folder, tmp_path / "model")
    other = shutil.copytree(causal_folder, tmp_path / "elsewhere" / "model")
    before = model_fingerprint(str(one))
    (one / "README.md").write_text("about it")
    assert len(before) == 64
    assert model_fingerprint(str(other)) == model_fingerprint(str(one)) == before

    weights = one / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert model_fingerprint(str(one)) != before
    config = other / "config.json"
    config.write_text(config.read_text().replace("0.5", "0.6"))
    assert model_fingerprint(str(other)) not in (before, model_fingerprint(str(one)))
    assert load_auxiliary(str(one)).fingerprint["folder"] == load_auxiliary(str(other)).fingerprint["folder"] == "model"
    assert load_auxiliary(str(one)).fingerprint != load_auxiliary(str(other)).fingerprint


def test_a_model_that_no_hub_has_here_has_none():
    assert model_fingerprint("nobody/nothing-of-the-kind") == ""


@pytest.mark.parametrize("save", [torch.save, save_file], ids=["torch", "safetensors"])
def test_a_library_that_finds_no_room_raises_the_systems_error(save, files_of_at_most, tmp_path):
    weights = {"weights": torch.zeros(100_000)}
    with files_of_at_most(10_000), pytest.raises(OSError, match="File too large"), system_errors(tmp_path):
        save(weights, tmp_path / "weights")
    with pytest.raises(RuntimeError, match="of something else"), system_errors(tmp_path):
        raise RuntimeError("of something else")
    assert {path.name for path in tmp_path.iterdir()} <= {"weights"}
