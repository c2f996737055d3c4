"""Generated identifiers: sortable by time, unguessable, with a prefix for the kind of thing."""

from __future__ import annotations

import hashlib
import secrets
import time


def new_id(prefix: str) -> str:
    """Make an id such as ``draft_0192f0c4b1aa7d0e5c2f9b1c``: 48 bits of milliseconds, 64 random bits."""
    return f"{prefix}_{int(time.time() * 1000):012x}{secrets.token_hex(8)}"


def digest(*parts: str | None) -> bytes:
    """A digest of the parts, 16 bytes. None and "" differ in it, and so do the same characters in other parts."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(b"\xff" if part is None else part.encode() + b"\xfe")  # bytes that UTF-8 never uses
    return state.digest()
