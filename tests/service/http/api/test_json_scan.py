from __future__ import annotations

import json
from typing import Any

import pytest

from pearl.errors import Malformed, TooLarge
from service.http.api.bodies import JsonLimits, JsonScan

WIDE = JsonLimits(values=1000, fields=1000, depth=1000)


def scan(body: bytes, limits: JsonLimits = WIDE, step: int | None = None) -> None:
    scanning = JsonScan(limits)
    for start in range(0, len(body), step or len(body)):
        scanning.feed(body[start : start + (step or len(body))])


def refused(body: bytes, limits: JsonLimits, step: int | None = None) -> str | None:
    try:
        scan(body, limits, step)
    except (TooLarge, Malformed) as error:
        return error.code
    return None


HARMLESS: list[Any] = [
    {},
    [],
    "a",
    5,
    {"a": "[[[[{{{{,,,,"},
    {"a": '"[,{\\"[,{', "b\\": "\\\\", "c": "\\"},
    {"a\\\\": '\\"', "é☃": "☃\n"},
    [[1, 2], {"x": {"y": []}}, "]]]"],
]


@pytest.mark.parametrize("step", [1, 2, 3, 7, None])
@pytest.mark.parametrize("value", HARMLESS, ids=str)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_stands_in_strings_does_not_count(value: Any, step: int | None, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert refused(body, JsonLimits(values=9, fields=3, depth=4), step) is None


@pytest.mark.parametrize("step", [1, 5, None])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[" * 9, "too_deep"),
        (b'{"a":' * 9, "too_deep"),
        (b'{"a\\"":[' * 9, "too_deep"),
        (b"[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]", "too_many_values"),
        (b"[[],[],[],[],[],[],[],[],[],[],[]]", "too_many_values"),
        (b'["' + b'","' * 20 + b'"]', "too_many_values"),
        (b'""' * 60, "too_many_values"),  # no commas, but nothing that could be parsed either
        (b'{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0}', "too_many_values"),
        (b'[{"a":0},{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0}]', "too_many_values"),
        (b"[]]", "invalid_json"),
        (b"]" * 1000, "invalid_json"),
        (b"}" * 1000, "invalid_json"),
    ],
    ids=str,
)
def test_too_much(body: bytes, code: str, step: int | None) -> None:
    assert refused(body, JsonLimits(values=20, fields=5, depth=8), step) == code


def test_the_limits_themselves_are_allowed() -> None:
    limits = JsonLimits(values=20, fields=5, depth=8)
    assert refused(b"[" * 8 + b"]" * 8, limits) is None
    assert refused(b'{"a":0,"b":0,"c":0,"d":0,"e":0}', limits) is None
    assert refused(b"[" + b",".join([b"0"] * 20) + b"]", limits) is None


def test_it_stops_at_the_first_piece_that_is_too_much() -> None:
    scanning = JsonScan(JsonLimits(values=1000))
    with pytest.raises(TooLarge):
        scanning.feed(b'{"request":[' + b"[]," * 5_000_000)
