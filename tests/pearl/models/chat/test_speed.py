"""The speed of a model on this machine: what counts, what is said of it, and the file in which it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from pearl.models.chat.speed import FILE, Speed, Speeds, processor

TIMINGS = {"cache_n": 40, "prompt_n": 600, "prompt_ms": 20_000.0, "predicted_n": 101, "predicted_ms": 10_000.0}
MEASURED = Speed(600, 20, 100, 10)


def test_what_llama_cpp_says_of_an_answer() -> None:
    assert Speed.of_timings(TIMINGS) == MEASURED
    assert not Speed.of_timings({}).is_known
    assert MEASURED.is_known
    assert MEASURED.seconds(600, 100) == 30
    assert not Speed(47, 1, 8, 1).is_known  # of so short a prompt most is the beginning


def test_later_measurements_outweigh_old_ones() -> None:
    speed = Speed(100, 10, 10, 1)
    for _ in range(20):
        speed = speed.and_then(Speed(1_000, 20, 300, 10))
    assert 49 < 1 / speed.seconds(1) < 50  # but for the last of the old
    assert 29 < 1 / speed.seconds(0, 1) < 30
    assert speed.read == 5_000


@pytest.mark.parametrize(("first_word_s", "took"), [(10.0, 20), (0.0, 30), (60.0, 30)])
def test_what_a_draft_takes(first_word_s: float, took: int) -> None:
    assert MEASURED.words(first_word_s) == (
        f"reads 30 and writes 10.0 tokens a second on this machine; a draft of 100 tokens takes about {took} s"
    )


def test_it_is_kept_by_model_and_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Speeds(tmp_path).add("one", MEASURED)
    other = Speeds(tmp_path)
    other.add("two", Speed(60, 1, 8, 1))
    other.add("two", Speed())  # of an answer that was left before its first word
    assert Speeds(tmp_path).of("one") == MEASURED
    assert Speeds(tmp_path).of("two") == Speed(60, 1, 8, 1)
    assert processor() in (tmp_path / FILE).read_text()
    monkeypatch.setattr("pearl.models.chat.speed.processor", lambda: "another")
    assert not Speeds(tmp_path).of("one").is_known


@pytest.mark.parametrize("content", ["", "[]", '{"one on two": [1]', '{"one on two": ["a"]}', '{"one on two": 3}'])
def test_a_file_that_is_not_ours_is_measured_anew(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE).write_text(content)
    speeds = Speeds(tmp_path)
    speeds.add("one", MEASURED)
    assert Speeds(tmp_path).of("one") == MEASURED


def test_a_folder_that_is_not_there_or_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    for home in (tmp_path, tmp_path / "none", None):
        speeds = Speeds(home)
        speeds.add("one", MEASURED)
        assert speeds.of("one") == MEASURED
    assert not (tmp_path / "none").exists()
