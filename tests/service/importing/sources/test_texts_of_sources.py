"""The small helpers that several importers share: ids, requests, quotes, HTML, the index on disk."""

from __future__ import annotations

import re
import sqlite3

import pytest

from pearl.errors import InputError, StoreError
from pearl.text.history.watched import ReadingWatch, watched
from service.importing.sources.archive import DiskIndex
from service.importing.sources.base import MAX_REQUEST, as_request, content_id, stable_id
from service.importing.sources.html_text import html_to_text
from service.importing.sources.quotes import Parts, split_quotes, tidy


def test_a_name_that_can_be_an_id_stays():
    assert stable_id("posts/tea.md") == "posts/tea.md"


@pytest.mark.parametrize("name", ["x" * 201, "two\nlines", " space", "caf\udce9.md", "C1:\ud800"])
def test_a_name_that_cannot_be_an_id_becomes_the_same_digest_each_time(name):
    assert stable_id(name) == stable_id(name)
    assert stable_id(name).startswith("sha256:")
    assert stable_id(name) != stable_id(name + "!")


def test_content_id_tells_contents_apart():
    assert content_id(b"a") != content_id(b"b")


@pytest.mark.parametrize(
    ("text", "request_"),
    [(None, None), ("", None), ("  \n", None), (" Fix it? ", "Fix it?"), ("a\0b", "a b"), ("half \ud83d", "half ?")],
)
def test_as_request(text, request_):
    assert as_request(text) == request_


def test_a_long_request_ends_with_a_whole_word():
    request = as_request("kettle " * 1_000)
    assert request is not None
    assert MAX_REQUEST - 7 <= len(request) <= MAX_REQUEST
    assert request.endswith("kettle")
    assert as_request("x" * 5_000) == "x" * MAX_REQUEST


def test_split_quotes():
    assert split_quotes("Hi\n> old\n> > older\n\n\nmine\n") == Parts("Hi\n\nmine", "old\nolder")


def test_a_mark_that_quotes_all_that_follows():
    every = re.compile(">>> ")
    assert split_quotes("Hi\n>>> old\n\n> older\nmore", mark_of_all=every) == Parts("Hi", "old\n\nolder\nmore")


def test_tidy_keeps_indentation():
    assert tidy(["", "a", "", "", "  b  ", ""]) == "a\n\n  b"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>Hi &amp; bye</p><p>Two</p>", "Hi & bye\n\nTwo"),
        ("one<br>two<br/><br>three", "one\ntwo\n\nthree"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("<ul><li>tea<li>milk</ul>", "- tea\n- milk"),
        ("<ol><li>tea<ul><li>hot</ul><li>milk</ol><ol><li>cup</ol>", "1. tea\n- hot\n2. milk\n1. cup"),
        ("</ol><li>tea</ul>", "- tea"),
        ("<ul>\n<li>\n<p>tea</p>\n</li><li><div>milk</div></li></ul>", "- tea\n\n- milk"),
        ("<ol><li><ul><li>tea</ul><li></ol>", "- tea\n2."),
        ("<p>·<span>&nbsp;&nbsp;&nbsp; </span>tea</p><p>o&nbsp; milk</p><p>o tea</p>", "- tea\n\n- milk\n\no tea"),
        ('tea <img src="x" alt="🍵"> <img alt="cup.png"><img alt=\'👍🏽\'/>', "tea 🍵 👍🏽"),
        ("<blockquote>old<br>news</blockquote>mine", "> old\n> news\nmine"),
        ("<html><head><meta charset=utf-8><title>Tea</title><body><p>seen</html>", "seen"),
        ("<html><head/><body>seen</body></html>", "seen"),
        ("<style>p{}</style><script>x<y</script>seen<!-- not -->", "seen"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("a  lot\n of   <b>space</b>", "a lot of space"),
        ("<![if mso]>word<![endif]>", "word"),
        ("\n<!-- not -->\n<b>\nword", "word"),
        ("caf&eacute;&nbsp;&#233;", "café é"),
        ("</blockquote></pre></style>still", "still"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("", ""),
    ],
)
def test_html_to_text(html, text):
    assert html_to_text(html) == text


def test_the_index_keeps_the_first_text_of_a_key():
    with DiskIndex() as index:
        index.put("a", "first")
        index.put("a", "second")
        index.put("half \ud83d", "half \ud83d")
        assert index.get("a") == "first"
        assert index.get("half \ud83d") == "half ?"
        assert index.get("b") is None


def test_a_full_temporary_folder_is_told():
    with DiskIndex() as index:
        index._database.execute("PRAGMA max_page_count = 2")
        with pytest.raises(StoreError, match="TMPDIR"):
            index.put("a", "x" * 100_000)


def test_the_index_takes_no_more_room_than_many_times_what_was_read(monkeypatch):
    monkeypatch.setattr("service.importing.sources.archive.TRAP_BYTES", 1_000)
    for read, kept in ((0, 9), (1_000, 199)):
        with watched(ReadingWatch(read=read)), DiskIndex() as index:
            for number in range(kept):
                index.put(str(number).zfill(10), "x" * 90)
            with pytest.raises(InputError, match="temporary space"):
                index.put("last", "x" * 200)


def test_the_index_leaves_no_file_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with DiskIndex() as index:
        index.put("a", "b")
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
    with pytest.raises(sqlite3.ProgrammingError):
        index.get("a")
