"""The ends of sentences and lines in an answer, seen while its pieces arrive."""

from __future__ import annotations

import re

from pearl.text.words import CLOSERS, FULL_STOPS

# the end of a line or a sentence; that of "e.g.", of "J." and of "1." is none
SENTENCE = re.compile(
    rf"(?:(?<!\d)(?<!\b[A-Za-z])[.!?…][{CLOSERS}]*\s|[{FULL_STOPS}][{CLOSERS}]*[^{FULL_STOPS}{CLOSERS}]|\n\S?)\Z"
)
LAST = 8  # characters that tell whether a sentence has ended


def ends_before(written: str, piece: str) -> bool:
    """Return True if a sentence or a line has ended, and this piece would begin another."""
    return SENTENCE.search(written[-LAST:] + piece[:1]) is not None
