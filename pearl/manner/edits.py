"""The edit between a draft and the text that was sent: words kept, added and removed, and the same by sentence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rapidfuzz import process
from rapidfuzz.distance import LCSseq

from pearl.manner.writing import Writing

MOSTLY = 0.5  # a text of which the machine wrote a greater share is mostly the machine's
ALIKE = 0.5  # a sentence that keeps this share of another's words is the same one, changed

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """Words and sentences of a draft that the sent text kept, changed, added and removed."""

    words_kept: int  # in the longest common subsequence of words, without capitals and marks
    words_added: int
    words_removed: int
    sentences_kept: int
    sentences_changed: int
    sentences_added: int
    sentences_removed: int

    @property
    def machine_share(self) -> float:
        """The share of the sent text's words that were the draft's."""
        sent = self.words_kept + self.words_added
        return self.words_kept / sent if sent else 0.0

    @property
    def distance(self) -> float:
        """Words added and removed as a share of the words of both texts: 0 for the same words, 1 for none in common."""
        changed = self.words_added + self.words_removed
        both = 2 * self.words_kept + changed
        return changed / both if both else 0.0

    def to_json(self) -> dict[str, float]:
        return asdict(self) | {"machine_share": self.machine_share, "distance": self.distance}


def edit_between(draft: str, sent: str) -> Edit:
    """The edit that made the sent text from the draft; equal texts without words count as one word, kept."""
    before, after = Writing(draft), Writing(sent)
    if not before.words and draft.strip() == sent.strip():
        return Edit(1, 0, 0, 1, 0, 0, 0)
    words_kept = LCSseq.similarity(before.lower_words, after.lower_words)
    old, new = _sentences(before), _sentences(after)
    same = LCSseq.similarity(old, new)
    changed = _changed(*_unmatched(old, new))
    return Edit(
        words_kept,
        len(after.words) - words_kept,
        len(before.words) - words_kept,
        same,
        changed,
        len(new) - same - changed,
        len(old) - same - changed,
    )


def _sentences(writing: Writing) -> list[Words]:
    starts = [start for start, _ in writing.words]
    return [
        tuple(writing.lower_words[bisect_left(starts, start) : bisect_left(starts, end)])
        for start, end in writing.sentences
    ]


def _unmatched(old: Sequence[Words], new: Sequence[Words]) -> tuple[list[Words], list[Words]]:
    """The sentences of each that are not in their longest common subsequence."""
    gone: list[Words] = []
    come: list[Words] = []
    for step in LCSseq.opcodes(old, new):
        if step.tag != "equal":
            gone += old[step.src_start : step.src_end]
            come += new[step.dest_start : step.dest_end]
    return gone, come


def _changed(gone: list[Words], come: list[Words]) -> int:
    """The number of new sentences that an old one became, each old one taken once."""
    left, changed = list(gone), 0
    for sentence in come:
        alike = process.extractOne(sentence, left, scorer=LCSseq.normalized_similarity, score_cutoff=ALIKE)
        if alike is not None:
            *_, index = alike
            left.pop(index)
            changed += 1
    return changed
