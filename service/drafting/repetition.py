"""Remove sentences that repeat the instructions while a draft streams: small models repeat what they were told."""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from pearl.models.prompts import PromptInputs
from pearl.style.manner.reference import common_words
from pearl.text.templates import frame
from pearl.text.words import CLOSERS, FULL_STOPS, composed

RUN = 4  # words in a row that are a repetition; of a shorter instruction all, at least LEAST
LEAST = 3
SHORT = 8  # words of a sentence that can be the repetition of so short an instruction
# instructions that ask for words in the text: to write them is to follow; only the asking itself is a repetition
SAYS = re.compile(
    r"\b(?:mention|say|include|add|tell|state|note|remind|sign|close|end|begin|start|open|greet|refer|call|quote|offer"
    r"|thank|ask|explain|give|name|link|use)\b",
    re.IGNORECASE,
)
ENGLISH = 0.2  # of a sentence's words are common in English; of seven German ones one may be, such as "am"
WORD = regex.compile(r"\w+(?:['’]\w+)?")  # with combining marks
# a draft is read by runs of these kinds of characters, each of them once
KINDS = re.compile(
    rf"(?P<marks>[.!?:;]+)|(?P<stops>[{FULL_STOPS}]+)|(?P<lines>\n+)|(?P<blanks>[^\S\n]+)|(?P<closers>[{CLOSERS}]+)"
    rf"|(?P<letters>[^\s.!?:;{FULL_STOPS}{CLOSERS}]+(?:[^\S\n]+[^\s.!?:;{FULL_STOPS}{CLOSERS}]+)*)"
)
TEXT = "letters"
# how far a sentence's end has come -> kind of the next characters -> how far then; any other kind begins a sentence
END: dict[str, dict[str, str]] = {
    TEXT: {},
    "marks": {"marks": "marks", "closers": "closed marks", "blanks": "ended", "lines": "ended"},
    "closed marks": {"closers": "closed marks", "blanks": "ended", "lines": "ended"},
    "stops": {"stops": "stops", "closers": "closed stops", "blanks": "ended", "lines": "ended"},
    "closed stops": {"closers": "closed stops", "blanks": "ended", "lines": "ended"},
    "ended": {"blanks": "ended", "lines": "ended"},
    "lines": {"lines": "lines"},
}
BEGINS = {"marks": "marks", "stops": "stops", "lines": "lines"}
WHOLE = frozenset({"stops", "closed stops", "ended", "lines"})
LETTER = re.compile(r"[^\W\d]|\n")

Words = tuple[str, ...]


class Repetitions:
    """Word sequences of the instructions alone, not of request or documents; a sentence with one repeats them."""

    def __init__(self, inputs: PromptInputs) -> None:
        sentences = [*_sentences(inputs.instructions), *_sentences(frame()["instructions"].split("{", 1)[0])]
        self._runs = {run for sentence in sentences if inputs.instructions for run in _telling(sentence)}
        # without instructions there is nothing to look for in texts that may be long
        for text in (inputs.request, *(document.text for document in inputs.documents)) if self._runs else ():
            words = _words(text)
            self._runs -= {words[at : at + size] for size in (LEAST, RUN) for at in range(len(words))}

    def __bool__(self) -> bool:
        return bool(self._runs)

    def __contains__(self, sentence: str) -> bool:
        words = _words(sentence)
        sizes = (LEAST, RUN) if len(words) <= SHORT else (RUN,)
        return any(words[at : at + size] in self._runs for size in sizes for at in range(len(words)))


class RepetitionFilter:
    """Takes a draft in pieces, and returns it without sentences that repeat the instructions; ``cut`` counts these.

    If there are instructions the text is returned sentence by sentence, otherwise as it comes.
    """

    def __init__(self, repetitions: Repetitions) -> None:
        self._repetitions = repetitions
        self._held: list[str] = []
        self._end = TEXT  # how far the end of a sentence has come
        self._says = False  # since the last end there was more than a number: "1." ends no sentence
        self._line_begun = False  # the line that goes on has text already
        self.cut = 0

    def feed(self, text: str) -> str:
        """Take more of the draft; return the part that later pieces cannot change."""
        if not self._repetitions:
            return text
        certain = []
        for run in KINDS.finditer(text):
            kind = run.lastgroup or TEXT
            end = END[self._end].get(kind)
            if end is None:
                if self._end in WHOLE:
                    if self._says:
                        certain.append(self.finish())
                    self._says = False
                end = BEGINS.get(kind, TEXT)
            self._end = end
            self._says = self._says or LETTER.search(run[0]) is not None
            self._held.append(run[0])
        return "".join(certain)

    def finish(self) -> str:
        """Return the part that was held back and is no repetition."""
        last, self._held = "".join(self._held), []
        return self._sentence(last)

    def _sentence(self, text: str) -> str:
        if text in self._repetitions:
            self.cut += 1
            breaks = text[len(text.rstrip()) :] if self._line_begun else ""
            text = breaks if "\n" in breaks else ""
        self._line_begun = not text.endswith("\n") if text else self._line_begun
        return text


def _words(text: str) -> Words:
    return tuple(WORD.findall(composed(text.lower()).replace("’", "'")))


def _sentences(text: str) -> Sequence[str]:
    return [part for line in text.splitlines() for part in re.split(r"(?<=[.!?;:])\s+", line) if part.strip()]


def _telling(sentence: str) -> set[Words]:
    """Return the word sequences of an instruction that a text has only if it repeats the instruction. The verbs looked
    for are English, so an instruction in another language is treated as one that asks for words."""
    words = _words(sentence)
    if LEAST <= len(words) <= RUN:
        return {words}
    runs = [words[at : at + RUN] for at in range(len(words) - RUN + 1)]
    english = sum(word in common_words() for word in words) >= ENGLISH * len(words)
    return set(runs[:1] if SAYS.search(sentence) or not english else runs)
