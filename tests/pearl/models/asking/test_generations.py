"""Texts of a model, asked for once and kept."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pearl.errors import ChatRateLimited, ChatRefused, ChatTimeout, ContextExceeded
from pearl.models.asking import patience
from pearl.models.asking.ask import EMPTY_ANSWER, generate, missing
from pearl.models.asking.kept import open_replies
from pearl.models.asking.patience import DOWN, OUT_OF_TIME, TRIES, Failed, Unreported
from pearl.models.chat.base import Decoding, Message, Reply
from tests.fake_chat import FakeChatModel

DECODING = Decoding(max_tokens=20)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch) -> None:
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.0)


def prompt(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


def run(model: FakeChatModel, path: Path, *texts: str) -> list[Reply | Failed]:
    with open_replies(path) as kept:
        return asyncio.run(generate(model, model.name, [prompt(text) for text in texts], DECODING, kept))


def said(found: list[Reply | Failed]) -> list[str]:
    """The texts, or why there is none."""
    return [each.reason if isinstance(each, Failed) else each.text for each in found]


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])


def test_identical_prompts_are_answered_once_and_never_again(tmp_path):
    path = tmp_path / "new" / "kept.sqlite"
    model = FakeChatModel(["one", "two"])
    assert said(run(model, path, "a", "b", "a")) == ["one", "two", "one"]
    assert len(model.calls) == 2
    again = FakeChatModel(["three"])
    assert said(run(again, path, "b", "c")) == ["two", "three"]
    assert len(again.calls) == 1
    assert count(path) == 3


def test_when_the_time_is_up_only_what_is_kept_is_answered(tmp_path):
    path, left = tmp_path / "kept.sqlite", iter([True, False, False])
    run(FakeChatModel(["one"]), path, "a")
    model = FakeChatModel(["two"])
    with open_replies(path) as kept:
        prompts = [prompt(text) for text in ("b", "c", "a", "d")]
        found = asyncio.run(generate(model, model.name, prompts, DECODING, kept, go_on=lambda: next(left)))
    assert said(found) == ["two", OUT_OF_TIME, "one", OUT_OF_TIME]
    assert count(path) == 2  # nobody was asked, so nothing is known
    assert [each.text for each in run(FakeChatModel(["three"]), path, "c")] == ["three"]


def test_an_empty_answer_is_asked_for_again_by_the_next_run(tmp_path):
    path = tmp_path / "kept.sqlite"
    first = run(FakeChatModel(["", " \n", "two"]), path, "a", "b", "c")
    assert said(first) == [EMPTY_ANSWER, EMPTY_ANSWER, "two"]
    again = FakeChatModel(["one", "more"])
    assert said(run(again, path, "a", "b", "c")) == ["one", "more", "two"]


def test_the_time_is_up_while_a_call_fails(tmp_path):
    """What was asked and did not answer in time is not kept, and nobody hears that it failed."""
    left, heard = iter([True, True, False]), []

    class Heard(Unreported):
        def advance(self, failed: bool) -> None:
            heard.append(failed)

        def waits(self, seconds: float) -> None:
            heard.append(seconds)

    model = FakeChatModel([ChatRateLimited("slow down", retry_after=0.01), ChatTimeout("late")])
    with open_replies(tmp_path / "kept.sqlite") as kept:
        asked = generate(model, model.name, [prompt("a")], DECODING, kept, Heard(), go_on=lambda: next(left, False))
        found = asyncio.run(asked)
    assert said(found) == [OUT_OF_TIME]
    assert count(tmp_path / "kept.sqlite") == 0
    assert heard == [0.01]


def test_calls_under_way_are_given_up_when_the_model_is_down(tmp_path):
    model = FakeChatModel([ChatTimeout("late")] * 100)
    prompts = [prompt(text) for text in "abcdefghijkl"]
    with open_replies(tmp_path / "kept.sqlite") as kept, pytest.raises(ChatTimeout):
        asyncio.run(generate(model, model.name, prompts, DECODING, kept, in_flight=3))
    assert DOWN * TRIES <= len(model.calls) < (DOWN + 3) * TRIES


def test_two_runs_share_a_file(tmp_path):
    path = tmp_path / "kept.sqlite"
    with open_replies(path) as kept:
        assert said(run(FakeChatModel(["one"]), path, "a")) == ["one"]
        again = generate(FakeChatModel(["two"]), "fake", [prompt("a"), prompt("b")], DECODING, kept)
        assert said(asyncio.run(again)) == ["one", "two"]


def test_a_failure_is_not_kept_and_tried_again_by_the_next_run(tmp_path):
    path = tmp_path / "kept.sqlite"
    found = run(FakeChatModel([ChatRefused("no"), ContextExceeded("long"), "ok"]), path, "a", "b", "c")
    assert said(found) == ["llm_refused", "context_length_exceeded", "ok"]
    assert count(path) == 1
    with open_replies(path) as kept:
        prompts = [prompt(text) for text in "aacd"]
        assert missing(FakeChatModel(), "fake", prompts, DECODING, kept) == 2
    assert said(run(FakeChatModel(["now", "yes"]), path, "a", "b", "c")) == ["now", "yes", "ok"]
    assert said(run(FakeChatModel(), path, "a")) == ["now"]


def test_a_failed_prompt_is_asked_once_in_a_run(tmp_path):
    model = FakeChatModel([ChatTimeout("late")] * TRIES + ["ok"])
    first, _, third = run(model, tmp_path / "kept.sqlite", "a", "b", "a")
    assert first == third
    assert len(model.calls) == TRIES + 1


def test_a_model_that_is_down_ends_the_run_and_keeps_what_there_is(tmp_path):
    path = tmp_path / "kept.sqlite"
    model = FakeChatModel(["one", *(ChatTimeout("late") for _ in range(DOWN * TRIES))])
    with pytest.raises(ChatTimeout):
        run(model, path, *"abcdefghij")
    assert len(model.calls) == 1 + DOWN * TRIES
    assert run(FakeChatModel(), path, "a")[0].text == "one"
