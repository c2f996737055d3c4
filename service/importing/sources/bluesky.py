"""Bluesky: the posts of an account, from the CAR file that the app exports or from a folder of JSON files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

import orjson

from pearl.errors import InputError
from pearl.text.files.json_stream import as_object
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import (
    Archive,
    DiskIndex,
    check_strings,
    list_or_empty,
    object_or_empty,
    string_or_none,
)
from service.importing.sources.base import LeftOut, Options
from service.importing.sources.car import blocks, decoded
from service.importing.sources.posts import Placed, Post, PostImporter

POST = "app.bsky.feed.post"
TYPES = {b"e$typerapp.bsky.feed.post": True, b"e$typetapp.bsky.feed.repost": False}  # in a block; True: to be read
LINK = "app.bsky.richtext.facet#link"
NODE = b"\xa2ae"  # with which a node of the tree of keys begins: a map of two, of which "e" is the first
MOST_BYTES = 4_000_000  # of a record's file
MOST_KEY = 1_024  # bytes; of what a key shares with the one before it, each may have as much again


class BlueskyImporter(PostImporter):
    name = "bluesky"
    summary = "Bluesky's export of your posts: a CAR file, or a folder of records as JSON."
    examples = ("pearl import bluesky repo.car --user ann --voice social",)
    patterns = ("*.car", f"{POST}/*.json")
    missing = f"is not Bluesky's export; there is neither a .car file nor a folder {POST} in it."

    def posts(self, archive: Archive, name: str, options: Options) -> Iterator[Placed]:
        if not name.lower().endswith(".car"):
            with archive.open(name, options.advance) as stream:
                yield f"{archive.where(name)}:1", _record(stream.read(MOST_BYTES), _address(PurePosixPath(name)))
            return
        with DiskIndex() as addresses:
            owner = _read_tree(archive, name, addresses)
            with archive.open(name, options.advance) as stream:
                for number, (cid, block) in enumerate(blocks(stream)):
                    where = f"{archive.where(name)}:{number}"
                    written = next((own for mark, own in TYPES.items() if mark in block), None)
                    if written:
                        yield where, _record(block, f"at://{owner}/{addresses.get(cid.hex()) or cid.hex()}")
                    elif written is False:
                        yield where, LeftOut("", "shared from others")


def _address(path: PurePosixPath) -> str:
    """Make a record's ``at://`` address from the path of its file: did/app.bsky.feed.post/key.json."""
    return f"at://{path.parent.parent.name.replace('_', ':')}/{POST}/{path.stem}"


def _read_tree(archive: Archive, name: str, addresses: DiskIndex) -> str:
    """Store each post's key in ``addresses`` under its content id (CID), and return the account's id. In a node of the
    tree a key is written as the number of bytes shared with the key before it, and the remaining bytes."""
    root, owner = None, ""
    with archive.open(name) as stream:
        for cid, block in blocks(stream):
            root = root or cid
            try:
                if block.startswith(NODE):
                    key = b""
                    for entry in decoded(block)["e"]:
                        key = (key[: entry["p"]] + entry["k"])[:MOST_KEY]
                        if key.startswith(POST.encode()):
                            addresses.put(entry["v"].hex(), key.decode())
                elif cid == root and block:
                    owner = str(decoded(block)["did"])
            except (KeyError, TypeError, AttributeError, UnicodeDecodeError):
                raise InputError("has a damaged block.", code="invalid_cbor") from None
    return owner


def _record(content: bytes, address: str) -> Post | LeftOut | InputError:
    try:
        record = as_object(orjson.loads(content) if content[:1] == b"{" else decoded(content))
        check_strings(record, "text", "createdAt")
        reply = object_or_empty(record.get("reply"))
        answers, first = (string_or_none(object_or_empty(reply.get(part)).get("uri")) for part in ("parent", "root"))
        other = answers.removeprefix("at://").partition("/")[0] if answers else None
        return Post(
            address,
            parse_timestamp(record["createdAt"], param="createdAt"),
            _with_links(record["text"], record.get("facets")).strip(),
            answers,
            other if other != address.removeprefix("at://").partition("/")[0] else None,
            first,
        )
    except orjson.JSONDecodeError as error:
        return InputError(f"is not JSON: {error}", code="invalid_json")
    except InputError as error:
        return error


def _with_links(text: str, facets: Any) -> str:
    """Replace shortened links by their full addresses. ``facets``: the links, with positions in bytes of UTF-8."""
    data = text.encode(errors="replace")
    links = []
    for facet in list_or_empty(facets):
        with suppress(KeyError, TypeError):  # of a facet in another form
            start, end = facet["index"]["byteStart"], facet["index"]["byteEnd"]
            links += [(start, end, each["uri"].encode()) for each in facet["features"] if each["$type"] == LINK]
    for start, end, uri in sorted(links, reverse=True):
        if data[start:end].endswith((b"...", "\N{HORIZONTAL ELLIPSIS}".encode())):
            data = data[:start] + uri + data[end:]
    return data.decode(errors="replace")
