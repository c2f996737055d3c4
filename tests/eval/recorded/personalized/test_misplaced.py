"""Answers under another record's question are found, whatever the gold says; and nobody is falsely accused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from eval.recorded.personalized.judgements import read_recording
from eval.recorded.personalized.misplaced import misplaced_answers
from eval.recorded.personalized.preflight import CHECKS
from eval.report.checks import preflight

TOPICS = ("harbour storm ships", "orchard frost apples", "railway strike trains", "library roof books")


@pytest.fixture
def misplaced(write_lines):
    def find(lines: list[dict[str, Any]]) -> tuple[int, ...]:
        found = {each.check: each.records for each in preflight(CHECKS, read_recording(write_lines(lines)))}
        return found.get("misplaced_answers", ())

    return find


def essays(count: int = 40, gold: str = "") -> list[dict[str, Any]]:
    """Two essays of a record's own on each topic, of five people."""
    return [
        {
            "ground_truth": gold or "AB"[index // 2 % 2],
            "answer": "A",
            "user_info": f"The person is {20 + index % 5} years old.",
            "article": f"{topic}.",
            "asst_A": f"What I felt about {topic}, text number {index}.",
            "asst_B": f"To me {topic} meant little, text number {index}.",
        }
        for index in range(count)
        for topic in (TOPICS[index // 5 % 4],)
    ]


def show_before(lines: list[dict[str, Any]], *indices: int) -> list[dict[str, Any]]:
    shifted = [dict(line) for line in lines]
    for index in indices:
        shifted[index] |= {name: lines[index - 1][name] for name in ("asst_A", "asst_B")}
    return shifted


@pytest.mark.parametrize("gold", ["", "C"])
def test_the_answers_of_the_record_before(misplaced, gold):
    lines = essays(gold=gold)
    assert misplaced(lines) == ()
    assert misplaced(show_before(lines, 4, 11, 23)) == (5, 12, 24)


def test_a_run_of_them_is_found_where_the_question_changes(misplaced):
    """The first shows the texts of a record that stands; those behind it are known by what they speak of."""
    lines = essays()
    assert set(misplaced(show_before(lines, *range(3, 12)))) >= {4, 6, 11}


def test_the_same_person_with_the_same_question_is_no_misplacement(misplaced):
    lines = essays()
    lines[8]["user_info"] = lines[7]["user_info"]
    assert misplaced(show_before(lines, 8)) == ()


def survey(count: int = 60) -> list[dict[str, Any]]:
    """Two questions with the same options for everybody, and one whose options they share."""
    options = (("Very likely to happen soon", "Not at all likely"), ("A major problem", "No problem"), ("Yes", "No"))
    return [
        {
            "ground_truth": "AB"[index % 2],
            "answer": "A",
            "user_info": f"The person is {20 + index} years old.",
            "question": f"Question {index // 20}",
            "asst_A": options[index // 20][index % 2],
            "asst_B": options[index // 20][1 - index % 2],
        }
        for index in range(count)
    ]


def test_a_survey_shows_everybody_the_same_options(misplaced):
    lines = survey()
    assert misplaced(lines) == ()
    assert misplaced(show_before(lines, 5, 20, 40)) == (21, 41)


def test_the_recorded_files(shared):
    """On one file with ties and one without: as recorded nobody is accused, and of every fifth record moved by one,
    where that is another question, nearly all are found."""
    for name in ("ec_all_features_gpt-4o", "ec_all_features_with_tie_all_features_gpt-4o"):
        recording = read_recording(shared / "data" / "personalized-judge" / f"{name}.jsonl.gz")
        before = recording.judgements
        assert misplaced_answers(recording) is None
        moved = range(3, len(before), 5)
        after = [
            replace(judgement, texts=before[index - 1].texts) if index in moved else judgement
            for index, judgement in enumerate(before)
        ]
        found = misplaced_answers(replace(recording, judgements=tuple(after)))
        assert found
        lines = {each.line for each in found[1]}
        elsewhere = {before[index].line for index in moved if before[index].question != before[index - 1].question}
        assert lines <= {before[index].line for index in moved}
        assert len(lines & elsewhere) >= 0.95 * len(elsewhere) > 10


def test_answers_that_speak_of_anything_are_not_accused(misplaced):
    """Where texts seem to speak of the question behind them as well, words are no evidence."""
    lines = essays()
    for index, line in enumerate(lines):
        line["asst_A"] = f"Of {TOPICS[index * 7 % 4]} and {TOPICS[index * 5 % 3]}, number {index}."
        line["asst_B"] = f"Of {TOPICS[index * 3 % 4]} alone, number {index}."
    assert misplaced(lines) == ()
