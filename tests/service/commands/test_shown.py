from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from pearl.errors import InputError
from service.commands.shown import confirm, excerpt, moment, printable, show_table


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


def test_nothing_of_a_source_controls_the_terminal() -> None:
    assert printable("a\x1b[31mb\nc") == "a\N{REPLACEMENT CHARACTER}[31mb\N{REPLACEMENT CHARACTER}c"


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # a family: three people, joined
        "\U0001f3f4\U000e0067\U000e0062\U000e007f",  # a flag, spelt with tags
        "Bonjour\xa0!",
        "10\u202f000",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # Persian, with a joiner that keeps letters apart
        "\u3000\u4f60\u597d",  # a paragraph's indent
        "\U0001f6d8",  # of Unicode 17
    ],
)
def test_hard_spaces_joiners_and_new_emojis_reach_it(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize("character", ["\x7f", "\x9b", "\u2028", "\u2029", "\ud800", "\u202e", "\u2066"])
def test_what_a_terminal_would_obey_does_not(character: str) -> None:
    assert printable(f"a{character}b") == "a\N{REPLACEMENT CHARACTER}b"


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
