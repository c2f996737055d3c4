"""Text held back from a stream until more of it tells what it is."""

from __future__ import annotations

SHORT = 500  # characters that may be looked at whenever a piece comes
PART = 16  # a longer text is looked at again when it has grown by one part in so many


class Held:
    """Text in pieces. To look at all of it for each piece would take quadratic time; looked at when it has grown by a
    part, it takes linear time, and nothing is held back for much longer."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._looked_at = 0

    def add(self, text: str) -> bool:
        """Take a piece; True when it is time to look."""
        self._pieces.append(text)
        self._length += len(text)
        return self._length <= SHORT or PART * (self._length - self._looked_at) >= self._looked_at

    def text(self) -> str:
        """All of it."""
        self._pieces = ["".join(self._pieces)]
        self._looked_at = self._length
        return self._pieces[0]

    def keep(self, text: str) -> None:
        """Hold this in place of what was held."""
        self._pieces, self._length, self._looked_at = [text], len(text), len(text)
