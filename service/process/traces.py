"""The lines of code of an error, for the log."""

from __future__ import annotations

import traceback


def code_lines(error: BaseException) -> str:
    """The lines of code that an error came through, without its message, which may quote a text or a prompt."""
    return "".join(traceback.format_tb(error.__traceback__))
