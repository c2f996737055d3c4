"""The request of a document, where the source shows what it answered."""

from __future__ import annotations

MAX_CHARACTERS = 2_000  # a request goes into prompts and rankings whole; more of it helps neither


def as_request(text: str | None) -> str | None:
    """The text as a request: cut at a word's end if it is long, None if it is empty."""
    text = (text or "").replace("\0", " ").strip()
    if len(text) > MAX_CHARACTERS:
        text = text[: MAX_CHARACTERS + 1].rsplit(maxsplit=1)[0][:MAX_CHARACTERS].rstrip()
    # a request is context, not history: half a character in it must not cost the document
    return text.encode(errors="replace").decode() or None
