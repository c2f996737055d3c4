"""A coin that falls the same way for the same content, wherever and whenever it is thrown."""

from __future__ import annotations

from hashlib import sha256


def coin(*parts: object) -> bool:
    """True or False, each for half of all contents."""
    content = "\0".join(map(str, parts))
    return sha256(content.encode("utf-8", "surrogatepass")).digest()[0] % 2 == 1
