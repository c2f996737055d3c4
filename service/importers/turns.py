"""The messages before an answer in a chat of two, where the source does not say what it answers."""

from __future__ import annotations

from collections import deque

from service.importers.base import as_request

MOST_MESSAGES = 5  # in a row that one answer is to
ANSWERED_WITHIN_S = 86_400.0  # later one begins anew


class Turns:
    """The other person's messages since one's own last one."""

    def __init__(self) -> None:
        self._heard: deque[str] = deque(maxlen=MOST_MESSAGES)
        self._last = 0.0

    def hear(self, text: str, timestamp: float) -> None:
        if timestamp - self._last > ANSWERED_WITHIN_S:
            self._heard.clear()
        self._last = timestamp
        if text.strip():
            self._heard.append(text)

    def answered(self, timestamp: float) -> str | None:
        """Return what a message of one's own answers, and forget it: the next one goes on with it."""
        heard = "\n".join(self._heard) if timestamp - self._last <= ANSWERED_WITHIN_S else None
        self._heard.clear()
        return as_request(heard)
