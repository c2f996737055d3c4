"""Answers under another record's question: an index that is off by one, or a variable that a loop left behind.

Looks at every record with texts, whatever the gold says. Where most texts stand in one record only, a record is
misplaced if it shows the texts of the record before under another question or persona; if other records show its texts
under the question before and none under its own; or, where no other record shows them, if its texts share more words
with the question before than with its own, beyond chance. Where many records share their texts, as in a survey, each
question has its own pair.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eval.asking.lines import folded
from eval.recorded.personalized.judgements import (
    LONG_ENOUGH,
    Fault,
    RecordedJudgement,
    Recording,
    fault,
    is_survey,
    tokens,
)

LONG_WORD = 4  # letters
ALIKE = 0.04  # of the weight of their words that two questions share; above it, words do not tell them apart
NEARER, LEAST_LEAD, LEAST_WORDS = 1.5, 4.0, 3  # least ratio, difference and number of words that speak for another
BEYOND_CHANCE = 1.5  # times the largest such lead of the question behind, which no loop can have shown


@dataclass(frozen=True, slots=True)
class Display:
    """A record with its question, persona and texts, folded."""

    record: RecordedJudgement
    question: str
    persona: str
    texts: frozenset[str]


def misplaced_answers(recording: Recording) -> Fault:
    """The records that show answers of another question, or those of the record before to another person."""
    displays = [
        Display(record, folded(record.question), folded(record.persona), frozenset(map(folded, record.texts)))
        for record in recording.judgements
        if record.texts
    ]
    find = _of_another_survey_question if is_survey(recording) else _of_the_record_before
    what = "show answers that belong to another record, such as those of the record before."
    return fault(list(find(displays)), recording, what)


def _of_another_survey_question(displays: Sequence[Display]) -> Iterator[RecordedJudgement]:
    """Yield records that show the pair of another question in place of the pair that most records of theirs show."""
    by_question: dict[str, Counter[frozenset[str]]] = defaultdict(Counter)
    for display in displays:
        by_question[display.question][display.texts] += 1
    usual = {
        question: texts
        for question, times in by_question.items()
        for texts, count in times.most_common(1)
        if count > 2 and 2 * count > times.total()
    }
    for display in displays:
        expected = usual.get(display.question)
        if expected and display.texts != expected and display.texts in usual.values():
            yield display.record


def _of_the_record_before(displays: Sequence[Display]) -> Iterator[RecordedJudgement]:
    words = QuestionWords(displays)
    # no loop shows what comes later: what texts seem to say of the question behind them is chance
    chance = max((words.lead(display, after.question) for display, after in pairwise(displays)), default=0.0)
    least = max(LEAST_LEAD, BEYOND_CHANCE * chance)
    for before, display in pairwise(displays):
        if (display.question, display.persona) == (before.question, before.persona):
            continue
        again = display.texts == before.texts or words.shown_under(display, before.question)
        if again or words.lead(display, before.question) > least:
            yield display.record


class QuestionWords:
    """The texts that are shown under each question, and the words that they and the question itself use."""

    def __init__(self, displays: Sequence[Display]) -> None:
        self._shown: dict[str, Counter[str]] = defaultdict(Counter)  # question -> text -> records
        for display in displays:
            self._shown[display.question].update(display.texts)
        texts = {text for question, shown in self._shown.items() for text in (question, *shown)}
        self._words = {text: frozenset(word for word in tokens(text) if len(word) >= LONG_WORD) for text in texts}
        documents = Counter(word for words in self._words.values() for word in words)
        self._weight = {word: math.log(len(self._words) / count) for word, count in documents.items()}

    def shown_under(self, display: Display, other: str) -> bool:
        """True when other records show a text of this one under the ``other`` question, and none of its texts under its
        own."""
        there = self._shown[other]
        return self._is_elsewhere(display, other) and any(
            text in there and len(text) >= LONG_ENOUGH for text in display.texts
        )

    def lead(self, display: Display, other: str) -> float:
        """The weight of the words by which a record's texts are nearer to the ``other`` question than to its own; 0
        where they are not clearly so."""
        own_words, other_words = self._words[display.question], self._words[other]
        if not self._is_elsewhere(display, other) or not own_words or not other_words:
            return 0.0
        if self._sum(own_words & other_words) > ALIKE * self._sum(own_words | other_words):
            return 0.0
        near_own, near_other = self._near(display, display.question), self._near(display, other)
        lead = sum(near_other.values()) - sum(near_own.values())
        apart = len(near_other.keys() - near_own.keys())
        nearer = sum(near_other.values()) > NEARER * sum(near_own.values())
        return lead if nearer and apart >= LEAST_WORDS else 0.0

    def _is_elsewhere(self, display: Display, other: str) -> bool:
        here = self._shown[display.question]
        return display.question != other and not any(here[text] > 1 for text in display.texts)

    def _near(self, display: Display, question: str) -> dict[tuple[str, str], float]:
        """The weight of each text's words that the question uses, and half of those that only its other texts use."""
        others = self._shown[question].keys() - display.texts
        beside = {word for text in others for word in self._words[text]}
        question_words = self._words[question]
        return {
            (text, word): self._weight[word] * (1.0 if word in question_words else 0.5)
            for text in display.texts
            for word in self._words[text] & (question_words | beside)
        }

    def _sum(self, words: frozenset[str]) -> float:
        return sum(self._weight[word] for word in words)
