from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import transformers

from pearl.errors import InputError
from retriever.models import rounded
from retriever.models.auxiliary import PairGroup
from retriever.models.causal import CausalAuxiliary
from retriever.models.load_auxiliary import load_auxiliary
from retriever.models.packed import Pack, PackedLlama
from retriever.models.rounded import ROWS, WORDS_ROWS, RoundedLlama, multiplies_bytes

WIDTH = 64
LARGE = 40.0  # times the other entries of a state, as a few of a real Llama's are


def llama(*, vocabulary: int = 512, head_size: int = 16) -> transformers.LlamaForCausalLM:
    """A tiny model, one entry of whose states stands out."""
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=WIDTH,
        head_dim=head_size,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        bos_token_id=None,
        eos_token_id=None,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model.model.embed_tokens.weight[:, 5] *= LARGE
        for layer in model.model.layers:
            layer.input_layernorm.weight.copy_(1 + torch.rand(WIDTH))
            layer.post_attention_layernorm.weight.copy_(1 + torch.rand(WIDTH))
        model.model.norm.weight.copy_(1 + torch.rand(WIDTH))
    return model


@torch.inference_mode()
@pytest.mark.parametrize(("length", "head_size"), [(1, 16), (ROWS - 3, 16), (ROWS + 9, 32)])
def test_states_and_logits_are_those_of_float32_but_for_rounding(length: int, head_size: int) -> None:
    pack = Pack.of([((3, 5), [range(length), [7, 8]]), ((), [[9]])])
    exact, bytes_ = (kind(llama(head_size=head_size)) for kind in (PackedLlama, RoundedLlama))
    expected, logits = (model.head(model.hidden(pack)) for model in (exact, bytes_))
    assert logits.shape == expected.shape == (len(pack.tokens), 512)
    assert (logits - expected).norm() < 0.03 * expected.norm()
    # rows are rounded each by itself, so what else is in the pack changes nothing
    alone = bytes_.head(bytes_.hidden(Pack.of([((), [[9]])])))
    assert alone[0] == pytest.approx(logits[-1], rel=1e-4, abs=1e-4)


@torch.inference_mode()
def test_the_other_basis_keeps_large_entries_from_costing_the_others_their_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not multiplies_bytes():
        pytest.skip("this processor does not round the inputs")
    pack = Pack.of([((), [range(WORDS_ROWS)])])
    exact = PackedLlama(llama())
    expected = exact.head(exact.hidden(pack))

    def error() -> float:
        model = RoundedLlama(llama())
        return float((model.head(model.hidden(pack)) - expected).norm() / expected.norm())

    turned = error()
    monkeypatch.setattr(rounded, "_basis", torch.eye)
    assert turned < 0.7 * error()


@pytest.mark.parametrize(("head_size", "able"), [(16, True), (32, True), (4, False)])
def test_a_llama_whose_matrices_have_whole_groups_can_run(head_size: int, able: bool) -> None:
    assert RoundedLlama.can_run(llama(head_size=head_size)) is able


def test_the_processors_flags_say_who_multiplies_bytes(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("flags\t\t: fpu avx2 avx512f\n")
    assert not multiplies_bytes(file)
    assert not multiplies_bytes(tmp_path / "absent")


@pytest.mark.slow
def test_where_openvino_may_not_use_them_bytes_are_not_multiplied() -> None:
    program = "from retriever.models.rounded import multiplies_bytes; print(multiplies_bytes())"
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


@pytest.fixture
def wide_folder(causal_folder: Path, tmp_path: Path) -> Path:
    tokenizer = transformers.AutoTokenizer.from_pretrained(causal_folder)
    tokenizer.save_pretrained(tmp_path)
    llama(vocabulary=len(tokenizer)).save_pretrained(tmp_path)
    return tmp_path


def test_a_llama_scores_in_bytes_when_asked(wide_folder: Path) -> None:
    exact, bytes_ = (load_auxiliary(str(wide_folder), dtype=name) for name in ("float32", "int8"))
    assert (exact.fingerprint["dtype"], bytes_.fingerprint["dtype"]) == ("float32", "int8")
    assert load_auxiliary(str(wide_folder)).fingerprint["dtype"] != "int8"  # auto: for the embedded model alone
    prompts = tuple(tuple(exact.encode(text)) for text in ("one two three", "one two"))
    group = PairGroup(prompts, tuple(tuple(exact.encode(text)) for text in ("four five", "six")))
    expected, scored = ([likelihood.total for likelihood in model.likelihoods([group])[0]] for model in (exact, bytes_))
    assert scored == pytest.approx(expected, rel=0.01)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """True for each embedded model that was asked for in bytes."""
    asked: list[bool] = []
    monkeypatch.setattr(CausalAuxiliary, "embedded", lambda device, dtype, in_bytes: asked.append(in_bytes))
    monkeypatch.setattr("retriever.models.load_auxiliary.prefers_bfloat16", lambda device: False)
    return asked


@pytest.mark.parametrize("able", [True, False])
def test_the_embedded_model_scores_in_bytes_where_the_processor_multiplies_them(
    able: bool, loaded: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retriever.models.load_auxiliary.multiplies_bytes", lambda: able)
    for dtype in ("auto", "float32", "int8"):
        load_auxiliary("embedded", dtype=dtype)
    assert loaded == [able, False, True]
    monkeypatch.setattr("retriever.models.load_auxiliary.prefers_bfloat16", lambda device: True)
    load_auxiliary("embedded")
    assert loaded[-1] is False


def test_models_that_cannot_be_computed_in_bytes_say_so(wide_folder: Path, seq2seq_folder: Path) -> None:
    llama(head_size=4).save_pretrained(wide_folder)
    with pytest.raises(InputError, match="only a Llama on a processor, its widths multiples of 32"):
        load_auxiliary(str(wide_folder), dtype="int8")
    with pytest.raises(InputError, match="an encoder-decoder model cannot be computed in int8"):
        load_auxiliary(str(seq2seq_folder), dtype="int8")
