"""Texts that a judge is shown between marks. A text is data: a mark inside it is broken, so that it ends no fence."""

from __future__ import annotations

import re
from collections.abc import Sequence


class Fences:
    """The marks of one prompt."""

    def __init__(self, marks: Sequence[str]) -> None:
        self._mark = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(marks)})\b)", re.IGNORECASE)

    def around(self, mark: str, text: str) -> str:
        """The text between ``<mark>`` and ``</mark>``, each on its own line."""
        return f"<{mark}>\n{self._mark.sub('< ', text.strip())}\n</{mark}>"
