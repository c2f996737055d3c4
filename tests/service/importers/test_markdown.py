from __future__ import annotations

import os

import pytest

from pearl.errors import InputError
from service.importers.markdown import PART_CHARACTERS

POST = """---
title: On tea
date: 2024-03-01
voice: blog
tags: [tea, milk]
---
# On tea

I like *green* tea ![a cup](cup.png) most.
<!-- say more
here -->

> Tea is a drink.

```
kettle.boil()
```

## How

- warm the pot

      not_this()

  > nor that
- wait [a while](http://example.org/wait)

[unused]: http://example.org
"""


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_post(read, tmp_path):
    write(tmp_path, "posts/tea.md", POST)
    (document,) = read("markdown", tmp_path, voice="notes").documents
    assert (document.id, document.request, document.voice) == ("posts/tea.md", "On tea", "blog")
    assert document.timestamp == 1709251200.0
    assert document.text == (
        "I like *green* tea  most.\n\n## How\n\n- warm the pot\n\n- wait [a while](http://example.org/wait)"
    )


@pytest.mark.parametrize(
    ("text", "request_", "kept"),
    [
        ("# Milk & *tea*\n\nBoth.", "Milk & tea", "Both."),
        ("Both.\n\n## Later\n\nMore.", "Later", "Both.\n\n## Later\n\nMore."),
        ("Just this.", "note", "Just this."),
        ("---\n\nA line, not front matter.\n\n---\n", "note", "A line, not front matter."),
        ("+++\ntitle = 'Tea'\ndate = 2024-03-01\n+++\nToml.", "Tea", "Toml."),
        ("---\ntitle: 7\n---\nSeven.", "7", "Seven."),
        ("---\r\ntitle: Tea\r\n---\r\nLine ends.\r\n", "Tea", "Line ends."),
        ("<div>\nIn <b>HTML</b>\n</div>", "note", "In HTML"),
        ("| tea | milk |\n|---|---|\n| a | b |", "note", "| tea | milk |\n|---|---|\n| a | b |"),
    ],
)
def test_title_and_text(read, tmp_path, text, request_, kept):
    (document,) = read("markdown", write(tmp_path, "note.md", text)).documents
    assert (document.id, document.request, document.text) == ("note.md", request_, kept)


def test_without_a_date_the_files_own_time_counts(read, tmp_path):
    path = write(tmp_path, "note.md", "Tea.")
    os.utime(path, (1_600_000_000, 1_600_000_000))
    assert read("markdown", path).documents[0].timestamp == 1_600_000_000


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("2024-03-01 10:00:00 +01:00", 1709283600.0),
        ("'2024-03-01T09:00:00Z'", 1709283600.0),
        ("1709283600", 1709283600.0),
    ],
)
def test_dates(read, tmp_path, date, seconds):
    path = write(tmp_path, "note.md", f"---\ndate: {date}\n---\nTea.")
    assert read("markdown", path).documents[0].timestamp == seconds


def test_a_folder_is_read_in_order_without_hidden_and_other_files(read, tmp_path):
    for name in ("b.md", "a/z.markdown", ".obsidian/x.md", "c.txt", "A.MD"):
        write(tmp_path, name, "Tea.")
    assert [document.id for document in read("markdown", tmp_path).documents] == ["A.MD", "a/z.markdown", "b.md"]


def test_a_long_file_is_several_documents(read, tmp_path):
    paragraph = "tea and milk " * 200
    path = write(tmp_path, "long.md", "# Long\n\n" + "\n\n".join([paragraph] * 5 + ["## End", paragraph]))
    documents = read("markdown", path).documents
    assert [document.id for document in documents] == ["long.md", "long.md#2"]
    assert all(len(document.text) <= PART_CHARACTERS + 20 for document in documents)
    assert {document.request for document in documents} == {"Long"}
    headings = [document for document in documents if document.text.rstrip().endswith("## End")]
    assert not headings  # a heading stays with its text


@pytest.mark.parametrize(
    ("content", "reason", "field"),
    [
        (b"caf\xe9", "not utf8", None),
        (b"a\0b", "nul character", "text"),
        (b"\x89PNG\r\n\x1a\n", "not utf8", None),
        (b"---\ntitle: [\n---\nTea.", "invalid front matter", "front matter"),
        (b"+++\ntitle\n+++\nTea.", "invalid front matter", "front matter"),
        (b"---\ndate: soon\n---\nTea.", "invalid timestamp", "date"),
        (b"---\ndate: 2999-01-01\n---\nTea.", "future timestamp", "date"),
        (b"x" * 10_000_001, "file too large", None),
    ],
)
def test_a_bad_file_is_named_and_the_others_stay(read, tmp_path, content, reason, field):
    write(tmp_path, "a.md", "Good.")
    write(tmp_path, "b.md", content)
    reading = read("markdown", tmp_path)
    assert reading.texts == ["Good."]
    (error,) = reading.errors
    assert (error.reason, error.field, error.where) == (reason, field, f"{tmp_path}/b.md")


@pytest.mark.parametrize("content", ["", "\n\n", "# Only a title", "```\ncode\n```", "<!-- nothing -->"])
def test_files_without_text_are_left_out(read, tmp_path, content):
    reading = read("markdown", write(tmp_path, "a.md", content))
    assert (reading.found, reading.reasons, reading.errors) == ([], ["no text"], [])


def test_another_authors_file_is_left_out(read, tmp_path):
    write(tmp_path, "a.md", "---\nauthor: Bob\n---\nBob's.")
    write(tmp_path, "b.md", "---\nauthor: Ann Lee\n---\nMine.")
    write(tmp_path, "c.md", "Nobody's.")
    assert read("markdown", tmp_path, "ann lee").texts == ["Mine.", "Nobody's."]
    assert len(read("markdown", tmp_path).texts) == 3


def test_a_folder_without_markdown(read, tmp_path):
    with pytest.raises(InputError, match=r"there is no \.md"):
        read("markdown", tmp_path)
