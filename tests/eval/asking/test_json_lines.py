from __future__ import annotations

import gzip
from dataclasses import dataclass

import pytest

from eval.asking.json_lines import check_fields, optional_id, optional_string, read_items, read_lines, write_lines
from pearl.errors import InputError


@dataclass(frozen=True)
class Item:
    id: str | None
    text: str | None
    line: int


def parse(value, number):
    check_fields(value, "text")
    return Item(optional_id(value), optional_string(value, "text"), number)


FIELDS = frozenset({"id", "text"})


def test_what_nobody_knows_is_counted(tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_text('{"id": 1, "text": "a", "z": 0, "y": 0}\n\n{"text": null, "z": 0}\n')
    found = read_items(path, FIELDS, parse)
    assert found.parsed == (Item("1", "a", 1), Item(None, None, 3))
    assert found.passed_over == {"y": 1, "z": 2}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ": there is no item in it."),
        ('{"text": "a"}\n{"id": "a"}', ":2: text: is missing; the line has id."),
        ("{}", ":1: text: is missing; the line has no field."),
        ('{"text": 1}', ":1: text: must be a string, not a number."),
        ('{"id": "a", "text": ""}\n{"text": ""}\n{"id": "a", "text": ""}', ":3: id: 'a' is on line 1 already."),
        ('{"text": "a"}\n["a"]', ":2: must be a JSON object, not an array"),
    ],
)
def test_the_first_bad_line_is_named(tmp_path, text, complaint):
    path = tmp_path / "items.jsonl"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_items(path, FIELDS, parse)
    assert caught.value.message == f"{path}{complaint}"


def test_records_may_share_an_id(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"id": "a", "text": ""}\n' * 2)
    assert len(read_lines(path, FIELDS, parse, "record").parsed) == 2


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "items.jsonl"
    write_lines(path, ({"id": name, "text": "Grüße\nauch"} for name in "ab"), called=str(path))
    assert "Grüße" in path.read_text(encoding="utf-8")
    assert read_items(path, FIELDS, parse).parsed == (Item("a", "Grüße\nauch", 1), Item("b", "Grüße\nauch", 2))


def test_a_name_that_ends_in_gz_is_a_gzipped_file(tmp_path):
    path = tmp_path / "items.jsonl.gz"
    write_lines(path, [{"id": "a", "text": "Grüße"}], called=str(path))
    assert gzip.decompress(path.read_bytes()).decode() == '{"id": "a", "text": "Grüße"}\n'
    assert read_items(path, FIELDS, parse).parsed == (Item("a", "Grüße", 1),)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "items.jsonl"
    write_lines(path, [{"id": "before"}], called=str(path))

    def interrupted():
        yield {"id": "after"}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_lines(path, interrupted(), called=str(path))
    assert path.read_text() == '{"id": "before"}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written(tmp_path):
    path = tmp_path / "none" / "items.jsonl"
    with pytest.raises(InputError) as caught:
        write_lines(path, [], called=f"--judgements {path}")
    assert caught.value.message == f"--judgements {path}: No such file or directory"
