"""Bluesky's export: a repository in a CAR file, encoded here by itself, or its records as JSON."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from service.importing.sources.base import LeftOut, Options, load_importer
from service.importing.sources.car import Link, decoded

OWNER, OTHER = "did:plc:ann", "did:plc:bob"
POSTS = f"at://{OWNER}/app.bsky.feed.post"


def encoded(value: Any) -> bytes:
    """DAG-CBOR, whose maps have the shorter keys first."""

    def head(kind: int, number: int) -> bytes:
        for short, (size, form) in enumerate(((0xFF, ">B"), (0xFFFF, ">H"), (0xFFFFFFFF, ">I")), start=24):
            if number < 24:
                return bytes([kind << 5 | number])
            if number <= size:
                return bytes([kind << 5 | short]) + struct.pack(form, number)
        return bytes([kind << 5 | 27]) + struct.pack(">Q", number)

    match value:
        case None | bool():
            return {None: b"\xf6", True: b"\xf5", False: b"\xf4"}[value]
        case Link():
            return b"\xd8\x2a" + head(2, len(value) + 1) + b"\0" + value
        case int():
            return head(0, value) if value >= 0 else head(1, -1 - value)
        case float():
            return b"\xfb" + struct.pack(">d", value)
        case bytes():
            return head(2, len(value)) + value
        case str():
            return head(3, len(value.encode())) + value.encode()
        case list():
            return head(4, len(value)) + b"".join(map(encoded, value))
    items = sorted(value.items(), key=lambda item: (len(item[0].encode()), item[0]))
    return head(5, len(items)) + b"".join(encoded(key) + encoded(each) for key, each in items)


def cid(block: bytes) -> Link:
    return Link(b"\x01\x71\x12\x20" + hashlib.sha256(block).digest())


def section(data: bytes) -> bytes:
    length, size = len(data), b""
    while length > 127:
        size, length = size + bytes([length & 127 | 128]), length >> 7
    return size + bytes([length]) + data


def post(text: str, minute: int, parent: str | None = None, root: str | None = None, **fields: Any) -> dict[str, Any]:
    record = {"$type": "app.bsky.feed.post", "text": text, "langs": ["en"], "createdAt": f"2024-03-01T09:{minute}:00Z"}
    reply = {"root": {"cid": "x", "uri": root or parent}, "parent": {"cid": "x", "uri": parent}}
    return record | ({"reply": reply} if parent else {}) | fields


LINKED = "Tea: example.org/very/lo... and é"
FACETS = [
    {
        "index": {"byteStart": 5, "byteEnd": 27},
        "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://example.org/very/long"}],
    },
    {"index": {"byteStart": 0, "byteEnd": 3}, "features": [{"$type": "app.bsky.richtext.facet#tag", "tag": "tea"}]},
    {"index": 5},
]
RECORDS = {
    "app.bsky.feed.like/3k1": {"$type": "app.bsky.feed.like", "subject": {"uri": f"{POSTS}/3k2", "cid": "x"}},
    "app.bsky.feed.post/3k2": post(LINKED, 10, facets=FACETS),
    "app.bsky.feed.post/3k3": post("More of it", 11, f"{POSTS}/3k2"),
    "app.bsky.feed.post/3k4": post("And more", 12, f"{POSTS}/3k3", f"{POSTS}/3k2"),
    "app.bsky.feed.post/3k5": post("Yes!", 13, f"at://{OTHER}/app.bsky.feed.post/3b1"),
    "app.bsky.feed.post/3k6": post("", 14, embed={"$type": "app.bsky.embed.images", "images": [{"image": cid(b"")}]}),
    "app.bsky.feed.post/3k7": {"$type": "app.bsky.feed.post", "text": "No time"},
    "app.bsky.feed.repost/3k8": {"$type": "app.bsky.feed.repost", "subject": {"uri": "at://x", "cid": "x"}},
}


def repository(records: dict[str, Any] = RECORDS) -> bytes:
    """A tree of two nodes; the order of blocks is that of servers: the commit, then the nodes and records."""
    packed = {key: encoded(record) for key, record in records.items()}
    entries, before = [], b""
    for key, block in packed.items():
        shared = next(n for n in range(len(key), -1, -1) if key.encode()[:n] == before[:n])
        entries.append({"p": shared, "k": key.encode()[shared:], "v": cid(block), "t": None})
        before = key.encode()
    nodes = [encoded({"e": [{**entries[3], "p": 0, "k": list(packed)[3].encode()}, *entries[4:]], "l": None})]
    nodes.insert(0, encoded({"e": [*entries[:2], {**entries[2], "t": cid(nodes[0])}], "l": None}))
    commit = encoded({"did": OWNER, "rev": "3k9", "sig": b"\1\2", "data": cid(nodes[0]), "prev": None, "version": 3})
    header = encoded({"roots": [cid(commit)], "version": 1})
    return section(header) + b"".join(section(cid(each) + each) for each in (commit, *nodes, *packed.values()))


WANTED = [
    ("3k2", "Tea: https://example.org/very/long and é", None, None, "3k2"),
    ("3k3", "More of it", "Tea: https://example.org/very/long and é", None, "3k2"),
    ("3k4", "And more", "More of it", None, "3k2"),
    ("3k5", "Yes!", None, OTHER, f"at://{OTHER}/app.bsky.feed.post/3b1"),
]


def shown(documents: list[Any]) -> list[tuple[Any, ...]]:
    own = f"bluesky:{POSTS}/"
    threads = [(each.thread or "").removeprefix(own).removeprefix("bluesky:") for each in documents]
    rows = [(each.id.removeprefix(own), each.text, each.request, each.recipient) for each in documents]
    return [(*row, thread) for row, thread in zip(rows, threads, strict=True)]


def test_a_repository(read: Any, tmp_path: Path) -> None:
    (tmp_path / "repo.car").write_bytes(repository())
    reading = read("bluesky", tmp_path / "repo.car", voice="social")
    assert shown(reading.documents) == WANTED
    assert reading.documents[0].timestamp == 1_709_284_200
    assert sorted(reading.reasons) == ["missing field", "no text", "shared from others"]


def test_records_as_json(read: Any, tmp_path: Path) -> None:
    for key, record in RECORDS.items():
        path = tmp_path / OWNER.replace(":", "_") / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, default=lambda each: {"$link": each.hex()}))
    (tmp_path / OWNER.replace(":", "_") / "app.bsky.feed.post" / "3k9.json").write_text("{")
    reading = read("bluesky", tmp_path)
    assert shown(reading.documents) == WANTED
    assert sorted(reading.reasons) == ["invalid json", "missing field", "no text"]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (repository()[:-5], "breaks off"),
        (repository()[:700] + b"\x85", "breaks off"),
        (b"\xff\xff\xff\xff\x7f", "more than 4,000,000 bytes"),
        (b"", "not a CAR file"),
        (b"\x7fELF\2\1\1", "breaks off"),
        (section(encoded({"roots": []})), "not a CAR file"),
        (section(encoded({"roots": [cid(b"")]})) + section(cid(b"") + b"\xa2ae\x81\x01al\xf6"), "damaged"),
        (section(encoded({"roots": [cid(b"")]})) + section(cid(b"") + b"\xa2ae" + b"\x81" * 3_000), "damaged"),
    ],
)
def test_what_is_no_repository(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "repo.car").write_bytes(content)
    (error,) = load_importer("bluesky").read(tmp_path / "repo.car", Options(user="ann"))
    assert isinstance(error, LeftOut)
    assert says in str(error.error)


def test_what_is_no_export(read: Any, tmp_path: Path) -> None:
    (tmp_path / "repo.bin").write_bytes(repository())
    with pytest.raises(InputError, match=r"neither a \.car file"):
        read("bluesky", tmp_path)


@pytest.mark.parametrize(
    "value", [0, 23, 24, 255, 65_536, 2**40, -1, -300, 1.5, True, None, "é" * 300, b"\0" * 70_000, [[], {"a": [1, {}]}]]
)
def test_values_of_dag_cbor(value: Any) -> None:
    assert decoded(encoded({"value": value, "link": cid(b"")})) == {"value": value, "link": cid(b"")}


@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"\x9f\x01\xff", b"\x62a", b"\x61\xff", b"\x01\x01", b"\x9b" + b"\xff" * 8, b"\xa1\x80\x01"]
)
def test_what_is_no_dag_cbor(data: bytes) -> None:
    with pytest.raises(InputError, match="damaged"):
        decoded(data)
