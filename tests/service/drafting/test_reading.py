from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from pearl.models.chat.base import Chunk
from pearl.models.prompts import PromptInputs
from pearl.text.templates import load_template
from service.drafting.reading import LONG, Reading
from service.drafting.repetition import Repetitions

BRIEF = PromptInputs(load_template("free"), "Ask Bo.", (), "At most five lines. No emoji.")


LONGER = ("Okay, the user ", "Sure, here is the draft:\n\nlet me know if ", "<request>", "```\n", "Dear Bo,\n")


@pytest.mark.parametrize("piece", ["1. ", "! ", "ab", "-", "word ", ".” ", " ", "\n", "`", "字。", "<d", "<think>"])
@pytest.mark.parametrize("begins", ["", *(pytest.param(begins, marks=pytest.mark.slow) for begins in LONGER)])
def test_an_answer_in_small_pieces_takes_linear_time(
    begins: str, piece: str, grows_linearly: Callable[..., None]
) -> None:
    repetitions = Repetitions(BRIEF)

    def read(text: str) -> None:
        reading = Reading(repetitions, ("\n\n\n", "ab" * 40 + "c"))
        for place in range(0, len(text), 3):
            reading.feed(text[place : place + 3])
        reading.finish()

    grows_linearly(lambda text: read(begins + text), piece, 16_000 // len(piece))


def test_a_line_that_comes_again_takes_linear_time(grows_linearly: Callable[..., None]) -> None:
    def read(text: str) -> None:
        reading = Reading(Repetitions(BRIEF))
        reading.feed(f"{text}\n")
        for place in range(0, len(text), 2):
            reading.feed(text[place : place + 2])
        reading.finish()

    grows_linearly(read, "one two three ", 2_000)


def test_reading_a_long_piece_leaves_the_event_loop_to_others() -> None:
    async def read() -> list[str]:
        done: list[str] = []

        async def answer() -> None:
            reading = Reading(Repetitions(BRIEF))
            text = await reading.read(Chunk(" ".join(map(str, range(LONG)))))
            text += await reading.read(Chunk("", "stop"))
            assert len(text) > LONG
            done.append("answer")

        async def health() -> None:
            done.append("health")

        await asyncio.gather(answer(), health())
        return done

    assert asyncio.run(read()) == ["health", "answer"]
