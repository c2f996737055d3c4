"""Paragraphs that end one mail after another: disclaimers and slogans that nobody typed each time."""

from __future__ import annotations

import hashlib
from collections import Counter

LEAST_WORDS = 10  # "Thank you and best regards, Ann" is how a person signs off
LEAST_MAILS = 3
PARAGRAPHS = 3


class RepeatedEndings:
    """Counts the last paragraphs of a person's mails, and cuts those that stand below several."""

    def __init__(self) -> None:
        self._mails: Counter[bytes] = Counter()

    def note(self, text: str) -> None:
        self._mails.update({_key(paragraph) for paragraph in text.split("\n\n")[-PARAGRAPHS:] if _is_long(paragraph)})

    def cut(self, text: str) -> str:
        """The text without the paragraphs at its end that several mails have; what stands above them is kept."""
        paragraphs = text.split("\n\n")
        for _ in range(PARAGRAPHS):
            if not (paragraphs and self._mails[_key(paragraphs[-1])] >= LEAST_MAILS):
                break
            paragraphs.pop()
        return "\n\n".join(paragraphs).rstrip()


def _is_long(paragraph: str) -> bool:
    return len(paragraph.split()) >= LEAST_WORDS


def _key(paragraph: str) -> bytes:
    return hashlib.blake2b(" ".join(paragraph.split()).encode(errors="replace"), digest_size=8).digest()
