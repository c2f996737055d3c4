"""Finding records of a recording: which share a text, which ask the same, which words are a persona's own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import TypeAlias

from eval.asking.lines import folded
from eval.recorded.personalized.judgements import RecordedJudgement, Recording

LONG_ENOUGH = 20  # characters of a text that cannot stand somewhere else by chance
Fault: TypeAlias = tuple[str, list[RecordedJudgement]] | None  # the message of a check, and the records it is about


def fault(records: list[RecordedJudgement], recording: Recording, what: str) -> Fault:
    """The message 'N of M records WHAT' with those records; None when there are none."""
    return (f"{len(records):,} of {len(recording.judgements):,} records {what}", records) if records else None


def where(recording: Recording, holds: Callable[[RecordedJudgement], object]) -> list[RecordedJudgement]:
    return [record for record in recording.judgements if holds(record)]


def repeated(
    records: Iterable[RecordedJudgement], key: Callable[[RecordedJudgement], Hashable]
) -> list[list[RecordedJudgement]]:
    """Groups of at least two records with the same key; records with an empty key are in none."""
    groups: dict[Hashable, list[RecordedJudgement]] = defaultdict(list)
    for record in records:
        if key(record):
            groups[key(record)].append(record)
    return [group for group in groups.values() if len(group) > 1]


def together(groups: Iterable[list[RecordedJudgement]]) -> list[RecordedJudgement]:
    return sorted((record for group in groups for record in group), key=lambda record: record.line)


def is_survey(recording: Recording) -> bool:
    """True when most records show a pair of texts that other records show, too, as those of a survey do."""
    pairs = [frozenset(map(folded, record.texts)) for record in recording.judgements if record.texts]
    times = Counter(pairs)
    return bool(pairs) and 2 * sum(times[pair] == 1 for pair in pairs) <= len(pairs)


def question_of(record: RecordedJudgement) -> Hashable:
    if record.texts is None:
        return None
    return folded(record.persona), folded(record.question), frozenset(map(folded, record.texts))


def tokens(text: str | None) -> list[str]:
    return re.findall(r"\w+", folded(text))


def persona_words(recording: Recording) -> Callable[[RecordedJudgement], frozenset[str]]:
    """Return a function that gives the words of a record's persona, of four letters or more, that at most a tenth of
    the personas, or this one alone, have."""
    personas = {folded(record.persona) for record in recording.judgements} - {""}
    words_of = {persona: frozenset(word for word in tokens(persona) if len(word) > 3) for persona in personas}
    counts = Counter(word for words in words_of.values() for word in words)
    common = {word for word, count in counts.items() if count > max(1, len(personas) // 10)}
    return lambda record: words_of.get(folded(record.persona), frozenset()) - common
