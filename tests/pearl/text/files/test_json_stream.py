from __future__ import annotations

import io
import json

import pytest

from pearl.errors import InputError
from pearl.text.files.json_stream import CHUNK_BYTES, JsonStream, as_object


def elements(text: str | bytes, member: str | None = None) -> list[object]:
    return list(JsonStream(io.BytesIO(text if isinstance(text, bytes) else text.encode())).array(member))


@pytest.mark.parametrize("value", [[], [1], [{"a": 1}, {"b": [2]}], ["é", None, 2.5, True]])
def test_an_array(value):
    assert elements(json.dumps(value)) == value
    assert elements("\ufeff " + json.dumps(value, indent=2) + "\n") == value


def test_a_member_of_an_object():
    text = json.dumps({"guild": {"id": "1"}, "count": 12, "messages": [{"id": 1}, {"id": 2}], "end": 3})
    assert elements(text, "messages") == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize("width", range(CHUNK_BYTES - 12, CHUNK_BYTES + 12))
def test_elements_across_the_chunks(width):
    value = ["x" * width, 1234567, -2.5e30, {"é": "ü" * 10}, 98765]
    assert elements(json.dumps(value, ensure_ascii=False)) == value


def test_an_element_longer_than_many_chunks():
    value = [{"text": "y" * (CHUNK_BYTES * 9)}, 1]
    assert elements(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an array is missing before the end of the file"),
        ("{}", "an array is missing"),
        ("[1 2]", "a comma or the end of the array is missing before '2]'"),
        ("[1,", "is not JSON"),
        ('[{"a": }]', "is not JSON"),
        ("PK\x03\x04", "an array is missing"),
        ("[" * 200_000, "is not JSON"),
    ],
)
def test_what_is_not_an_array(text, message):
    with pytest.raises(InputError, match=message.replace("[", r"\[")):
        elements(text)


def test_a_member_that_is_not_there():
    with pytest.raises(InputError, match="has no 'messages'"):
        elements('{"a": [1]}', "messages")


def test_elements_before_the_damage_are_read():
    reading = JsonStream(io.BytesIO(b'[{"a": 1}, {"a": ')).array()
    assert next(reading) == {"a": 1}
    with pytest.raises(InputError):
        next(reading)


def test_bytes_that_are_not_utf8_spoil_only_their_text():
    assert elements(b'["caf\xe9", "tea"]') == ["caf\udce9", "tea"]


def test_as_object():
    assert as_object({}) == {}
    with pytest.raises(InputError, match="must be a JSON object, not an array"):
        as_object([])


def test_a_number_of_more_digits_than_python_reads():
    stream = io.BytesIO(b"[1" + b"1" * 8_000 + b', -2, {"a": 3}]')
    assert list(JsonStream(stream).array()) == [float("inf"), -2, {"a": 3}]


@pytest.mark.parametrize("element", ["1", '"1', "[1,"])
def test_a_long_element_is_not_read_again_for_every_chunk(element):
    class Counting(io.BytesIO):
        reads = 0

        def read(self, size=-1):
            self.reads += 1
            return super().read(size)

    stream = Counting(b"[" + element.encode() * CHUNK_BYTES * 60)
    with pytest.raises(InputError):
        list(JsonStream(stream).array())
    assert stream.reads <= 10  # 60 chunks, each time twice as much


def test_an_element_that_is_far_too_long(monkeypatch):
    monkeypatch.setattr("pearl.text.files.json_stream.MAX_ELEMENT_CHARACTERS", CHUNK_BYTES)
    reading = JsonStream(io.BytesIO(b"[1, " + b"1" * CHUNK_BYTES * 4)).array()
    assert next(reading) == 1
    with pytest.raises(InputError, match="an element has more than 65,536 characters"):
        next(reading)


@pytest.mark.parametrize(("name", "kind"), [("[1]", "an array"), ("1", "a number"), ("{}", "an object")])
def test_a_members_name_that_is_no_string(name, kind):
    text = f'{{"a": 1, {name}: [2]}}'
    with pytest.raises(InputError, match=f"a member's name is {kind}"):
        list(JsonStream(io.BytesIO(text.encode())).members())
    with pytest.raises(InputError, match=f"a member's name is {kind}"):
        elements(text, "b")
