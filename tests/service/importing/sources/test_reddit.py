from __future__ import annotations

import gzip
import json

import pytest

from pearl.errors import InputError
from tests.laid import laid, packed

POSTS = (
    "id,permalink,date,ip,subreddit,gildings,title,url,body\n"
    "p1,https://reddit.example/r/tea/comments/p1/pots/,2024-03-01 09:00:00 UTC,,tea,0,Which pot?,,I have two.\n"
    "p2,https://reddit.example/r/tea/comments/p2/link/,2024-03-01 09:00:00 UTC,,tea,0,A link,http://example.org,\n"
)
COMMENTS = (
    "id,permalink,date,ip,subreddit,gildings,link,parent,body,media\n"
    "c1,,2024-03-01 10:00:00 UTC,,tea,0,https://reddit.example/r/tea/comments/p1/pots/,,The blue one.,\n"
    "c2,,2024-03-01 11:00:00 UTC,,tea,0,https://reddit.example/r/tea/comments/p1/pots/,c1,It holds more.,\n"
    'c3,,2024-03-01 12:00:00 UTC,,tea,0,https://reddit.example/r/tea/comments/zz/x/,zz9,"> green?\n\nBlack.",\n'
    "c4,,2024-03-01 13:00:00 UTC,,tea,0,,,[deleted],\n"
    "c5,,soon,,tea,0,,,When?,\n"
)


@pytest.fixture(params=["folder", "zip"])
def export(request, tmp_path):
    files = {"posts.csv": POSTS, "comments.csv": COMMENTS}
    return packed(tmp_path / "export.zip", files) if request.param == "zip" else laid(tmp_path, files)


def test_the_data_from_reddit(read, export):
    reading = read("reddit", export, voice="reddit")
    assert [(document.id, document.text, document.request) for document in reading.documents] == [
        ("t1_c1", "The blue one.", "Which pot?\n\nI have two."),
        ("t1_c2", "It holds more.", "The blue one."),
        ("t1_c3", "Black.", "green?"),
        ("t3_p1", "I have two.", "Which pot?"),
    ]
    assert reading.documents[0].timestamp == 1709287200.0
    assert sorted(reading.reasons) == ["deleted or removed", "invalid timestamp", "no text"]
    (error,) = reading.errors
    assert (error.where, error.field) == (f"{export}/comments.csv:8", "date")


def test_bodies_are_read_as_reddit_shows_them(read, tmp_path):
    body = "&gt; which?\n\nMilk &amp; tea.\n\n&#x200B;\n\n>!The blue one.!<"
    row = f'c1,,2024-03-01 10:00:00 UTC,,tea,0,,,"{body}",\n'
    (tmp_path / "comments.csv").write_text(COMMENTS.partition("\n")[0] + "\n" + row)
    (document,) = read("reddit", tmp_path).documents
    assert (document.text, document.request) == ("Milk & tea.\n\n>!The blue one.!<", "which?")


def comment(id_, author, body, parent="t3_p1", **fields):
    return {
        "id": id_,
        "author": author,
        "body": body,
        "parent_id": parent,
        "link_id": "t3_p1",
        "subreddit": "tea",
        "created_utc": 1.7e9,
    } | fields


DUMP = [
    comment("c2", "ann_lee", "Tea &amp; milk.", "t1_c1"),  # before what it answers
    comment("c1", "bob", "What goes with it?"),
    {
        "id": "p1",
        "author": "Ann_Lee",
        "title": "My cups",
        "selftext": "Six.",
        "created_utc": "1700000000",
        "subreddit": "tea",
    },
    comment("c3", "ann_lee", "[removed]"),
    comment("c4", "[deleted]", "gone"),
    comment("c5", "ann_lee", "To the post."),
]


def test_a_dump(read, write_lines):
    reading = read("reddit", write_lines(DUMP, "tea.ndjson"), "u/ann_lee")
    assert [(document.id, document.text, document.request) for document in reading.documents] == [
        ("t1_c2", "Tea & milk.", "What goes with it?"),
        ("t3_p1", "Six.", "My cups"),
        ("t1_c5", "To the post.", "My cups\n\nSix."),
    ]
    assert {(document.recipient, document.thread) for document in reading.documents} == {("r/tea", "t3_p1")}
    assert sorted(reading.reasons) == ["deleted or removed", "not written by --me", "not written by --me"]


def test_a_folder_of_dumps(read, tmp_path):
    (tmp_path / "a.ndjson").write_text(json.dumps(DUMP[0]))
    (tmp_path / "b.gz").write_bytes(gzip.compress(json.dumps(DUMP[1]).encode()))
    assert read("reddit", tmp_path, "ann_lee").documents[0].request == "What goes with it?"


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({**DUMP[0], "id": None}, "id"),
        ({**DUMP[0], "author": None}, "author"),
        ({**DUMP[0], "created_utc": None}, "created_utc"),
        ({**DUMP[0], "body": 4}, "body"),
        ({"id": "p", "author": "ann_lee", "created_utc": 1}, "title"),
        ({**DUMP[2], "selftext": 4}, "selftext"),
        ({**DUMP[0], "created_utc": 9e9}, "created_utc"),
        ([], None),
    ],
)
def test_a_bad_line_is_named(read, tmp_path, line, field):
    source = tmp_path / "tea.ndjson"
    source.write_text(json.dumps(DUMP[2]) + "\n" + json.dumps(line))
    reading = read("reddit", source, "ann_lee")
    assert reading.texts == ["Six."]
    assert [(error.where, error.field) for error in reading.errors] == [(f"{source}:2", field)]


def test_a_dump_that_breaks_off_keeps_what_came_before(read, write_lines):
    cups = (comment(f"c{number}", "ann_lee", f"Cup {number}, {number**7 % 999_983}") for number in range(5_000))
    source = write_lines(cups, "tea.gz")
    source.write_bytes(source.read_bytes()[:-5_000])
    reading = read("reddit", source, "ann_lee")
    assert len(reading.found) > 100
    assert [error.reason for error in reading.errors] == ["unreadable file"]


def test_a_dump_needs_me(read, tmp_path):
    source = tmp_path / "tea.ndjson"
    source.write_text(json.dumps(DUMP[0]))
    with pytest.raises(InputError, match="--me"):
        read("reddit", source)
