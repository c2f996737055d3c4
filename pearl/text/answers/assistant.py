"""Detects, as a draft begins, that the model answers as an assistant instead of writing the author's text."""

from __future__ import annotations

from functools import cache

import regex

from pearl.text.phrases import Phrases

BEGINNING = r"\s{0,3}(?:{greetings}\b[^\n,!.]{0,40}[,!.]\s{1,3})?{phrases}"


class AssistantFilter:
    """Passes on a draft that comes in pieces, unless it begins like an assistant's answer: then ``found`` is True and
    nothing is passed on. The beginning is held back only while that is undecided."""

    def __init__(self) -> None:
        self._held: str | None = ""
        self.found = False

    def feed(self, text: str) -> str:
        """Take more of the draft; return the part that has become certain."""
        if self._held is None:
            return "" if self.found else text
        self._held += text
        match = _beginnings().match(self._held, partial=True)
        if match and match.partial:
            return ""
        self.found = match is not None
        return self.finish()

    def finish(self) -> str:
        """Return the part held back, if it belongs to the draft after all."""
        held, self._held = self._held or "", None
        return "" if self.found else held


def answers_as_assistant(text: str) -> bool:
    """True if a whole draft begins like an assistant's answer."""
    return _beginnings().match(text) is not None


@cache
def _beginnings() -> regex.Pattern[str]:
    phrases = Phrases.of("pearl", "assistant")
    return phrases.compile_with(regex.compile, BEGINNING, regex.IGNORECASE)
