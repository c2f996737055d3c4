"""The engine of the embedded model: where it runs, how pieces become text."""

from __future__ import annotations

import sys

import pytest

from pearl.chat.llama import AnswerText, check_processor, load_engine
from pearl.errors import ChatError

CPU = "flags : fpu sse4_2 avx f16c bmi2 avx2 fma"


@pytest.mark.parametrize("more", ["", " avx512f avx512_bf16", " avx512f amx_tile amx_bf16"])
def test_one_wheel_for_processors_with_and_without_larger_instructions(more, tmp_path):
    (tmp_path / "cpuinfo").write_text(CPU + more)
    check_processor(tmp_path / "cpuinfo")
    check_processor(tmp_path / "none")  # a system that does not say


def test_a_processor_that_the_wheel_was_not_made_for(tmp_path, monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text(CPU.replace("avx2", "").replace("fma", ""))
    with pytest.raises(ChatError, match=r"no avx2, fma.*PEARL_LLM_BASE_URL") as caught:
        check_processor(tmp_path / "cpuinfo")
    assert caught.value.code == "llm_unsupported_processor"


def test_without_the_engine_it_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "cyllama.llama", None)
    with pytest.raises(ChatError, match=r"pip install cyllama==0\.2\.18; elsewhere, name an endpoint") as caught:
        load_engine()
    assert caught.value.code == "llm_not_installed"


def told(stops: tuple[str, ...], *pieces: bytes) -> tuple[list[str], bool]:
    """The texts that an answer lets go, and if it was stopped."""
    answer = AnswerText(stops)
    texts = []
    for piece in pieces:
        texts.append(answer.add(piece))
        if answer.stopped:
            break
    return [text for text in (*texts, answer.rest()) if text], answer.stopped


@pytest.mark.parametrize(
    ("stops", "pieces", "texts", "stopped"),
    [
        ((), [b"one", b" two"], ["one", " two"], False),
        ((), ["日".encode()[:2], "日".encode()[2:], b"!"], ["日", "!"], False),
        ((), [b"cut ", "日".encode()[:2]], ["cut "], False),  # no half character at the end
        (("END",), [b"all", b" EN", b"D more"], ["all", " "], True),
        (("END",), [b"all E", b"N", b"OUGH"], ["all ", "ENOUGH"], False),
        (("END",), [b"all E", b"N"], ["all ", "EN"], False),
        (("END", "\n"), [b"one\ntwo END"], ["one"], True),
        (("aab",), [b"a", b"a", b"a", b"b"], ["a"], True),
        (("",), [b"text"], ["text"], False),
    ],
)
def test_bytes_become_text_up_to_a_stop_text(stops, pieces, texts, stopped):
    assert told(stops, *pieces) == (texts, stopped)
