from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from eval.asking import patience
from eval.asking.generations import EMPTY, Generation, Generations, Task, generate, key_of, missing, open_generations
from eval.asking.patience import DOWN, OUT_OF_TIME, TRIES, Unwatched
from pearl.chat.base import Chunk, Decoding, Message
from pearl.chat.fake import FakeChatModel
from pearl.errors import ChatError, ChatRateLimited, ChatRefused, ChatTimeout, ContextExceeded, InputError

DECODING = Decoding(max_tokens=20)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "FIRST_PAUSE_S", 0.0)


def task(text: str, decoding: Decoding = DECODING) -> Task:
    return Task((Message("user", text),), decoding)


def run(model: FakeChatModel, path: Path, *texts: str) -> list[Generation]:
    with open_generations(path) as kept:
        return asyncio.run(generate(model, model.name, [task(text) for text in texts], kept))


def test_the_key_tells_everything_apart_that_matters():
    same = key_of("m", task("a"))
    assert key_of("m", task("a")) == same
    others = [
        key_of("n", task("a")),
        key_of("m", task("b")),
        key_of("m", task("a", Decoding(max_tokens=21))),
        key_of("m", task("a", Decoding(max_tokens=20, temperature=0.5))),
        key_of("m", task("a", Decoding(max_tokens=20, stop=("x",)))),
        key_of("m", Task((Message("system", "a"),), DECODING)),
        key_of("m", Task((Message("user", "a"), Message("user", "")), DECODING)),
        key_of("m", task("\ud800")),
    ]
    assert len({same, *others}) == 1 + len(others)


def test_identical_prompts_are_answered_once_and_never_again(tmp_path):
    path = tmp_path / "new" / "kept.jsonl"
    model = FakeChatModel(["one", "two"])
    assert [each.text for each in run(model, path, "a", "b", "a")] == ["one", "two", "one"]
    assert len(model.calls) == 2
    again = FakeChatModel(["three"])
    assert [each.text for each in run(again, path, "b", "c")] == ["two", "three"]
    assert len(again.calls) == 1
    assert len(path.read_text().splitlines()) == 3


def test_when_the_time_is_up_only_what_is_kept_is_answered(tmp_path):
    path, left = tmp_path / "kept.jsonl", iter([True, False, False])
    run(FakeChatModel(["one"]), path, "a")
    model = FakeChatModel(["two"])
    with open_generations(path) as kept:
        tasks = [task(text) for text in ("b", "c", "a", "d")]
        found = asyncio.run(generate(model, model.name, tasks, kept, go_on=lambda: next(left)))
    assert [(each.text, each.error) for each in found] == [
        ("two", None),
        ("", OUT_OF_TIME),
        ("one", None),
        ("", OUT_OF_TIME),
    ]
    assert len(path.read_text().splitlines()) == 2  # nobody was asked, so nothing is known
    assert [each.text for each in run(FakeChatModel(["three"]), path, "c")] == ["three"]


def test_an_empty_answer_is_asked_for_again_by_the_next_run(tmp_path):
    path = tmp_path / "kept.jsonl"
    assert [each.error for each in run(FakeChatModel(["", " \n", "two"]), path, "a", "b", "c")] == [EMPTY, EMPTY, None]
    again = FakeChatModel(["one", "more"])
    assert [each.text for each in run(again, path, "a", "b", "c")] == ["one", "more", "two"]


def test_the_time_is_up_while_a_call_fails(tmp_path):
    """What was asked and did not answer in time is not kept, and nobody hears that it failed."""
    left, heard = iter([True, True, False]), []

    class Heard(Unwatched):
        def advance(self, failed: bool) -> None:
            heard.append(failed)

        def waits(self, seconds: float) -> None:
            heard.append(seconds)

    model = FakeChatModel([ChatRateLimited("slow down", retry_after=0.01), ChatTimeout("late")])
    with open_generations(tmp_path / "kept.jsonl") as kept:
        asked = generate(model, model.name, [task("a")], kept, Heard(), go_on=lambda: next(left, False))
        (found,) = asyncio.run(asked)
        assert len(kept) == 0
    assert found.error == OUT_OF_TIME
    assert heard == [0.01]


def test_so_many_calls_are_under_way_at_once(tmp_path):
    class Slow(FakeChatModel):
        most = running = 0

        async def stream(self, messages, decoding):
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.001)
            yield Chunk(messages[0].content * 2)
            self.running -= 1

    model = Slow()
    with open_generations(tmp_path / "kept.jsonl") as kept:
        tasks = [task(text) for text in "abcbade"]
        found = asyncio.run(generate(model, model.name, tasks, kept, in_flight=3))
    assert model.most == 3
    assert [each.text for each in found] == [text * 2 for text in "abcbade"]


def test_calls_under_way_are_given_up_when_the_model_is_down(tmp_path):
    model = FakeChatModel([ChatTimeout("late")] * 100)
    with open_generations(tmp_path / "kept.jsonl") as kept, pytest.raises(ChatTimeout):
        asyncio.run(generate(model, model.name, [task(text) for text in "abcdefghijkl"], kept, in_flight=3))
    assert DOWN * TRIES <= len(model.calls) < (DOWN + 3) * TRIES


def test_a_call_that_fails_for_now_is_repeated(tmp_path):
    model = FakeChatModel([ChatTimeout("late"), ChatRateLimited("slowly"), "one"])
    assert run(model, tmp_path / "kept.jsonl", "a")[0].text == "one"
    assert len((tmp_path / "kept.jsonl").read_text().splitlines()) == 1


def test_a_full_disk_is_named():
    full = Path("/dev/full")
    with full.open("ab") as file, pytest.raises(InputError, match="/dev/full: cannot be written: No space"):
        Generations(full, file, {}).add(Generation("k", "text"))


@pytest.mark.parametrize("cut", [1, 5, 30, 100])
def test_a_line_that_was_cut_off_is_done_again(tmp_path, cut):
    path = tmp_path / "kept.jsonl"
    run(FakeChatModel(["one", "two"]), path, "a", "b")
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    model = FakeChatModel(["two again"])
    assert [each.text for each in run(model, path, "a", "b")] == ["one", "two again"]
    assert len(model.calls) == 1
    assert len(path.read_text().splitlines()) == 2


@pytest.mark.parametrize("last", ["{", '{"k', '{"key": "', '{"key": "abc'])
def test_a_line_that_has_only_begun(tmp_path, last):
    path = tmp_path / "kept.jsonl"
    path.write_text(last)
    assert run(FakeChatModel(["one"]), path, "a")[0].text == "one"
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.parametrize(
    "content", ["something else", '{"request": "a"}', '{"request": "a"}\n', "[]\n", '{"key": 1}\n']
)
def test_another_file_is_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=r"notes\.txt"):
        run(FakeChatModel(), path, "a")
    assert path.read_text() == content


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "kept.jsonl"
    run(FakeChatModel(["one"]), path, "a")
    path.write_text("{\n" + path.read_text())
    with pytest.raises(InputError, match=r"kept\.jsonl:1: "):
        run(FakeChatModel(), path, "a")


def test_a_folder_cannot_be_the_file(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        run(FakeChatModel(), tmp_path, "a")


def test_two_runs_do_not_share_a_file(tmp_path):
    path = tmp_path / "kept.jsonl"
    with open_generations(path), pytest.raises(InputError, match="another run"), open_generations(path):
        pass


def test_a_failure_is_recorded_and_tried_again_by_the_next_run(tmp_path):
    path = tmp_path / "kept.jsonl"
    refused, long, fine = run(FakeChatModel([ChatRefused("no"), ContextExceeded("long"), "ok"]), path, "a", "b", "c")
    assert (refused.error, long.error, fine.error) == ("llm_refused", "context_length_exceeded", None)
    assert refused.text == ""
    assert [json.loads(line)["error"] for line in path.read_text().splitlines()] == [refused.error, long.error, None]
    with open_generations(path) as kept:
        assert missing("fake", [task("a"), task("a"), task("c"), task("d")], kept) == 2
    assert [each.text for each in run(FakeChatModel(["now", "yes"]), path, "a", "b", "c")] == ["now", "yes", "ok"]
    assert run(FakeChatModel(), path, "a")[0].text == "now"


def test_a_failed_prompt_is_asked_once_in_a_run(tmp_path):
    model = FakeChatModel([ChatTimeout("late")] * TRIES + ["ok"])
    first, _, third = run(model, tmp_path / "kept.jsonl", "a", "b", "a")
    assert first == third
    assert len(model.calls) == TRIES + 1


def test_a_model_that_is_down_ends_the_run_and_keeps_what_there_is(tmp_path):
    path = tmp_path / "kept.jsonl"
    model = FakeChatModel(["one", *(ChatTimeout("late") for _ in range(DOWN * TRIES))])
    with pytest.raises(ChatTimeout):
        run(model, path, *"abcdefghij")
    assert len(model.calls) == 1 + DOWN * TRIES
    assert run(FakeChatModel(), path, "a")[0].text == "one"


def test_refusals_and_single_failures_do_not_end_it(tmp_path):
    replies = [reply for _ in range(DOWN) for reply in (*[ChatError("no")] * TRIES, ChatRefused("no"))]
    found = run(FakeChatModel(replies), tmp_path / "kept.jsonl", *map(str, range(2 * DOWN)))
    assert all(each.error for each in found)


def test_texts_of_any_script_come_back_as_they_were(tmp_path):
    path = tmp_path / "kept.jsonl"
    text = 'שלום \u2028 \x85 "quoted"\n\ttabs \U0001f600'
    assert run(FakeChatModel([(text,)]), path, "a")[0].text == text
    assert run(FakeChatModel(), path, "a")[0].text == text
