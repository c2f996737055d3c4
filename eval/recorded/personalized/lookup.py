"""Finding records of a recording: which share a text, which ask the same, which words are a persona's own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import TypeAlias

from eval.asking.lines import folded
from eval.recorded.personalized.judgements import RecordedJudgement, Recording

LONG_ENOUGH = 20  # characters of a text that cannot stand somewhere else by chance
Said: TypeAlias = tuple[str, list[RecordedJudgement]] | None  # what a check says, and of which records


def said(records: list[RecordedJudgement], recording: Recording, what: str) -> Said:
    """The message 'N of M records WHAT' with those records; None when there are none."""
    return (f"{len(records):,} of {len(recording.judgements):,} records {what}", records) if records else None


def where(recording: Recording, holds: Callable[[RecordedJudgement], object]) -> list[RecordedJudgement]:
    return [judgement for judgement in recording.judgements if holds(judgement)]


def repeated(
    judgements: Iterable[RecordedJudgement], key: Callable[[RecordedJudgement], Hashable]
) -> list[list[RecordedJudgement]]:
    """Groups of at least two with the same key; a key of nothing is none."""
    groups: dict[Hashable, list[RecordedJudgement]] = defaultdict(list)
    for judgement in judgements:
        if key(judgement):
            groups[key(judgement)].append(judgement)
    return [group for group in groups.values() if len(group) > 1]


def together(groups: Iterable[list[RecordedJudgement]]) -> list[RecordedJudgement]:
    return sorted((judgement for group in groups for judgement in group), key=lambda record: record.line)


def is_survey(recording: Recording) -> bool:
    """True when most records show a pair of texts that others show, too: the options of a survey are nobody's own."""
    pairs = [frozenset(map(folded, judgement.texts)) for judgement in recording.judgements if judgement.texts]
    times = Counter(pairs)
    return bool(pairs) and 2 * sum(times[pair] == 1 for pair in pairs) <= len(pairs)


def question_of(judgement: RecordedJudgement) -> Hashable:
    if judgement.texts is None:
        return None
    return folded(judgement.persona), folded(judgement.question), frozenset(map(folded, judgement.texts))


def tokens(text: str | None) -> list[str]:
    return re.findall(r"\w+", folded(text))


def rare_words(recording: Recording) -> dict[str, frozenset[str]]:
    """Each persona's words of four letters or more that at most a tenth of the personas, or one alone, have."""
    personas = {folded(record.persona) for record in recording.judgements} - {""}
    each_words = {persona: {word for word in tokens(persona) if len(word) > 3} for persona in personas}
    counts = Counter(word for words in each_words.values() for word in words)
    return {
        persona: frozenset(word for word in words if counts[word] <= max(1, len(personas) // 10))
        for persona, words in each_words.items()
    }
