"""The ends of a text: a greeting, a sign-off, a question, the mark of the last sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pearl.manner.places import CLOSERS
from pearl.manner.writing import Writing
from pearl.text.phrases import Phrases
from pearl.text.words import MARK, Spot, is_question

PHRASES = Phrases.of("pearl", "letters")
GREETING = PHRASES.compile(
    r"(?P<words>{greetings})(?!\w)(?P<name>(?:[ \t]+[^\s,،;:!.?–—-]+){0,4}?)[ \t]*(?:[,،;:!.–—-]|$)",
    re.IGNORECASE | re.MULTILINE,
)
FAREWELL = PHRASES.compile(r"(?:{before_farewells} )*{farewells}[ \t]*[,،，、.。!！–—-]*")
SIGNED = re.compile(r"(?:[-–—/~][-–—/~ \t]*)?[^\W\d_][\w.'’-]*(?:[ \t]+[^\W\d_][\w.'’-]*){0,2}")
NAMED = re.compile(r"(?:[-–—/~][-–—/~ \t]*)?(?:[^\W\d_a-z][\w.'’-]*(?:[ \t]+|$)){1,3}")
FORMULA_WORDS, TAIL_LINES = 6, 3


def greeting(writing: Writing) -> Sequence[Spot]:
    """The greeting at the beginning, up to the mark or the line's end that closes it."""
    start = writing.lines[0][0] if writing.lines else 0
    met = GREETING.match(writing.text, start)
    return [met.span()] if met else []


def sign_off(writing: Writing) -> Sequence[Spot]:
    """The closing words and the name under them: a known formula, a short line with a comma above a name, or a name
    as the last paragraph.

    A line is part of it only below other text, so that a text of one line has none.
    """
    tail = writing.lines[1:][-TAIL_LINES:]
    for start, end in tail:
        line = writing.text[start:end]
        under = [MARK.sub("x", writing.text[begin:stop]) for begin, stop in tail if begin > start]
        formula = FAREWELL.fullmatch(line) is not None
        short = line.endswith((",", "،", "，")) and len(line.split()) <= FORMULA_WORDS and bool(under)
        if (formula or short) and all(SIGNED.fullmatch(name) for name in under):
            return [(start, tail[-1][1])]
    last = writing.paragraphs[-1] if len(writing.paragraphs) > 1 else (0, 0)
    return [last] if NAMED.fullmatch(MARK.sub("x", writing.text[slice(*last)])) else []


def closing_question(writing: Writing) -> Sequence[Spot]:
    """The last sentence where it is a question; a sign-off under it does not count."""
    before = sign_off(writing)
    end = before[0][0] if before else len(writing.text)
    sentences = [spot for spot in writing.sentences if spot[0] < end]
    asks = sentences and is_question(writing.text[sentences[-1][0] : end].rstrip().rstrip(CLOSERS))
    return sentences[-1:] if asks else []


def no_closing_mark(writing: Writing) -> Sequence[Spot]:
    """The last line before a sign-off where no mark ends it: a letter, with its accents, or a digit stands last."""
    before = sign_off(writing)
    lines = [line for line in writing.lines if not before or line[0] < before[0][0]]
    last = lines[-1][1] - 1 if lines else 0
    return lines[-1:] if lines and (writing.text[last].isalnum() or MARK.match(writing.text, last)) else []
