from __future__ import annotations

import pytest

from service.importing.sources.mails.headers import decode_words, parameter, parse_sender, split_header


@pytest.mark.parametrize(
    ("raw", "fields", "body"),
    [
        (b"A: 1\nB: 2\n\nText\n", {"a": "1", "b": "2"}, b"Text\n"),
        (b"A: 1\r\n two\r\n\r\nText", {"a": "1 two"}, b"Text"),
        (b"A: 1\nA: 2\n", {"a": "1"}, b""),
        (b"\nText", {}, b"Text"),
        (b"Text without a header", {}, b"Text without a header"),
        (b"A: 1\nnot a field\nText", {"a": "1"}, b"not a field\nText"),
        (b"From ann Mon\nA: 1\n\nText", {"a": "1"}, b"Text"),
        (b"A: caf\xc3\xa9 \xff\n\n", {"a": "café \N{REPLACEMENT CHARACTER}"}, b""),
        (b"", {}, b""),
    ],
)
def test_the_fields_and_the_body(raw, fields, body):
    assert split_header(raw) == (fields, body)


def test_of_many_references_the_last_stay():
    references = " ".join(f"<{number}@example.org>" for number in range(1_000))
    fields, _ = split_header(f"References: {references}\nSubject: {'x' * 9_000}\n\n".encode())
    assert fields["references"].endswith("<999@example.org>")
    assert len(fields["subject"]) == 4_000


@pytest.mark.parametrize(
    ("value", "sender"),
    [
        ("Ann Lee <ann@example.org>", ("Ann Lee", "ann@example.org")),
        ("ann@example.org (Ann Lee)", ("Ann Lee", "ann@example.org")),
        ("ann at example.org (Ann Lee)", ("Ann Lee", "ann@example.org")),
        ('"Lee, Ann (tea)" <ann@example.org>, Bob <bob@example.org>', ("Lee, Ann (tea)", "ann@example.org")),
        ("ann@example.org, bob@example.org", ("", "ann@example.org")),
        ("Ann (the (older) one) Lee <ann@example.org>", ("Ann Lee", "ann@example.org")),
        ("=?iso-8859-1?Q?=C4nne?=\t=?utf-8?b?IExlZQ==?= <a@example.org>", ("Änne Lee", "a@example.org")),
        ("Ann Lee", ("Ann Lee", "")),
        ("", ("", "")),
        ("(" * 1_000, ("", "")),
        ("[" * 1_000 + "a@example.org", ("", "[" * 1_000 + "a@example.org")),
        ("<" * 1_000, ("<" * 1_000, "")),
    ],
)
def test_senders(value, sender):
    assert parse_sender(value) == sender


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("=?utf-8?q?two_words?= and =?utf-8?b?w7xiZXI=?=", "two words and über"),
        ("=?utf-8?q?one?= =?utf-8?q?_word?=", "one word"),
        ("=?utf-8*en?q?tea?=", "tea"),
        ("=?no end", "=?no end"),
        ("=?utf-8?b?A?=", "=?utf-8?b?A?="),
        ("=?utf-8?b?44GK44E=?= =?UTF-8?b?oeOChA==?=", "お\u3061\u3084"),
        ("=?utf-8?q?Th=C3?= =?utf-8?b?qQ==?= =?iso-8859-1?q?_=E9?= a", "Thé é a"),
    ],
)
def test_encoded_words(value, text):
    assert decode_words(value) == text


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("multipart/mixed; boundary=B", "B"),
        ('multipart/mixed; charset=utf-8;\tboundary="a b; c"', "a b; c"),
        ("multipart/mixed; BOUNDARY = B ;x=y", "B"),
        ("multipart/mixed", None),
        ('multipart/mixed; boundary="', ""),
        ('multipart/mixed; boundary*1="two; "; boundary*0="one "; boundary*2=three', "one two; three"),
        ("multipart/mixed; boundary*=us-ascii'en'a%20b; boundary=B", "a b"),
        ("multipart/mixed; boundary*0*=us-ascii''a%20b; boundary*1=%20c", "a b%20c"),
        ("multipart/mixed; boundary*x=B", "B"),
    ],
)
def test_parameters(value, found):
    assert parameter(value, "boundary") == found
