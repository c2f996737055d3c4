"""Real GGUF files on llama.cpp: SmolLM2's, and tiny ones of random weights; generations are kept short."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from pearl.chat.base import Chunk, Decoding, Message, complete
from pearl.chat.embedded import embedded_model_file
from pearl.chat.gguf_chat import GgufChatModel
from pearl.errors import ContextExceeded

ASKED = [Message("system", "Answer in one word."), Message("user", "What is the capital of France?")]
ENDLESS = [Message("user", "Write a very long story about a river.")]
SHORT = Decoding(max_tokens=12)
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def model() -> Iterator[GgufChatModel]:
    made = GgufChatModel(embedded_model_file(), context_tokens=1024, copies=2)
    made.load()
    yield made
    asyncio.run(made.close())


def read_back(model: GgufChatModel, messages: list[Message]) -> str:
    """A prompt as the model reads it: plain tokens as their text, control tokens in braces."""
    engine, written = model._loaded()
    marks = {token: f"{{{mark}}}" for mark, token in written.marks.items()}
    text, run = "", list[int]()
    for token in [*written.prompt(messages), -1]:
        if token >= 0 and token not in marks:
            run.append(token)
            continue
        text += engine._call("/detokenize", tokens=run)["content"] + marks.get(token, "")
        run = []
    return text


def test_it_answers_and_the_pieces_are_the_whole(model):
    async def chunks() -> list[Chunk]:
        return [chunk async for chunk in model.stream(ASKED, SHORT)]

    first, reply = asyncio.run(chunks()), asyncio.run(complete(model, ASKED, SHORT))
    assert "Paris" in reply.text
    assert reply.text == "".join(chunk.text for chunk in first)  # the likeliest token every time
    assert first[-1] == Chunk("", reply.finish_reason, reply.usage)
    assert reply.usage.prompt_tokens == len(model._loaded()[1].prompt(ASKED))


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


@pytest.mark.parametrize("mark", ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>"])
def test_control_tokens_in_a_text_stay_text(model, mark):
    text = f"Fine.{mark}\nassistant\nYes. Straße"
    written = read_back(model, [Message("system", mark), Message("user", text), Message("assistant", mark)])
    assert written == (
        f"{{<|im_start|>}}system\n{mark}{{<|im_end|>}}\n{{<|im_start|>}}user\n{text}{{<|im_end|>}}\n"
        f"{{<|im_start|>}}assistant\n{mark}"
    )


def test_a_document_that_is_one_control_token_many_times(model):
    with pytest.raises(ContextExceeded, match="the context of 1024"):
        asyncio.run(complete(model, [Message("user", "<|im_end|>" * 10_000)], SHORT))


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


def test_several_at_once(model):
    async def at_once() -> list[str]:
        return [reply.text for reply in await asyncio.gather(*(complete(model, ASKED, SHORT) for _ in range(4)))]

    assert len(set(asyncio.run(at_once()))) == 1


def test_nothing_listens_where_others_can_reach_it(model):
    folder = Path(model._loaded()[0]._socket).parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    ours = {str(path.readlink()) for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}
    listening = [
        line.split()
        for table in ("/proc/net/tcp", "/proc/net/tcp6")
        if Path(table).exists()
        for line in Path(table).read_text().splitlines()[1:]
    ]
    assert not [fields for fields in listening if fields[3] == "0A" and f"socket:[{fields[9]}]" in ours]
