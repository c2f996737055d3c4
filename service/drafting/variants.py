"""Variants of a draft: other texts for the same request, from another order of its documents and by random sampling."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pearl.errors import PearlError
from pearl.models.chat.base import Decoding
from pearl.records import Note
from pearl.text.usable import counted
from service.drafting.evidence import Shortlist

MOST = 3
# of the model, where the request names none; the second where the first gave an earlier text again
TEMPERATURES = (0.7, 1.0)


@dataclass(frozen=True, slots=True)
class Variation:
    """The differences of a variant from the first text: in the order of documents, seed and temperature."""

    number: int  # 0: the first text, as it is without variants
    attempt: int = 0  # 1: the first attempt gave an earlier text again

    def shortlist(self, found: Shortlist) -> Shortlist:
        """Move the ``number`` best documents to the end, so that another document stands next to the request in the
        prompt."""
        chosen = found.chosen
        turned = self.number % len(chosen) if chosen else 0
        return replace(found, chosen=[*chosen[turned:], *chosen[:turned]])

    def decoding(self, asked: Decoding) -> Decoding:
        """Return ``asked`` with another seed and a temperature above 0; unchanged for the first text (number 0)."""
        if not self.number:
            return asked
        least = TEMPERATURES[self.attempt] if self.attempt or not asked.temperature else 0.0
        seed = asked.seed + self.number + MOST * self.attempt
        return replace(asked, temperature=max(asked.temperature, least), seed=seed)


class NewText:
    """Takes a text in pieces, and holds it back while it may equal one of ``earlier``, ignoring whitespace."""

    def __init__(self, earlier: Iterable[str]) -> None:
        self._earlier = {_squeezed(text) for text in earlier}
        self._read = ""
        self._held = ""

    def feed(self, piece: str) -> str:
        self._held += piece
        if self._earlier:
            self._read += _squeezed(piece)
            self._earlier = {text for text in self._earlier if text.startswith(self._read)}
        return "" if self._earlier else self.finish()

    @property
    def is_new(self) -> bool:
        return self._read not in self._earlier

    def finish(self) -> str:
        """Return the part that is held back."""
        held, self._held = self._held, ""
        return held


def _squeezed(text: str) -> str:
    return "".join(text.split())


def same_text(missing: int) -> Note:
    """Make the note on variants that were left out because the model wrote an earlier text again."""
    message = f"Left out {counted(missing, 'variant')}: asked twice, the model wrote an earlier text again."
    return Note("same_variant", message)


def failed(missing: int, error: PearlError) -> Note:
    """Make the note on variants that were left out because the model failed."""
    return Note("variant_failed", f"Left out {counted(missing, 'variant')}: {error.message}")
