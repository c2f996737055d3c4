from __future__ import annotations

import io

import pytest

from pearl.errors import InputError
from service.importing.sources.archive import MAX_FIELD_CHARACTERS, Row, read_rows


def rows(data: bytes, *required: str) -> list[Row]:
    return list(read_rows(io.BytesIO(data), required))


def test_rows_know_the_line_they_start_on():
    data = b'\xef\xbb\xbfid,body\r\n1,"two\r\nlines"\r\n\r\n2,three\r\n'
    assert rows(data, "id") == [(2, {"id": "1", "body": "two\r\nlines"}), (5, {"id": "2", "body": "three"})]


def test_short_and_long_rows():
    assert [row for _, row in rows(b"a,b\n1\n1,2,3\n")] == [{"a": "1", "b": ""}, {"a": "1", "b": "2"}]


def test_a_missing_column():
    with pytest.raises(InputError, match="no column 'body'"):
        rows(b"id,text\n", "id", "body")
    with pytest.raises(InputError, match="no column 'id'"):
        rows(b"", "id")


def test_a_field_that_is_far_too_long_costs_only_its_row():
    found = rows(b"id\n" + b"x" * (MAX_FIELD_CHARACTERS + 1) + b"\n2\n")
    assert isinstance(found[0][1], InputError)
    assert found[-1][1] == {"id": "2"}


def test_bytes_that_are_not_utf8():
    assert rows(b"id\ncaf\xe9\n")[0][1] == {"id": "caf\udce9"}


def test_a_file_that_ends_within_quotes_gives_no_half_text():
    (_, whole), (_, cut) = rows(b'id,body\n1,whole\n2,"half a te')
    assert whole == {"id": "1", "body": "whole"}
    assert isinstance(cut, InputError)
    assert cut.message.startswith("is not CSV: a cell begins with a quote, and none closes it. Put a cell with")


def test_a_stray_quote_is_told_with_both_lines():
    (line, stray), (_, whole) = rows(b'id,body\n1,"She said\n"yes" and went"\n2,whole\n')
    assert isinstance(stray, InputError)
    assert (line, whole) == (2, {"id": "2", "body": "whole"})
    assert stray.message.startswith("is not CSV: on line 3, no comma follows the quote that closes a cell. Put")
