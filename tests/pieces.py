"""What comes in the pieces that a stream may bring: texts, and answers through a socket."""

from __future__ import annotations

import random
import socket


def split(text: str, chance: random.Random) -> list[str]:
    """The text in one to seven pieces, of which some may be empty."""
    places = sorted(chance.choices(range(len(text) + 1), k=chance.randint(0, 6)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


def read_until(connection: socket.socket, words: bytes) -> bytes:
    """Read until these words have come, however the answer is cut; return all of it."""
    heard = b""
    while words not in heard:
        piece = connection.recv(65_536)
        assert piece, heard
        heard += piece
    return heard
