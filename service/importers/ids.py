"""Document ids from what a source calls its messages."""

from __future__ import annotations

import hashlib

from pearl.errors import InputError
from pearl.text.usable import check_id


def stable_id(name: str) -> str:
    """The name itself where it can be an id, else a digest of it: the same one in every run."""
    try:
        return check_id(name)
    except InputError:
        return content_id(name.encode(errors="surrogatepass"))  # a file's name and JSON may have halves of pairs


def content_id(content: bytes) -> str:
    """An id for content without a name."""
    return f"sha256:{hashlib.sha256(content).hexdigest()[:40]}"
