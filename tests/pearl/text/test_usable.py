from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from pearl.errors import InputError, TooLarge
from pearl.text.usable import (
    FUTURE_TOLERANCE_S,
    MAX_ID_LENGTH,
    MAX_TEXT_BYTES,
    check_id,
    check_text,
    counted,
    format_timestamp,
    json_type,
    parse_timestamp,
    printable,
    storable,
)

NOON = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC).timestamp()
LATER = NOON + 86_400


def code_of(function, *args, **options) -> tuple[str, str | None]:
    with pytest.raises(InputError) as caught:
        function(*args, **options)
    assert f"'{caught.value.param}'" in caught.value.message
    return caught.value.code, caught.value.param


@pytest.mark.parametrize("text", ["a", " a ", "שלום", "日本語", "\U0001f600", "a\r\n\tb", "\u202ea", "\ufeffa"])
def test_a_usable_text_stays_as_it_is(text):
    assert check_text(text) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "wrong_type"),
        (7, "wrong_type"),
        (["a"], "wrong_type"),
        ("", "empty_text"),
        (" \n\t\u2003", "empty_text"),
        ("\u200b\u200d \ufeff\u00ad\u2066\u3164\ufe0f\x07", "empty_text"),  # nobody sees any of them
        ("a\0b", "nul_character"),
        ("a\ud83d", "invalid_unicode"),
        ("a" * (MAX_TEXT_BYTES + 1), "text_too_large"),
        ("é" * (MAX_TEXT_BYTES // 2 + 1), "text_too_large"),  # the limit is in bytes
    ],
)
def test_an_unusable_text_is_refused_by_name(text, code):
    assert code_of(check_text, text, param="documents.3.text") == (code, "documents.3.text")


def test_a_text_of_exactly_the_limit():
    assert check_text("a" * MAX_TEXT_BYTES)
    with pytest.raises(TooLarge, match="1,000,001 bytes"):
        check_text("a" * (MAX_TEXT_BYTES + 1))


@pytest.mark.parametrize(
    ("text", "kept"), [("a\0b", "ab"), ("a\ud83db", "a?b"), ("\U0001f600 é\n", "\U0001f600 é\n"), ("\0", "")]
)
def test_of_a_models_text_what_can_be_stored(text, kept):
    assert storable(text) == kept


def test_nothing_of_a_source_controls_the_terminal():
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
def test_hard_spaces_joiners_and_new_emojis_reach_it(text):
    assert printable(text) == text


@pytest.mark.parametrize("character", ["\x7f", "\x9b", "\u2028", "\u2029", "\ud800", "\u202e", "\u2066"])
def test_what_a_terminal_would_obey_does_not(character):
    assert printable(f"a{character}b") == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.parametrize(
    "name",
    ["a", "ann@example.org", "Zoë", "日本", "a b", "x" * MAX_ID_LENGTH, "../etc", "نامه\u200cها", "👩🏾\u200d🚀"],
)
def test_usable_ids(name):
    assert check_id(name) == name


def test_numbers_are_ids_too():
    assert check_id(1234567890123456789) == "1234567890123456789"


@pytest.mark.parametrize(
    "name",
    ["", " a", "a ", "a\n", "a\0", "a\tb", "x" * (MAX_ID_LENGTH + 1), "\u200b", "\u202e", "a\u200cb", "نامه\u200c"],
)
def test_unusable_ids(name):
    assert code_of(check_id, name, param="user") == ("invalid_id", "user")


@pytest.mark.parametrize("name", [None, True, 1.5, ["a"], {}])
def test_what_is_no_id_at_all(name):
    assert code_of(check_id, name) == ("wrong_type", "id")


@pytest.mark.parametrize(
    "value",
    [
        NOON,
        int(NOON),
        "2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00.000Z",
        "2026-03-01t12:00:00z",
        "2026-03-01 12:00:00+00:00",
        "2026-03-01T12:00:00-00:00",
        "2026-03-01T14:00:00+02:00",
        "2026-03-01T06:15:00-0545",
        "2026-03-01T12:00:00",  # without an offset: UTC
        "2026-03-01T12:00",
        "  2026-03-01T12:00:00Z\n",
    ],
)
def test_the_same_moment_in_many_forms(value):
    assert parse_timestamp(value, now=LATER) == NOON


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (0, 0.0),
        (-86_400.5, -86_400.5),
        ("1970-01-01T00:00:00.250Z", 0.25),
        ("1970-01-01T00:00:00.123456789Z", 0.123456),
        ("1970-01-02", 86_400.0),
        ("0001-01-01T00:00:00Z", -62_135_596_800.0),
    ],
)
def test_other_moments(value, seconds):
    assert parse_timestamp(value, now=LATER) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday",
        "2026-02-30T00:00:00Z",
        "2026-03-01T25:00:00Z",
        "2026-03-01T12:00:00+25:00",
        "01.03.2026",
        "20260301",
        "2026-W09-7",
        "1700000000",
        "1712123112345",  # quoted milliseconds, in which Python sees a day of the year 1712
        "２０２６-03-01",
        "0001-01-01T00:00:00+14:00",
        float("nan"),
        float("inf"),
        1e300,
        10**400,
        NOON * 1000,  # milliseconds
        -62_135_596_801,
    ],
)
def test_what_is_no_moment(value):
    assert code_of(parse_timestamp, value, param="timestamp", now=LATER) == ("invalid_timestamp", "timestamp")


def test_milliseconds_are_named():
    with pytest.raises(InputError, match="not milliseconds"):
        parse_timestamp(NOON * 1000)


@pytest.mark.parametrize("value", [None, True, [NOON], {"seconds": 1}])
def test_a_moment_of_the_wrong_type(value):
    assert code_of(parse_timestamp, value) == ("wrong_type", "timestamp")


def test_the_future_begins_after_a_tolerance():
    assert parse_timestamp(NOON + FUTURE_TOLERANCE_S, now=NOON) == NOON + 300
    assert code_of(parse_timestamp, NOON + FUTURE_TOLERANCE_S + 1, now=NOON) == ("future_timestamp", "timestamp")
    assert code_of(parse_timestamp, "9999-12-31T23:59:59Z")[0] == "future_timestamp"
    assert parse_timestamp(time.time())
    with pytest.raises(InputError, match="2026-03-02T12:00:00Z"):
        parse_timestamp(LATER, now=NOON)


def test_a_moment_is_written_as_it_is_read():
    assert format_timestamp(NOON) == "2026-03-01T12:00:00Z"
    assert format_timestamp(0.25) == "1970-01-01T00:00:00.250000Z"
    for seconds in (NOON, 0.25, -1.5, 1_234_567_890.654321):
        assert parse_timestamp(format_timestamp(seconds), now=LATER) == seconds


def test_counts():
    assert [counted(number, "draft") for number in (0, 1, 1234)] == ["0 drafts", "1 draft", "1,234 drafts"]


def test_json_types_by_their_names():
    values = [None, True, 1, 1.5, "a", [], {}, b""]
    assert [json_type(value) for value in values] == [
        "null",
        "a boolean",
        "a number",
        "a number",
        "a string",
        "an array",
        "an object",
        "bytes",
    ]
