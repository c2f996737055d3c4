from __future__ import annotations

import pytest

from service.importing.sources.mails.parts import MAX_DEPTH, MAX_PARTS, parts_of, text_of, unflow


def nested(depth: int) -> bytes:
    header = 'Content-Type: multipart/mixed; boundary="B{}"\n\n'
    return "".join(f"{header.format(level)}--B{level}\n" for level in range(depth)).encode() + b"\nTea."


def test_parts_within_parts():
    (part,) = parts_of(nested(MAX_DEPTH))
    assert (part.kind, part.body) == ("text/plain", b"Tea.")


HEAD = b"Content-Type: multipart/mixed; boundary=B\n\n"
BAD = b"Content-Transfer-Encoding: base64\n\nVGVhP\n"


@pytest.mark.parametrize(
    ("raw", "read", "flaw"),
    [
        (nested(1_500), 0, "its parts are nested more than 20 deep."),
        (HEAD + b"--B\n\nx\n" * (2 * MAX_PARTS), MAX_PARTS, "it has more than 1,000 parts."),
        (HEAD + b"--B\n\nTea.\n--B\n" + BAD + b"--B--\n", 1, "a part of it is in damaged base64."),
        (HEAD + b"--B\n\nTea.\n--B\n" + HEAD + b"--B--\n", 1, "its parts are missing."),
        (HEAD + b"This is a multi-part message in MIME format.\n", 0, "its parts are missing."),
    ],
)
def test_a_part_that_cannot_be_read_has_a_flaw_and_the_others_are_read(raw, read, flaw):
    parts = parts_of(raw)
    assert [part.flaw for part in parts if part.flaw] == [flaw]
    assert sum(not part.flaw for part in parts) == read


def test_the_closing_mark_ends_the_parts():
    raw = b"Content-Type: multipart/mixed; boundary=B\n\npreamble\n--B\n\nTea.\n--B--\nepilogue\n--B\n\nno part"
    assert [part.body for part in parts_of(raw)] == [b"Tea."]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (["text/plain\n\nplain", "text/html\n\n<p>html</p>"], "plain"),
        (["text/html\n\n<p>html</p>", "text/plain\n\nplain"], "plain"),
        (["text/plain\n\n ", "text/html\n\n<p>html</p>"], "html"),
        (["text/html\n\n<p>html</p>", "text/html\n\n<p>other</p>"], "html"),
        (["image/png\n\nx"], ""),
        (['text/plain; name="log.txt"\n\nlog', "text/plain\n\nplain"], "plain"),
    ],
)
def test_one_of_several_alternatives(parts, text):
    body = "".join(f"--B\nContent-Type: {part}\n" for part in parts)
    raw = f"Content-Type: multipart/alternative; boundary=B\n\n{body}--B--\n"
    assert text_of(parts_of(raw.encode())) == text


def test_the_mails_in_a_digest_are_no_text_of_its_sender():
    digest = "Content-Type: multipart/digest; boundary=D\n\n--D\n\nFrom: bob@example.org\n\nmarmalade\n--D--\n"
    raw = f"Content-Type: multipart/mixed; boundary=B\n\n--B\n\nSee these.\n--B\n{digest}--B--\n"
    assert text_of(parts_of(raw.encode())) == "See these."


def test_a_text_behind_a_large_picture_in_html():
    html = f'<p>Look:</p><img src="data:image/png;base64,{"iVBORw0K" * 150_000}"><p>The jars.</p>'
    assert text_of(parts_of(f"Content-Type: text/html\n\n{html}".encode())) == "Look:\n\nThe jars."


def test_flowed_lines():
    assert unflow("a \nb\n> c \n> d\n>> e\n-- \nAnn", delete_space=False) == "a b\n> c d\n>> e\n-- \nAnn"
