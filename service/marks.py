"""Taking the <document> marks off an answer while it streams."""

from __future__ import annotations

from pearl.prompts import CLOSING, OPENING, unfenced


class MarkFilter:
    """Fed an answer in any pieces, gives in all what :func:`pearl.prompts.unfenced` makes of the whole.

    Text is held back only while it may still be part of a mark or of blanks at the end.
    """

    def __init__(self) -> None:
        self._held = ""
        self._opened = False  # past the place where an opening mark may stand
        self._begun = False  # some text was given
        self._ended = False

    def feed(self, text: str) -> str:
        """What of the answer is certain now."""
        if self._ended:
            return ""
        self._held += text
        if not self._opened:
            start = self._held.lstrip()
            if OPENING.startswith(start):
                return ""
            self._held = start.removeprefix(OPENING)
            self._opened = True
        if CLOSING in self._held:
            self._ended = True
            return self._give(len(self._held.split(CLOSING, 1)[0]))
        return self._give(_certain(self._held))

    def finish(self) -> str:
        """What was held back and belongs to the answer after all."""
        if not self._opened:
            return unfenced(self._held)
        return "" if self._ended else self._give(len(self._held))

    def _give(self, length: int) -> str:
        ready = self._held[:length].rstrip()
        self._held = self._held[len(ready) :]
        if not self._begun:
            ready = ready.lstrip()
            self._begun = bool(ready)
        return ready


def _certain(text: str) -> int:
    """How much of the text cannot be the beginning of the closing mark."""
    for length in range(min(len(CLOSING) - 1, len(text)), 0, -1):
        if CLOSING.startswith(text[-length:]):
            return len(text) - length
    return len(text)
