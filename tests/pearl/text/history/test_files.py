from __future__ import annotations

import gzip
import io
import json
import os
import tracemalloc
import zipfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.history.files import (
    MAX_LINE_BYTES,
    JsonLine,
    format_line,
    parse_document,
    read_histories,
    read_json_lines,
)

GOOD = {"user_id": "ann", "id": "m1", "timestamp": 1_700_000_000, "text": "Dear Bo"}


@pytest.fixture
def read(tmp_path):
    """Write bytes to a file and read its lines; every reading must account for every byte of the file."""

    def of(content: bytes) -> list[JsonLine]:
        path = tmp_path / "history.jsonl"
        path.write_bytes(content)
        advanced: list[int] = []
        lines = list(read_json_lines(path, advanced.append))
        assert sum(advanced) == len(content)
        return lines

    return of


def problem(line: JsonLine) -> str:
    assert isinstance(line.value, InputError)
    return f"{line.value.code}: {line.value.message}"


LINES = b'{"a": 1}\n{"a": 2}\n'
SHORT, LONG = LINES, b"".join(b'{"a": "%s"}\n' % os.urandom(50).hex().encode() for _ in range(3000))


@pytest.mark.parametrize("content", [SHORT, LONG, SHORT.rstrip(), LONG.rstrip(), SHORT.replace(b"\n", b"\r\n")])
@pytest.mark.parametrize(
    "pack",
    [
        bytes,
        gzip.compress,
        lambda content: gzip.compress(content) + gzip.compress(b"\n"),
        lambda content: content.decode().encode("utf-16"),
        lambda content: gzip.compress(BOM_UTF16_BE + content.decode().encode("utf-16-be")),
    ],
)
def test_plain_or_compressed(read, content, pack):
    lines = read(pack(content))
    assert [line.value for line in lines] == [json.loads(line) for line in content.splitlines()]
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))


@pytest.mark.parametrize("content", [b"", b"\n\n  \n\r\n", gzip.compress(b"", mtime=0), b"\xef\xbb\xbf"])
def test_nothing_in_it(read, content):
    assert read(content) == []


def test_blank_lines_are_passed_over_but_counted(read):
    assert read(b'\n  \n{"a": 1}\n\n{"a": 2}') == [JsonLine(3, {"a": 1}), JsonLine(5, {"a": 2})]


def test_a_byte_order_mark(read):
    assert read(b"\xef\xbb\xbf" + LINES) == [JsonLine(1, {"a": 1}), JsonLine(2, {"a": 2})]


def test_separators_within_a_text_end_no_line(read):
    text = "one\u2028two\x85three\u2029"
    line = json.dumps({"text": text}, ensure_ascii=False)
    assert read(line.encode()) == read(line.encode("utf-16")) == [JsonLine(1, {"text": text})]


@pytest.mark.parametrize("content", [SHORT, gzip.compress(SHORT, mtime=0), SHORT.decode().encode("utf-16"), b"", b"\n"])
def test_a_pipe(piped, content):
    assert [line.value for line in read_json_lines(piped(content))] == [{"a": 1}, {"a": 2}] * (len(content) > 1)


def test_utf16_with_half_a_character(read, tmp_path):
    long = "\N{GRINNING FACE}" * 50_000  # longer than what is read at once
    lines = json.dumps({"a": long}, ensure_ascii=False) + '\n{"a": "\ud83d"}\n{"a": 1}'
    first, bad, last = read(BOM_UTF16_LE + lines.encode("utf-16-le", "surrogatepass"))
    assert (first.value, last.value) == ({"a": long}, {"a": 1})
    assert problem(bad) == "invalid_json: is not UTF-8 (byte 8 of the line)"
    path = tmp_path / "cut.jsonl"
    path.write_bytes(SHORT.decode().encode("utf-16")[:-1])
    with pytest.raises(InputError, match="it ends within a character of UTF-16"):
        list(read_json_lines(path))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{'a': 1}", "invalid_json: is not JSON: .* \\(column 2\\)"),
        (b'{"a": 1', "invalid_json: is not JSON: .* \\(column 8\\)"),
        (b'{"a": 1} {"a": 2}', "invalid_json: is not JSON: .* \\(column 10\\)"),
        (b'{"a": NaN}', "invalid_json: is not JSON: NaN and infinity are no numbers there"),
        (b'{"a": "\xe9t\xe9"}', "invalid_json: is not UTF-8 \\(byte 8 of the line\\)"),
        (b"[1, 2]", "wrong_type: must be a JSON object, not an array"),
        (b"null", "wrong_type: must be a JSON object, not null"),
        (b'"text"', "wrong_type: must be a JSON object, not a string"),
        (b'{"a":' * 2000, "invalid_json: is not JSON"),
    ],
)
def test_a_line_that_is_no_object_and_the_good_ones_around_it(read, line, why):
    before, bad, after = read(b'{"a": 1}\n' + line + b'\n{"a": 2}\n')
    assert (before, after) == (JsonLine(1, {"a": 1}), JsonLine(3, {"a": 2}))
    assert bad.number == 2
    with pytest.raises(InputError, match=why.split(": ", 1)[1]):
        raise bad.value
    assert problem(bad).startswith(why.split(": ", 1)[0])


def test_a_binary_file_is_no_line_and_takes_no_memory(tmp_path):
    path = tmp_path / "huge.jsonl"
    with path.open("wb") as file:
        file.truncate(8 * MAX_LINE_BYTES)  # zeros without a line break
        file.seek(0, io.SEEK_END)
        file.write(b'\n{"a": 1}\n')
    tracemalloc.start()
    bad, good = read_json_lines(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem(bad).startswith("line_too_long")
    assert good == JsonLine(2, {"a": 1})
    assert peak < 5 * MAX_LINE_BYTES


def zipped() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("history.jsonl", LINES)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(LONG, mtime=0)[:-500],  # cut off
        gzip.compress(LONG, mtime=0)[:-4],
        gzip.compress(LONG, mtime=0) + b"junk",
        b"\x1f\x8b",
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xff\xff\xff\xff",  # no deflate block has this type
    ],
)
def test_a_compressed_file_that_is_broken(tmp_path, content):
    path = tmp_path / "history.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"history\.jsonl\.gz: cannot be read: ") as caught:
        list(read_json_lines(path))
    assert caught.value.code == "unreadable_file"


def test_an_archive_of_another_kind(read):
    assert problem(read(zipped())[0]).startswith("invalid_json")


def test_a_file_that_is_not_there_or_a_folder(tmp_path):
    for path in (tmp_path / "nothing.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot be read") as caught:
            list(read_json_lines(path))
        assert caught.value.code == "unreadable_file"


def test_reading_may_stop_early(tmp_path):
    path = tmp_path / "history.jsonl.gz"
    path.write_bytes(gzip.compress(LONG))
    lines = read_json_lines(path)
    assert next(lines).number == 1
    lines.close()  # a file left open would be a warning, and warnings are errors


def test_a_document():
    value = {**GOOD, "request": "Answer Bo", "voice": "email", "anything": "else"}
    assert parse_document(value) == Document("m1", "Dear Bo", 1_700_000_000.0, "Answer Bo", "email")


@pytest.mark.parametrize("empty", [None, "", "  \n"])
def test_an_empty_request_is_none(empty):
    assert parse_document({**GOOD, "request": empty}).request is None


def test_a_document_without_a_time_where_that_is_allowed():
    value = {name: GOOD[name] for name in ("id", "text")}
    assert parse_document(value, timestamp_required=False).timestamp is None
    with pytest.raises(InputError, match="'timestamp' is missing"):
        parse_document(value)


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"id": None}, "id", "missing_field"),
        ({"text": None}, "text", "missing_field"),
        ({"timestamp": None}, "timestamp", "missing_field"),
        ({"id": ""}, "id", "invalid_id"),
        ({"id": 1.5}, "id", "wrong_type"),
        ({"text": 5}, "text", "wrong_type"),
        ({"text": " "}, "text", "empty_text"),
        ({"text": "a\0"}, "text", "nul_character"),
        ({"timestamp": "soon"}, "timestamp", "invalid_timestamp"),
        ({"timestamp": 1e12}, "timestamp", "invalid_timestamp"),
        ({"timestamp": 4e9}, "timestamp", "future_timestamp"),
        ({"request": 5}, "request", "wrong_type"),
        ({"request": "a\0"}, "request", "nul_character"),
        ({"voice": ""}, "voice", "invalid_id"),
        ({"voice": ["email"]}, "voice", "wrong_type"),
        ({"recipient": "a@x.org, b@x.org"}, "recipient", "several_recipients"),
        ({"thread": "a\tb"}, "thread", "invalid_id"),
    ],
)
def test_a_document_that_is_wrong_somewhere(change, param, code):
    with pytest.raises(InputError) as caught:
        parse_document({**GOOD, **change}, now=1.8e9)
    assert (caught.value.param, caught.value.code) == (param, code)


@pytest.mark.parametrize(
    "document",
    [
        Document("m1", "Zwei\nZeilen \u2028 \U0001f600", 1.5, "q", "v"),
        Document("m2", "a text", 0.0),
        Document("m3", "a text", 0.0, recipient="nan@example.org", thread="rails"),
    ],
)
def test_a_written_line_reads_back_the_same(read, document):
    line = format_line("ann", document)
    assert "\n" not in line
    (found,) = read(line.encode())
    assert isinstance(found.value, dict)
    assert found.value["user_id"] == "ann"
    assert parse_document(found.value) == document


def owned(user: str, id: str, text: str) -> dict[str, Any]:
    return {"user_id": user, "id": id, "text": text}


def test_a_document_that_is_there_twice_counts_once(write_lines):
    path = write_lines([owned("ann", "a", "one"), owned("ben", "a", "two"), owned("ann", "a", "one")])
    histories = read_histories(path)
    assert {user: [each.text for each in own] for user, own in histories.items()} == {"ann": ["one"], "ben": ["two"]}


@pytest.mark.parametrize("user", [{}, {"user_id": None}])
def test_a_text_of_nobody(write_lines, user):
    path: Path = write_lines([owned("ann", "a", "one"), {**user, "id": "b", "text": "two"}])
    with pytest.raises(InputError, match=r":2: user_id: 'user_id' is missing\."):
        read_histories(path)


def test_two_texts_by_one_id(write_lines):
    path: Path = write_lines([owned("ann", "a", "one"), owned("ann", "a", "two")])
    with pytest.raises(InputError, match=r":2: id: is 'a', as another document of user 'ann' is"):
        read_histories(path)


def test_a_packed_file_that_unpacks_to_too_much_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("pearl.text.history.files.TRAP_BYTES", 1_000_000)
    path = tmp_path / "trap.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"a": 1}\n' * 2_000_000))
    lines = read_json_lines(path)
    assert next(lines).value == {"a": 1}
    with pytest.raises(InputError, match="unpacks to more than 200 times its packed size"):
        list(lines)
