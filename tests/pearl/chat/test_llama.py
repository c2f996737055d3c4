"""The graph of a Llama, against transformers on a tiny file, and the processors it runs on."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from pearl.chat.gguf import GgufFile
from pearl.chat.llama import Llama, Writer, check_processor
from pearl.errors import ChatError
from retriever.models.smollm2 import load_smollm2

CPU = "flags : fpu sse4_2 avx f16c bmi2 avx2 fma"
NEAR = 0.15  # keys and values are kept in half precision; the logits go from -16 to 16


class Likeliest:
    """A sampler that keeps the logits it saw."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def next(self, logits):
        self.seen.append(logits)
        return int(logits.argmax())


@pytest.fixture(scope="module")
def llama(tiny_gguf: Path) -> Llama:
    return Llama(GgufFile(tiny_gguf), writers=1)


@pytest.mark.parametrize("at_once", [128, 16, 7])
def test_logits_are_those_of_transformers(llama, tiny_gguf, at_once, monkeypatch):
    monkeypatch.setattr("pearl.chat.llama.READ_AT_ONCE", at_once)
    prompt = np.random.default_rng(0).integers(0, 260, 48).tolist()
    sampler = Likeliest()
    answer = list(islice(Writer(llama).write(prompt, sampler, lambda: False), 8))
    reference, _ = load_smollm2(tiny_gguf, torch.float32)
    with torch.inference_mode():
        wanted = reference.eval()(torch.tensor([[*prompt, *answer]])).logits[0, len(prompt) - 1 : -1].numpy()
    assert np.ptp(wanted) > 10
    assert np.abs(np.stack(sampler.seen) - wanted).max() < NEAR


def test_writers_do_not_read_each_others_prompts(tiny_gguf):
    llama = Llama(GgufFile(tiny_gguf), writers=2)
    alone = list(islice(Writer(llama).write([5, 6, 7], Likeliest(), lambda: False), 4))
    first, second = Writer(llama), Writer(llama)
    writing = first.write([5, 6, 7], Likeliest(), lambda: False)
    beginning = list(islice(writing, 2))
    list(islice(second.write([200, 100] * 30, Likeliest(), lambda: False), 3))
    assert [*beginning, *islice(writing, 2)] == alone


@pytest.mark.parametrize(
    ("before", "asked", "read_again"),
    [
        (40, 40, 8),  # of the last batch at least the last token, whose successor is wanted
        (40, 36, 4),
        (36, 40, 8),  # a batch that was not full is not kept
        (33, 64, 32),
        (10, 40, 40),
        (0, 20, 20),
    ],
)
def test_what_two_prompts_begin_with_is_read_once(before, asked, read_again, llama, monkeypatch):
    monkeypatch.setattr("pearl.chat.llama.READ_AT_ONCE", 16)
    sizes = []
    read = Writer.read
    monkeypatch.setattr(Writer, "read", lambda self, tokens: sizes.append(len(tokens)) or read(self, tokens))

    def written(writer: Writer, prompt: list[int]) -> list[np.ndarray]:
        sampler = Likeliest()
        list(islice(writer.write(prompt, sampler, lambda: False), 6))
        return sampler.seen

    text = np.random.default_rng(1).integers(0, 260, 70).tolist()
    used = Writer(llama)
    expected = written(Writer(llama), text[:asked])
    written(used, [*text[:before], 261, 7, 8])
    sizes.clear()
    assert np.array_equal(written(used, text[:asked]), expected)
    assert sum(sizes) == read_again + 5


def test_a_prompt_that_was_not_read_to_its_end_is_kept_as_far_as_it_was(llama, monkeypatch):
    monkeypatch.setattr("pearl.chat.llama.READ_AT_ONCE", 16)
    prompt = np.random.default_rng(1).integers(0, 260, 70).tolist()
    fresh, left = Writer(llama), Writer(llama)
    assert list(left.write(prompt, Likeliest(), lambda: left.position >= 32)) == []
    samplers = [Likeliest(), Likeliest()]
    for writer, sampler in zip((fresh, left), samplers, strict=True):
        list(islice(writer.write(prompt, sampler, lambda: False), 6))
    assert np.array_equal(samplers[0].seen, samplers[1].seen)


@pytest.mark.parametrize("more", ["", " avx512f avx512_bf16", " avx512f amx_tile amx_bf16"])
def test_one_wheel_for_processors_with_and_without_larger_instructions(more, tmp_path):
    (tmp_path / "cpuinfo").write_text(CPU + more)
    check_processor(tmp_path / "cpuinfo")
    check_processor(tmp_path / "none")  # a system that does not say


def test_a_processor_that_the_wheel_was_not_made_for(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text("flags : fpu sse2")
    with pytest.raises(ChatError, match=r"no sse4_2, .*PEARL_LLM_BASE_URL") as caught:
        check_processor(tmp_path / "cpuinfo")
    assert caught.value.code == "llm_unsupported_processor"
