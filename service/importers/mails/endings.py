"""Paragraphs that end one mail after another: disclaimers and slogans that nobody typed each time."""

from __future__ import annotations

import hashlib
from collections import Counter

LEAST_WORDS = 10  # "Thank you and best regards, Ann" is how a person signs off
LEAST_TEXTS = 3
PARAGRAPHS = 3


class RepeatedEndings:
    """Counts the different texts above each last paragraph of a person's mails, and cuts what ends several.

    One mail in several folders, or sent to several people, is one text.
    """

    def __init__(self) -> None:
        self._texts: Counter[bytes] = Counter()
        self._seen: set[bytes] = set()

    def note(self, text: str) -> None:
        paragraphs = text.split("\n\n")
        for number in range(max(0, len(paragraphs) - PARAGRAPHS), len(paragraphs)):
            if len(paragraphs[number].split()) >= LEAST_WORDS:
                key = _key(paragraphs[number])
                both = _key(paragraphs[number] + "\0" + "\n\n".join(paragraphs[:number]))
                self._texts[key] += both not in self._seen
                self._seen.add(both)

    def cut(self, text: str) -> str:
        """The text without the paragraphs at its end that several texts have; what stands above them is kept."""
        paragraphs = text.split("\n\n")
        for _ in range(PARAGRAPHS):
            if not (paragraphs and self._texts[_key(paragraphs[-1])] >= LEAST_TEXTS):
                break
            paragraphs.pop()
        return "\n\n".join(paragraphs).rstrip()


def _key(text: str) -> bytes:
    return hashlib.blake2b(" ".join(text.split()).encode(errors="replace"), digest_size=8).digest()
