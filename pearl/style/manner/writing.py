"""A text split into words, sentences, lines and paragraphs, each with its span.

A text of a megabyte is split while a transaction waits, so each part takes time linear in the text's length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from pearl.text.words import CLOSERS, FULL_STOPS, GREEK, MARK, Spot, composed, word_spots

URL = re.compile(r"\b(?:https?|ftp)://[^\s<>]+|\bwww\.[^\s<>]+", re.IGNORECASE)
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
PARAGRAPH = re.compile(r"\S(?:.|\n(?![ \t]*\n))*")
LINE = re.compile(r"^[^\S\n]*+\S[^\n]*", re.MULTILINE)
LIST_ITEM = re.compile(r"^[ \t]*(?:[-*+•◦–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(?=\S)", re.MULTILINE)
# a sentence ends at its mark before a blank, with those of other scripts before anything, at an empty line, and before
# a list item
END = re.compile(
    rf"(?:(?<![.!?])[.!?]++|…|(?<=[{GREEK}]{{2}});)[{CLOSERS}]*+(?=\s)|[{FULL_STOPS}]++[{CLOSERS}]*+"
    r"|\n[ \t]*\n|\n(?=[ \t]*(?:[-*+•◦–]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t])"
)
# marks that abbreviate or number and seldom end a sentence
ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|cf|vs|mr|mrs|ms|dr|st|prof|fig|resp|approx)\.\Z", re.IGNORECASE)
LONGEST_ABBREVIATION = len("approx.")
NUMBER_ALONE = re.compile(r"\W{0,40}\d{1,3}\.")


class Writing:
    """A text and its parts in order, computed on use. Web addresses are no words.

    A line ends with "\\n" in ``text``, also where it ended with "\\r\\n", as in mails; all spans are of ``text``.
    """

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")

    @cached_property
    def prose(self) -> str:
        """The text with web addresses blanked out; all spans stay as in the text."""
        return URL.sub(lambda url: " " * len(url[0]), self.text)

    @cached_property
    def lettered(self) -> str:
        """Return the prose with a letter for each combining mark, since ``re`` ends a word at Hindi's vowel signs."""
        return self.prose if self.prose.isascii() else MARK.sub("x", self.prose)

    @cached_property
    def words(self) -> Sequence[Spot]:
        return list(word_spots(WORD, self.prose))

    @cached_property
    def lower_words(self) -> Sequence[str]:
        """Return the words in small letters, composed (NFC), with straight apostrophes."""
        return [composed(self.prose[start:end].lower()).replace("’", "'") for start, end in self.words]

    @cached_property
    def sentences(self) -> Sequence[Spot]:
        """Return the spans of sentences that have at least one word; a list item is a sentence."""
        spans, start = [], 0
        for end in END.finditer(self.prose):
            tail = max(start, end.end() - LONGEST_ABBREVIATION)
            if ABBREVIATED.search(self.prose, tail, end.end()) or NUMBER_ALONE.fullmatch(self.prose, start, end.end()):
                continue
            spans.append((start, end.end()))
            start = end.end()
        spans.append((start, len(self.prose)))
        return [spot for spot in (self._stripped(*span) for span in spans) if WORD.search(self.prose, *spot)]

    @cached_property
    def lines(self) -> Sequence[Spot]:
        """Return the spans of lines that are not blank, without white space around them."""
        return [self._stripped(*line.span()) for line in LINE.finditer(self.text)]

    @cached_property
    def paragraphs(self) -> Sequence[Spot]:
        """Return the spans of runs of lines between empty lines."""
        return [self._stripped(*paragraph.span()) for paragraph in PARAGRAPH.finditer(self.text)]

    def _stripped(self, start: int, end: int) -> Spot:
        part = self.text[start:end]
        return start + len(part) - len(part.lstrip()), start + len(part.rstrip())
