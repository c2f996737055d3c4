"""The place of an error, for the log."""

from __future__ import annotations

import traceback


def places(error: BaseException) -> str:
    """The lines of code an error came through. Its own words are left out: they may quote a text or a prompt."""
    return "".join(traceback.format_tb(error.__traceback__))
