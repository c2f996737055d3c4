from __future__ import annotations

import os
import zipfile

import pytest

from pearl.errors import InputError
from service.importing.sources.notes.blocks import PART_CHARACTERS
from service.importing.sources.notes.front_matter import MAX_BRACKETS, split_front_matter
from tests.laid import laid

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
    return laid(folder, {name: text}) / name


def test_a_zip_file_is_read_as_the_folder_in_it(read, tmp_path):
    write(tmp_path, "vault/posts/tea.md", POST)
    write(tmp_path, "vault/undated.txt", "Milk first.")
    os.utime(tmp_path / "vault" / "undated.txt", (1_700_000_000, 1_700_000_000))
    with zipfile.ZipFile(tmp_path / "vault.zip", "w") as packed:
        for name in ("posts/tea.md", "undated.txt"):
            packed.write(tmp_path / "vault" / name, f"vault/{name}")
        packed.writestr("__MACOSX/vault/._undated.txt", "\0")
        packed.writestr("vault/cup.png", "\0")
    unpacked = read("markdown", tmp_path / "vault", folders_as_voices=True)
    reading = read("markdown", tmp_path / "vault.zip", folders_as_voices=True)
    assert reading.documents == unpacked.documents
    assert (len(reading.documents), reading.left_out) == (2, [])


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
        ("Both.\n\n## Later\n\nMore.", "note", "Both.\n\n## Later\n\nMore."),
        ("Both.\n\n# Title\n\nMore.", "Title", "Both.\n\n# Title\n\nMore."),
        ("Just this.", "note", "Just this."),
        ("---\n\nA line, not front matter.\n\n---\n", "note", "A line, not front matter."),
        ("---\ntitle: Tea\n...\nMilk first.", "Tea", "Milk first."),
        ("---\n\nA line, and then\n...\nnothing.\n", "note", "A line, and then\n...\nnothing."),
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
    for name in ("b.md", "a/z.markdown", ".obsidian/x.md", "c.pdf", "A.MD"):
        write(tmp_path, name, "Tea.")
    assert [document.id for document in read("markdown", tmp_path).documents] == ["A.MD", "a/z.markdown", "b.md"]


def test_files_of_other_kinds_are_counted_with_what_to_do(read, tmp_path):
    for name in ("a.md", "b.HTML", "c.html", "d/e.rst", "f.png", ".g.html"):
        write(tmp_path, name, "Some text of mine.")
    found = read("markdown", tmp_path)
    assert len(found.documents) == 1
    assert [remark for remark in found.remarks if "Not read" in remark] == [
        "Not read: 2 .html, 1 .rst; convert them to Markdown, for example 'pandoc FILE -t gfm -o FILE.md'."
    ]


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


@pytest.mark.parametrize(
    ("content", "said"), [(b"caf\xe9", "UTF-8 (byte 4"), ("Un thé".encode("UTF-16")[:-1], "UTF-16 (byte 13")]
)
def test_a_file_in_another_encoding_says_what_to_do(read, tmp_path, content, said):
    (error,) = read("markdown", write(tmp_path, "b.txt", content)).errors
    assert error.error == f"is not {said} of the file); save it as UTF-8."


@pytest.mark.parametrize(("encoding", "mark"), [("UTF-16-LE", b"\xff\xfe"), ("UTF-16-BE", b"\xfe\xff")])
def test_a_file_in_utf16_with_its_mark(read, tmp_path, encoding, mark):
    text = "---\r\ntitle: Thé\r\n---\r\nUn thé 🍵, s’il vous plaît.\r\n"
    (document,) = read("markdown", write(tmp_path, "b.md", mark + text.encode(encoding))).documents
    assert (document.text, document.request) == ("Un thé 🍵, s’il vous plaît.", "Thé")


NOTICE = "are end-to-end encrypted"
STAMPS = {
    "German, Android": "01.03.24, 09:12 - ",
    "German, iOS": "\u200e[01.03.24, 09:12:33] ",
    "English, Android": "3/1/24, 9:12\u202fPM - ",
    "Spanish, Android": "1/3/24, 9:12 p.\u00a0m. - ",
    "French, iOS": "[01/03/2024 09:12:33] ",
    "Finnish, Android": "1.3.2024 klo 9.12 - ",
    "Hungarian, Android": "2024. 03. 01. 9:12 - ",
    "Swedish, Android": "2024-03-01 09:12 - ",
    "Arabic, Android": "٠١\u200f/٠٣\u200f/٢٠٢٤، ٩:١٢ ص - ",
    "Persian, Android": "۱۴۰۳/۱۲/۱۳،\u200f ۹:۱۲ - ",
    "Korean, Android": "2024. 3. 1. 오후 9:12, ",
    "Chinese, iOS": "[2024/3/1 下午9:12:33] ",
    "Signal": "[2024-03-01 09:12:33] ",
}


@pytest.mark.parametrize("stamp", STAMPS.values(), ids=STAMPS.keys())
def test_a_chat_with_others_is_no_text_of_ones_own(read, tmp_path, stamp):
    write(tmp_path, "_chat.txt", f"{stamp}Messages {NOTICE}.\n{stamp}Bob: Tea?\n{stamp}Ann Lee: Two\npots.\n")
    write(tmp_path, "tea.txt", "Tea.")
    reading = read("markdown", tmp_path)
    assert (reading.texts, reading.reasons) == (["Tea."], ["chat with others"])


def test_a_diary_with_times_is_no_chat(read, tmp_path):
    diary = "2024-03-01 09:12 - Rain all day. I said to Bob on the way: no.\n\n2024-03-02 10:00 - Sun."
    assert read("markdown", write(tmp_path, "diary.txt", diary)).texts == [diary]


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


def test_a_sentence_without_blanks_is_more_than_a_link(read, tmp_path):
    write(tmp_path, "a.md", "今天真开心，见到了老朋友。[相册](https://example.org/a)")
    assert len(read("markdown", tmp_path).texts) == 1


def test_a_symbolic_link_is_left_out_and_counted(read, tmp_path):
    secret = write(tmp_path, "secret/passwd.md", "root:x:0:0")
    write(tmp_path, "vault/tea.md", "Tea.")
    (tmp_path / "vault" / "link.md").symlink_to(secret)
    (tmp_path / "vault" / "linked").symlink_to(secret.parent)
    reading = read("markdown", tmp_path / "vault")
    assert reading.texts == ["Tea."]
    assert reading.reasons == ["symbolic link", "symbolic link"]
    (tmp_path / "way").symlink_to(tmp_path / "vault")
    assert read("markdown", tmp_path / "way").texts == ["Tea."]  # a link that was named is meant


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.md", "---\ndraft: true\n---\nTea.", "draft"),
        ("a.md", "+++\ndraft = true\n+++\nTea.", "draft"),
        ("a.md", "---\npublished: false\n---\nTea.", "draft"),
        ("_drafts/a.md", "Tea.", "draft"),
        ("templates/daily.md", "Tea.", "template"),
        ("archetypes/default.md", "Tea.", "template"),
        ("a.md", '---\ntitle: "{{ replace .Name }}"\ncreated: <% tp.date.now() %>\n---\nTea.', "template"),
        ("a.md", "---\n{{ card_data }}\n---\nTea.", "template"),
        ("a.md", "---\ncreated: {{date}}\ntags:\n  - note\n---\nTea.", "template"),
        ("node_modules/kettle/README.md", "Tea.", "part of a package or theme"),
        ("themes/kettle/README.md", "Tea.", "part of a package or theme"),
        ("LICENSE.md", "Permission.", "part of a package or theme"),
        ("Cup.excalidraw.md", "Tea.", "drawing or board"),
        ("board.md", "---\nkanban-plugin: basic\n---\n- tea", "drawing or board"),
        ("Clippings/a.md", "Tea.", "clipping of somebody else's text"),
        ("a.md", "---\ntags:\n  - clippings\n---\nTea.", "clipping of somebody else's text"),
        (
            "a.md",
            "---\nsource: https://example.org\nauthor:\n  - '[[Bob]]'\n---\nTea.",
            "clipping of somebody else's text",
        ),
        ("a.md", "# Teas\n\n- [[Green]]\n- [[Black|the black]]\n- [White](w.md)\n- https://example.org", "only links"),
        ("a.md", "![[Green]]\n![[cup.png]]", "no text"),
        ("a.md", "See [Green](green.md).", "only links"),
        ("a.md", "详见[绿茶](green.md)。", "only links"),
        ("a.md", "हाँ, यह [चाय](green.md)।", "only links"),
    ],
)
def test_what_is_no_finished_text_of_its_owner(read, tmp_path, name, text, reason):
    write(tmp_path, "own.md", "Mine.")
    write(tmp_path, name, text)
    reading = read("markdown", tmp_path)
    assert (reading.texts, reading.reasons, reading.errors) == (["Mine."], [reason], [])


@pytest.mark.parametrize(
    "author",
    [
        "author: Bob",
        "authors: [Bob, Carl]",
        "authors:\n  - name: Bob\n    url: https://example.org",
        "Author: '[[Bob]]'",
        "author:\n  name: Bob",
        "by: '[Bob](https://example.org/bob)'",
        "creator: Bob <bob@example.org>",
    ],
)
def test_any_form_of_author_is_understood(read, tmp_path, author):
    write(tmp_path, "a.md", f"---\n{author}\n---\nBob's.")
    write(tmp_path, "b.md", f"---\n{author.replace('Bob', 'Ann Lee').replace('bob@', 'ann@')}\n---\nMine.")
    reading = read("markdown", tmp_path, "ann lee")
    assert reading.texts == ["Mine."]
    assert reading.options.identities.commonest_others()[0].name.startswith("Bob")


def test_what_one_has_published_elsewhere_is_no_clipping(read, tmp_path):
    head = "---\ncategories: ['[[Clippings]]']\nurl: https://example.org\nauthor: ['[[Ann Lee]]']\n---\n"
    write(tmp_path, "Clippings/a.md", head + "Mine.")
    write(tmp_path, "Clippings/b.md", head.replace("Ann Lee", "Bob") + "Bob's.")
    assert read("markdown", tmp_path).reasons == ["clipping of somebody else's text"] * 2
    reading = read("markdown", tmp_path, "Ann Lee")
    assert (reading.texts, reading.reasons) == (["Mine."], ["not written by --me"])


def test_several_authors_without_me_are_told(read, tmp_path):
    for number, author in enumerate(("Bob", "Ann", "Bob")):
        write(tmp_path, f"{number}.md", f"---\nauthor: {author}\ndate: 2024-03-01\n---\nTea.")
    assert read("markdown", tmp_path).remarks == [
        "The files name 2 authors: Bob (2), Ann (1). Say with --me which of them is the user."
    ]


@pytest.mark.parametrize(
    ("name", "request_"),
    [
        ("2024-03-01-on-tea.md", "on tea"),
        ("On Tea - and Milk.md", "On Tea - and Milk"),
        ("posts/on-tea/index.md", "on tea"),
        ("version_2.20200202.3.md", "version 2.20200202.3"),
        ("2024-03-01.md", "2024 03 01"),
    ],
)
def test_the_title_of_a_file_without_one(read, tmp_path, name, request_):
    write(tmp_path, name, "Tea.")
    assert read("markdown", tmp_path).documents[0].request == request_


def test_text_files_are_no_markdown(read, tmp_path):
    path = write(tmp_path, "tea.txt", "# Tea *now*\n\n> quoted\n\n    Indented.\n")
    assert read("markdown", path).texts == ["# Tea *now*\n\n    Indented."]


def test_org_files(read, tmp_path):
    org = """#+TITLE: On tea
#+DATE: [2024-03-01 Fri 09:30]
:PROPERTIES:
:ID: 0b1c
:END:
# a comment
* TODO Pour [#A]                                                   :tea:
SCHEDULED: <2024-03-02 Sat>
  I like [[https://example.org][green tea]] and [[id:0b1c][the pot]]. [[file:cup.png]]
#+begin_src c
boil();
#+end_src
#+BEGIN_QUOTE
Bob said so.
#+END_QUOTE
- one
  - two
"""
    (document,) = read("markdown", write(tmp_path, "tea.org", org)).documents
    assert (document.request, document.timestamp) == ("On tea", 1709285400.0)
    assert document.text == ("# Pour [#A]\n\nI like [green tea](https://example.org) and the pot.\n\n- one\n  - two")


HEADS = {
    "open.md": "---\ntitle: [\n---\n",
    "bare.md": "+++\ntitle\n+++\n",
    "deep toml.md": f"+++\na = {'[' * 5_000}{']' * 5_000}\n+++\n",
    "deep yaml.md": f"---\na: {'[' * 5_000}{']' * 5_000}\n---\n",
    "long.md": "+++\na" + ".a" * 50_000 + " = 1\n+++\n",
}


ORG = """#+DATE: [2024-03-01 Fri]
* TODO Row [1/2] :boat:
  DEADLINE: <2024-03-12 Tue> SCHEDULED: <2024-03-11 Mon>
  :PROPERTIES:
  :Effort:
  :END:
  - State "DONE"       from "TODO"       [2024-03-01 Fri 21:46]
  - State "WAITING"    from              [2024-03-01 Fri 10:00] \\\\
    Because of rain.
  - CLOSING NOTE [2024-03-01 Fri 21:47] \\\\
    It was fine.
  - Rescheduled from "[2024-03-01 Fri]" on [2024-03-02 Sat 10:00]
  - Refiled on [2024-03-02 Sat 10:00]
  CLOCK: [2024-03-12 Tue 09:00]--[2024-03-12 Tue 09:30] =>  0:30
  - Called Bob [2024-03-02 Sat]
:Notes:
My own note.
:END:
#+BEGIN: clocktable :maxlevel 2
| a | b |
#+END:
#+RESULTS:
: 42
%%(diary-anniversary 3 12 2000) Party
:tea: is a sign.
"""


def test_what_org_logs_by_itself_goes(read, tmp_path):
    write(tmp_path, "row.org", ORG)
    (document,) = read("markdown", tmp_path).documents
    assert document.request == "Row"
    text = document.text
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    assert lines == [
        "Because of rain.",
        "It was fine.",
        "- Called Bob [2024-03-02 Sat]",
        "My own note.",
        ":tea: is a sign.",
    ]


def test_front_matter_that_cannot_be_read_does_not_cost_the_text(read, tmp_path):
    for name, head in HEADS.items():
        write(tmp_path, f"2024-03-01 {name}", f"{head}Tea.")
    reading = read("markdown", tmp_path)
    assert reading.texts == ["Tea."] * len(HEADS)
    assert reading.errors == []
    (remark,) = reading.remarks
    assert remark.startswith("Front matter that cannot be read: 5 (2024-03-01 bare.md: cannot be understood: ")


LAUGHS = "\n".join(["a0: &a0 ha", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10))])


@pytest.mark.parametrize("field", ["date", "created", "draft", "published", "status", "author", "tags", "title"])
def test_aliases_in_front_matter_are_not_followed(read, tmp_path, field):
    """They would unfold to a thousand million pieces."""
    write(tmp_path, "2024-03-01 a.md", f"---\nsubtitle: Milk\n{LAUGHS}\n{field}: *a9\n---\nTea.")
    (document,) = read("markdown", tmp_path).documents
    assert (document.text, document.timestamp) == ("Tea.", 1709251200.0)


@pytest.mark.parametrize(
    ("name", "text", "kept", "kind"),
    [
        (
            "a.org",
            "* Tea\n:PROPERTIES:\n:ID: 0b1c\nI like tea.\n* Milk\n:LOGBOOK:\nCLOCK: [2024-03-01]\n:END:\nAnd milk.",
            "I like tea.\n\n# Milk\n\nAnd milk.",
            "Drawers and blocks that are never closed",
        ),
        ("a.org", "Tea.\n#+BEGIN_QUOTE\nMilk.\n* Pots\nHot.", "Tea.\nMilk.\n\n# Pots\n\nHot.", "Drawers and blocks"),
        ("a.md", "- Tea.\n  :logbook:\n  CLOCK: [2024]\n- Milk.", "- Tea.\n- Milk.", "Drawers and blocks"),
        ("a.md", "- #+BEGIN_SRC c\n- Tea.\n- #+BEGIN_SRC c\n  boil();\n  #+END_SRC", "- Tea.", "Drawers and blocks"),
        ("a.md", "Tea.\n\n```\nboil();\n\nMilk.", "Tea.", "Code blocks that are never closed"),
        ("a.md", "- Tea.\n\n  ~~~\n  boil();\n\nMilk.", "- Tea.\n\nMilk.", "Code blocks that are never closed"),
        ("a.md", "Tea.\n\n<!-- not\n\nthis", "Tea.", "HTML comments, scripts or styles"),
        ("a.md", "Tea.\n\n```\nboil();\n```\n> ~~~\n> Bob's\n> ~~~\n- ```\n  x\n  ```", "Tea.", None),
    ],
)
def test_what_is_never_closed_is_counted_and_the_rest_goes_on(read, tmp_path, name, text, kept, kind):
    write(tmp_path, f"2024-03-01/{name}", text)
    reading = read("markdown", tmp_path)
    assert reading.texts == [kept]
    assert [remark.startswith(kind) and f": 1 (2024-03-01/{name})." in remark for remark in reading.remarks] == (
        [True] if kind else []
    )


def test_front_matter_of_many_brackets_is_refused_unread():
    few, many = (f"---\na: [{'[],' * count}]\n---\nTea." for count in (MAX_BRACKETS - 1, MAX_BRACKETS))
    assert split_front_matter(few)[1] == "Tea."
    with pytest.raises(InputError, match="more than 1,000 opening brackets"):
        split_front_matter(many)


def test_a_folder_without_markdown(read, tmp_path):
    with pytest.raises(InputError, match=r"there is no \.md"):
        read("markdown", tmp_path)


def test_a_note_on_themes_is_no_part_of_one(read, tmp_path):
    write(tmp_path, "Themes/Tea.md", "Tea.")
    assert read("markdown", tmp_path).texts == ["Tea."]


NOTION = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("text", "kept", "request_"),
    [
        (
            "# On tea\n\nCreated: March 1, 2024 9:12 AM\nTags: tea, milk\nDone: \n\nI like tea.\n\nNote: hot.\n",
            "I like tea.\n\nNote: hot.",
            "On tea",
        ),
        ("# On tea\n\nCreated: March 1, 2024 9:12 AM\nI like tea.\n\nMore.\n", None, "On tea"),
        ("# On tea\n\nMy view: green.\n\nMore.\n", None, "On tea"),
        ("# On tea\n\nDate: March 1, 2024 9:12 AM → May 1, 2024\nTags: \n\nI like tea.\n", "I like tea.", "On tea"),
        ("I like tea.\n", "I like tea.", "Tea time"),
    ],
)
def test_a_page_of_notions(read, tmp_path, text, kept, request_):
    (document,) = read("markdown", write(tmp_path, f"Tea time {NOTION}.md", text)).documents
    assert (document.text, document.request) == (kept or text.partition("\n\n")[2].strip(), request_)
    assert (document.timestamp == 1709284320.0) is ("Tags" in text)
