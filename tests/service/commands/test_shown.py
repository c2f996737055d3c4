from __future__ import annotations

import time

import pytest

from pearl.errors import InputError
from service.commands.shown import confirm, excerpt, moment, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Short.", "Short."),
        ("two\n\n  lines", "two lines"),
        ("twenty characters ab", "twenty characters ab"),
        ("twenty-one characters", "twenty-one…"),
        ("cut exactly at a word's end", "cut exactly at a…"),
        ("Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffah…"),
        ("", ""),
    ],
)
def test_excerpts_end_between_words(text: str, shown: str) -> None:
    assert excerpt(text, 20) == shown


def test_an_excerpt_of_a_long_text() -> None:
    assert excerpt("word " * 100_000, 20) == "word word word word…"
    assert excerpt(" " * 200 + "late", 20) == "…"


def test_moments_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    assert moment(1_700_000_000.5) == "2023-11-15 03:43"
    monkeypatch.undo()
    time.tzset()
    assert moment(None) == "-"


def test_nothing_of_a_source_controls_the_terminal() -> None:
    assert printable("a\x1b[31mb\nc") == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}c"


def test_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    confirm("Delete it?", yes=True)
    with pytest.raises(InputError, match="Delete it\\? Nobody can be asked here; give --yes"):
        confirm("Delete it?", yes=False)
