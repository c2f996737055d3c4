"""Make identifiers that sort by time and cannot be guessed, with a prefix for the kind of thing."""

from __future__ import annotations

import hashlib
import secrets
import time


def new_id(prefix: str) -> str:
    """Make an id such as ``draft_0192f0c4b1aa7d0e5c2f9b1c``: 48 bits of milliseconds, 64 random bits."""
    return f"{prefix}_{int(time.time() * 1000):012x}{secrets.token_hex(8)}"


def digest(*parts: str | None) -> bytes:
    """Make a 16-byte digest of the parts. None and "" give different digests; so do ("ab", "c") and ("a", "bc")."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(b"\xff" if part is None else part.encode() + b"\xfe")  # bytes that UTF-8 never uses
    return state.digest()
