"""Signs ("tells") that an assistant wrote a text: phrases of a conversation with one, and words that people seldom use.

The limits were chosen on half of the people of three kinds of text from before there were assistants, so that none of
their texts has too many (docs/experiments.md).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from itertools import islice

from pearl.text.answers.assistant import answers_as_assistant
from pearl.text.phrases import Phrases
from pearl.text.words import count_words

SINCE = 1_669_766_400.0  # 30 November 2022; texts from before were not written with an assistant
LONGEST = 20_000  # characters of a text that are looked at
LEAST = 2  # fewer tells in a text say nothing
USUAL = 0.5  # tells per 100 words that anybody may have
OWN_WORDS = 500  # that a person's own rate counts from; with fewer it is near the usual one
CHANCE = 0.01  # the probability of as many tells at the usual rate, below which there are too many
BROKEN = re.compile(r"(?<=\S)[ \t]*\n(?=[^\W\d_A-Z])")  # a line within a sentence ends; the next begins small


@dataclass(frozen=True, slots=True)
class Tells:
    """Counts of an assistant's tells in one text, or in several together."""

    words: int = 0
    count: int = 0  # in each text different ones
    of_conversation: bool = False  # addressed to who asked an assistant, or a gap that one left to be filled

    @classmethod
    def of(cls, text: str) -> Tells:
        """Count the tells in a text."""
        text = text[:LONGEST].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        tells, answers, forms = _patterns()
        lines, text = text, BROKEN.sub(" ", text).lower()
        count = len({found[0] for found in tells.finditer(text)})
        count += sum(len(list(islice(form.finditer(lines), 2))) == 2 for form in forms)
        return cls(count_words(text), count, answers_as_assistant(text) or answers.search(text) is not None)

    def __add__(self, other: Tells) -> Tells:
        of_conversation = self.of_conversation or other.of_conversation
        return Tells(self.words + other.words, self.count + other.count, of_conversation)

    def exceed(self, own: Tells) -> bool:
        """True if a text has more tells than chance explains. ``own``: the tells in the person's older texts."""
        if self.of_conversation and not own.of_conversation:
            return True
        rate = max(USUAL, 100 * (own.count + USUAL / 100 * OWN_WORDS) / (own.words + OWN_WORDS))
        return self.count >= LEAST and _at_least(self.count, rate / 100 * self.words) < CHANCE


NONE = Tells()


def _at_least(count: int, expected: float) -> float:
    """The probability of so many or more where so many are expected (Poisson)."""
    if expected > count:  # it is not small then, and the sum below may not be a number
        return 1.0
    return 1 - sum(math.exp(-expected) * expected**less / math.factorial(less) for less in range(count))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], list[re.Pattern[str]]]:
    phrases = Phrases.of("pearl", "machine")
    tells, answers = (
        re.compile(rf"(?<!\w)(?:{'|'.join(phrases.entries(name))})(?!\w)", re.MULTILINE)
        for name in ("tells", "answers")
    )
    return tells, answers, [re.compile(form, re.MULTILINE) for form in phrases.entries("forms")]
