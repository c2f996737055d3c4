"""Checks of pairs of texts for faults that distort figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.report.checks import BROKEN, NOTE, Check, Finding, conflict_check, item_check, repeat_check
from pearl.text.words import count_words
from retriever.reward.originals import underlying
from retriever.reward.records import QualityPair, QualityRecord, paragraphs

NAMED = 5  # records of a leak in a message

Pairs = Sequence[QualityPair]


PAIR_CHECKS: tuple[Check[Pairs], ...] = (
    item_check(
        "equal_texts",
        BROKEN,
        "Both paragraphs are the same text, and a coin decides.",
        lambda pair: len(pair.texts) == 1,
    ),
    repeat_check(
        "duplicate_pair", NOTE, "The same pair in the same order again.", lambda pair: (pair.first, pair.second)
    ),
    conflict_check(
        "both_orders",
        NOTE,
        "Pairs that stand there in both orders.",
        lambda pair: pair.texts,
        lambda pair: pair.first.strip(),
    ),
    conflict_check(
        "contradicting_labels",
        BROKEN,
        "The same two texts, each preferred once.",
        lambda pair: pair.texts,
        lambda pair: pair.better.strip(),
    ),
)


def cut_check(tokens: int, *, together: bool) -> Check[Pairs]:
    """Make a check for pairs that the model cannot read to the end: a text, or both texts ``together``, has more words
    than the model reads ``tokens``. A word is one token or more, so other pairs may be cut, too."""
    read = "both texts together" if together else "a text"

    def cut(pair: QualityPair) -> bool:
        first, second = count_words(pair.first), count_words(pair.second)
        return (first + second if together else max(first, second)) > tokens

    return item_check(
        "cut_texts",
        NOTE,
        f"More words than the {tokens:,} tokens of {read} that the model reads: it judges by the beginning.",
        cut,
    )


def in_earlier_set(pairs: Pairs, earlier: Mapping[frozenset[str], str]) -> Finding | None:
    """Find pairs whose two texts, in any order, are in an earlier file. ``earlier``: the place of each two texts."""
    twice = {pair.line: earlier[pair.texts] for pair in pairs if pair.texts in earlier}
    return _elsewhere("in_earlier_set", "Pairs of an earlier file, which count there alone.", twice, len(pairs))


def leaks(tested: Sequence[QualityRecord], trained: Sequence[tuple[Path, QualityRecord]]) -> Finding | None:
    """Find tested records with a paragraph that, edited or not, is in the training records; None if there is none."""
    records: list[tuple[Path | None, QualityRecord]] = [*trained, *((None, record) for record in tested)]
    texts = [(path, record, text) for path, record in records for text in paragraphs(record)]
    groups = underlying([text for *_, text in texts])
    among: dict[int, str] = {}
    leaked: dict[int, str] = {}
    for (path, record, _), group in zip(texts, groups, strict=True):
        if path:
            among.setdefault(group, f"{path}:{record.line}")
        elif group in among:
            leaked.setdefault(record.line, among[group])
    return _elsewhere("in_training", "Paragraphs that were trained on, edited or not.", leaked, len(tested))


def _elsewhere(check: str, what: str, locations: Mapping[int, str], number: int) -> Finding | None:
    """The finding that records (by line) also stand at other ``locations``, of which it names the first few."""
    if not locations:
        return None
    named = ", ".join(f"{line} is {location}" for line, location in list(locations.items())[:NAMED])
    more = f" and {len(locations) - NAMED:,} more" if len(locations) > NAMED else ""
    return Finding(check, BROKEN, tuple(locations), f"{what} {len(locations):,} of {number:,} items: {named}{more}.")
