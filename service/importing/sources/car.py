"""Reading CAR files, in which the AT Protocol packs an account: blocks of DAG-CBOR, each behind its content id (CID).

https://ipld.io/specs/transport/car/carv1/ and https://ipld.io/specs/codecs/dag-cbor/spec/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, Any

from pearl.errors import InputError

MOST_BYTES = 4_000_000  # of a block; servers of the protocol take 2 MB at most
DEEPEST = 64  # of maps and lists in each other
LINK = 42  # the tag of a CID
CID_BYTES = 36  # version, codec, hash and its length, and 32 bytes of SHA-256


class Link(bytes):
    """The content id (CID) of another block."""


def blocks(stream: IO[bytes]) -> Iterator[tuple[Link, bytes]]:
    """Yield the root's CID with empty bytes, then each block with its CID. Raises InputError if the file is cut off or
    is no CAR file."""
    header = _section(stream)
    try:
        (root,) = decoded(header or b"")["roots"]
    except (InputError, KeyError, TypeError, ValueError):
        raise InputError("is not a CAR file of a repository.", code="not_an_export") from None
    yield Link(root), b""
    while section := _section(stream):
        yield Link(section[:CID_BYTES]), section[CID_BYTES:]


def _section(stream: IO[bytes]) -> bytes | None:
    length = shift = 0
    while byte := stream.read(1):
        length |= (byte[0] & 127) << shift
        shift += 7
        if length > MOST_BYTES:
            raise InputError(f"has a block of more than {MOST_BYTES:,} bytes; is it a CAR file?", code="too_large")
        if byte[0] < 128:
            break
    section = stream.read(length)
    if len(section) < length or (shift and not byte):
        raise InputError("is a CAR file that breaks off; export it again.", code="cut_off")
    return section or None


def decoded(data: bytes) -> Any:
    """Decode a block of DAG-CBOR. Raises InputError if the block is damaged."""
    try:
        value, end = _item(data, 0, DEEPEST)
    except (IndexError, struct.error, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(f"has a damaged block ({error}).", code="invalid_cbor") from None
    if end != len(data):
        raise InputError("has a damaged block.", code="invalid_cbor")
    return value


def _item(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    kind, short = divmod(data[at], 32)
    at += 1
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(short, 0)
    if kind == 7:
        value = struct.unpack_from(">d", data, at)[0] if size == 8 else {20: False, 21: True, 22: None}[short]
        return value, at + size
    if short > 27 or not depth:
        raise IndexError("length" if depth else "depth")
    number = int.from_bytes(data[at : at + size]) if size else short
    at += size
    if kind < 2:
        return (-1 - number if kind else number), at
    if kind < 4:
        if at + number > len(data):
            raise IndexError("end")
        piece = data[at : at + number]
        return (piece.decode() if kind == 3 else piece), at + number
    if kind == 6:
        value, at = _item(data, at, depth - 1)
        return (Link(value[1:]) if number == LINK else value), at  # a CID has a zero before it
    items = []
    for _ in range(number * (kind - 3)):
        item, at = _item(data, at, depth - 1)
        items.append(item)
    return (dict(zip(items[::2], items[1::2], strict=True)) if kind == 5 else items), at
