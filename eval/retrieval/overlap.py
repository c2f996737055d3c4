"""Near-duplicates of the target: copying one of them is no style."""

from __future__ import annotations

from collections.abc import Sequence

from eval.retrieval.gains import GainsRecord
from retriever.history.lexical import words

LENGTH = 3  # words of an n-gram
THRESHOLD = 0.5


def containment(target: str, text: str) -> float:
    """The share of the target's word trigrams that are in the text; of the whole target where it has fewer words.

    Containment as in Broder 1997, "On the resemblance and containment of documents". 0 for a target without a word.
    """
    of_target = words(target)
    length = min(LENGTH, len(of_target))
    wanted = _ngrams(of_target, length)
    return len(wanted & _ngrams(words(text), length)) / len(wanted) if wanted else 0.0


def _ngrams(of_text: Sequence[str], length: int) -> set[tuple[str, ...]]:
    if length == 0:
        return set()
    return {tuple(of_text[start : start + length]) for start in range(len(of_text) - length + 1)}


def kept_documents(record: GainsRecord, threshold: float = THRESHOLD) -> tuple[bool, ...]:
    """False for each document that contains at least ``threshold`` of the record's target; all True without one."""
    if record.target is None:
        return (True,) * len(record.documents)
    return tuple(containment(record.target, document.text) < threshold for document in record.documents)
