from __future__ import annotations

import gzip
import json

import pytest

from pearl.errors import InputError

LINE = {"user_id": "ann", "id": "1", "timestamp": 1_700_000_000, "text": "Tea at four.", "request": "When?"}


def write(path, *lines):
    texts = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(texts) + b"\n")
    return path


def test_a_line_is_a_document(read, tmp_path):
    reading = read("jsonl", write(tmp_path / "h.jsonl", {**LINE, "voice": "chat"}), user=None)
    (found,) = reading.found
    assert (found.user, found.document.id, found.document.text) == ("ann", "1", "Tea at four.")
    assert (found.document.timestamp, found.document.request, found.document.voice) == (1.7e9, "When?", "chat")
    assert found.where == f"{tmp_path}/h.jsonl:1"


def test_gzip(read, tmp_path):
    path = tmp_path / "h.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(LINE).encode()))
    assert read("jsonl", path, user=None).texts == ["Tea at four."]


def test_user_and_voice_are_for_lines_that_name_none(read, tmp_path):
    nameless = {name: value for name, value in LINE.items() if name != "user_id"}
    path = write(tmp_path / "h.jsonl", LINE, nameless, {**LINE, "voice": "mail"})
    reading = read("jsonl", path, user="bob", voice="chat")
    assert [(found.user, found.document.voice) for found in reading.found] == [
        ("ann", "chat"),
        ("bob", "chat"),
        ("ann", "mail"),
    ]


def test_me_keeps_only_the_lines_of_these_users(read, tmp_path):
    reading = read("jsonl", write(tmp_path / "h.jsonl", LINE, {**LINE, "user_id": "bob"}), "BOB", user=None)
    assert [found.user for found in reading.found] == ["bob"]
    assert reading.reasons == ["not written by --me"]


def test_a_line_without_end_takes_no_memory(read, tmp_path, monkeypatch):
    monkeypatch.setattr("pearl.text.history.files.MAX_LINE_BYTES", 1_000)
    path = write(tmp_path / "h.jsonl", LINE, b"x" * 999, b"x" * 1_000, b"x" * 5_000, {**LINE, "id": "5"})
    reading = read("jsonl", path, user=None)
    assert [document.id for document in reading.documents] == ["1", "5"]
    assert [(error.reason, error.where[-2:]) for error in reading.errors] == [
        ("line too long", ":2"),
        ("line too long", ":3"),
        ("line too long", ":4"),
    ]


def test_damaged_gzip(tmp_path, read):
    path = tmp_path / "h.jsonl.gz"
    data = bytearray(gzip.compress(json.dumps(LINE).encode() * 50))
    data[20:40] = b"\xff" * 20
    path.write_bytes(data)
    with pytest.raises(InputError, match="cannot be read"):
        read("jsonl", path)


@pytest.mark.parametrize(
    ("line", "reason", "field"),
    [
        (b"{", "invalid json", None),
        (b"[]", "wrong type", None),
        (b'{"text": "caf\xe9"}', "invalid json", None),
        (b"\x89PNG\x00\x00", "invalid json", None),
        ({**LINE, "user_id": None}, "missing field", "user_id"),
        ({**LINE, "id": None}, "missing field", "id"),
        ({**LINE, "text": None}, "missing field", "text"),
        ({**LINE, "timestamp": None}, "missing field", "timestamp"),
        ({**LINE, "user_id": ["ann"]}, "wrong type", "user_id"),
        ({**LINE, "text": 4}, "wrong type", "text"),
        ({**LINE, "text": "  "}, "empty text", "text"),
        ({**LINE, "text": "a\0b"}, "nul character", "text"),
        ({**LINE, "text": "x" * 1_000_001}, "text too large", "text"),
        ({**LINE, "timestamp": 4e9}, "future timestamp", "timestamp"),
        ({**LINE, "timestamp": "soon"}, "invalid timestamp", "timestamp"),
        ({**LINE, "request": 1}, "wrong type", "request"),
        ({**LINE, "id": "a\nb"}, "invalid id", "id"),
    ],
)
def test_a_bad_line_is_named_and_the_others_stay(read, tmp_path, line, reason, field):
    reading = read("jsonl", write(tmp_path / "h.jsonl", LINE, line, {**LINE, "id": "3"}), user=None)
    assert [document.id for document in reading.documents] == ["1", "3"]
    (error,) = reading.errors
    assert (error.reason, error.field, error.where) == (reason, field, f"{tmp_path}/h.jsonl:2")


def test_lines_of_other_users_than_the_one_that_was_named_are_told(read, write_lines):
    lines = [
        {"user_id": user, "id": str(number), "timestamp": 1, "text": "Tea."}
        for number, user in enumerate(["bob", "bob", "ann"])
    ]
    assert read("jsonl", write_lines(lines), user="ann").remarks == [
        "Its lines name other users than ann, and went to them: bob (2)."
    ]
    assert read("jsonl", write_lines(lines), user=None).remarks == []
