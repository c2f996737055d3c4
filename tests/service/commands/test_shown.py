from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from pearl.errors import InputError
from service.commands.shown import confirm, excerpt, moment, show_table


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Short.", "Short."),
        ("two\n\n  lines", "two lines"),
        ("twenty characters ab", "twenty characters ab"),
        ("twenty-one characters", "twenty-one…"),
        ("cut exactly at a word's end", "cut exactly at a…"),
        ("Donaudampfschifffahrtsgesellschaft", "Donaudampfschifffah…"),
        ("# メモ 佐藤さん、こんにちは。会議室の鍵", "# メモ 佐藤さん…"),
        ("สวัสดีครับคุณนก ช่วยเอากุญแจห้องประชุมมาด้วย", "สวัสดีครับคุณนก ช่วยเอา…"),
        ("twenty ok letters 👩🏾‍🚀👩🏾‍🚀", "twenty ok letters…"),
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


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo"])
def test_the_first_moment_of_all_is_shown_everywhere(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert moment(-62_135_596_800).startswith("0001-01-01 ")
    monkeypatch.undo()
    time.tzset()


def test_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    confirm("Delete it?", yes=True)
    with pytest.raises(InputError, match="Delete it\\? Nobody can be asked here; give --yes"):
        confirm("Delete it?", yes=False)


KEYS = [
    (
        "key_01a208881eac48a1e0176e926930",
        "2026-11-23 13:11",
        "-",
        "I heard that the rails are behind the curtain, and that Nan has them.",
    ),
    ("key_01a2088b12aa370a757aadc89ec7", "2026-11-23 13:14", "me", "She says not."),
]


@pytest.fixture
def table_at(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[int], list[str]]:
    """The lines of a table of texts on a terminal of so many characters."""

    def shown(width: int) -> list[str]:
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(width))
        show_table(("id", "last used", "of", "text"), KEYS)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return shown


def test_a_narrow_terminal_breaks_long_texts_alone(table_at: Callable[[int], list[str]]) -> None:
    assert table_at(80)[1:4] == [
        "key_01a208881eac48a1e0176e926930  2026-11-23 13:11  -   I heard that the rails",
        "                                                        are behind the curtain,",
        "                                                        and that Nan has them.",
    ]


def test_a_narrower_one_gets_fields(table_at: Callable[[int], list[str]]) -> None:
    assert table_at(71)[:5] == [
        "id:           key_01a208881eac48a1e0176e926930",
        "last used:    2026-11-23 13:11",
        "of:           -",
        "text:         I heard that the rails are behind the curtain, and that Nan has them.",
        "",
    ]
