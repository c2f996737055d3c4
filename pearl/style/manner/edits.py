"""The difference between a draft and the text that was sent: the numbers of words kept, added and removed."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from rapidfuzz.distance import LCSseq

from pearl.style.manner.writing import Writing

MOSTLY = 0.5  # a text of which the machine wrote a greater share is mostly the machine's


@dataclass(frozen=True, slots=True)
class Edit:
    """The numbers of words that the sent text kept from the draft, added, and removed."""

    words_kept: int  # in the longest common subsequence of words, without capitals and marks
    words_added: int
    words_removed: int

    @property
    def machine_share(self) -> float:
        """Return the share of the sent text's words that are from the draft."""
        sent = self.words_kept + self.words_added
        return self.words_kept / sent if sent else 0.0

    @property
    def distance(self) -> float:
        """Return words added and removed as a share of both texts' words: 0 for the same words, 1 for no common one."""
        changed = self.words_added + self.words_removed
        both = 2 * self.words_kept + changed
        return changed / both if both else 0.0

    def to_json(self) -> dict[str, float]:
        return asdict(self) | {"machine_share": self.machine_share, "distance": self.distance}


def edit_between(draft: str, sent: str) -> Edit:
    """Compare a draft with the sent text; equal texts without words count as one word, kept."""
    before, after = Writing(draft), Writing(sent)
    if not before.words and draft.strip() == sent.strip():
        return Edit(1, 0, 0)
    words_kept = LCSseq.similarity(before.lower_words, after.lower_words)
    return Edit(words_kept, len(after.words) - words_kept, len(before.words) - words_kept)
