from __future__ import annotations

import errno
import os

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from retriever.models.quantized import STEPS, MappedWeights, read_weights, write_weights


def test_a_row_is_off_by_half_a_step_at_most(tmp_path):
    rows = torch.tensor([[127.0, 63.4, -1.0], [0.001, -0.0005, 0.0], [0.0, 0.0, 0.0]])
    write_weights({"a": rows}, tmp_path / "w.safetensors")
    packed = load_file(tmp_path / "w.safetensors")
    assert packed["a"].dtype == torch.int8
    assert packed["a"].tolist() == [[127, 63, -1], [127, -64, 0], [0, 0, 0]]  # -63.5 to even
    found = read_weights(tmp_path / "w.safetensors")["a"]
    step = rows.abs().amax(dim=1) / STEPS  # 1, 0.001 / 127, 0
    assert ((found - rows).abs() <= step[:, None] / 2 + 1e-9).all()
    assert found[0].tolist() == pytest.approx([127.0, 63.0, -1.0])


def test_a_full_disk_is_the_systems_own_error(tmp_path, files_of_at_most):
    with files_of_at_most(100), pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as caught:
        write_weights({"a": torch.ones(99, 99)}, tmp_path / "w.safetensors")
    assert caught.value.errno == errno.EFBIG


def test_what_is_no_matrix_stays_as_it_is(tmp_path):
    shared = torch.arange(4.0)
    given = {
        "bias": torch.tensor([0.1, -3.3]),
        "norm.scale": torch.tensor([2.0]),  # a name that a model may have, too
        "ids": torch.arange(6).reshape(2, 3),
        "deep": torch.randn(2, 2, 2),
        "one": shared,
        "other": shared,
    }
    write_weights(given, tmp_path / "w.safetensors")
    found = read_weights(tmp_path / "w.safetensors")
    assert found.keys() == given.keys()
    assert all(torch.equal(found[name], given[name]) for name in given)


def test_a_models_outputs_stay_what_they_were(tmp_path):
    torch.manual_seed(0)
    model, again = (nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1)) for _ in range(2))
    write_weights(model.state_dict(), tmp_path / "w.safetensors")
    again.load_state_dict(read_weights(tmp_path / "w.safetensors"))
    inputs = torch.randn(50, 64)
    with torch.inference_mode():
        before, after = model(inputs), again(inputs)
    assert not torch.equal(before, after)
    assert (before - after).abs().max() < 0.03 * before.std()


def test_weights_are_read_where_they_lie(tmp_path):
    given = {
        "matrix": torch.randn(3, 4),
        "bias": torch.randn(3),
        "half": torch.randn(2).half(),
        "ids": torch.arange(6).reshape(2, 3),
        "one": torch.tensor(2.5),
    }
    write_weights(given, tmp_path / "w.safetensors")
    mapped, expected = MappedWeights(tmp_path / "w.safetensors"), read_weights(tmp_path / "w.safetensors")
    scale = mapped.scale_of("matrix")
    assert scale is not None
    assert scale.shape == (3, 1)
    assert mapped["matrix"].dtype == np.int8
    for _ in range(2):
        assert np.array_equal(mapped["matrix"] * scale, expected["matrix"].numpy())
        for name in ("bias", "half", "ids", "one"):
            assert mapped.scale_of(name) is None
            assert mapped[name].shape == tuple(given[name].shape)
            assert np.array_equal(mapped[name], given[name].numpy())
        mapped.release()  # and are found again
    assert "bias" in mapped
    assert "weight" not in mapped
    with pytest.raises(ValueError, match=r"w\.safetensors: has no tensor 'weight'"):
        mapped["weight"]


@pytest.mark.parametrize("content", [b"", b"junk", b"\xff" * 100, b"\x02\0\0\0\0\0\0\0[]"])
def test_a_file_that_holds_no_weights(content, tmp_path):
    (tmp_path / "w.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"w\.safetensors"):
        MappedWeights(tmp_path / "w.safetensors")


def test_a_file_cut_short(tmp_path):
    write_weights({"a": torch.randn(20, 20)}, tmp_path / "w.safetensors")
    content = (tmp_path / "w.safetensors").read_bytes()
    (tmp_path / "w.safetensors").write_bytes(content[:-10])
    with pytest.raises(ValueError, match=r"w\.safetensors"):
        MappedWeights(tmp_path / "w.safetensors")


def test_a_type_that_numpy_does_not_have(tmp_path):
    save_file({"a": torch.zeros(2, dtype=torch.bfloat16)}, tmp_path / "w.safetensors")
    with pytest.raises(ValueError, match="BF16"):
        MappedWeights(tmp_path / "w.safetensors")
