"""No importer takes more than linear time on files that were made to keep it busy; run them with ``make test-all``.

A row makes an input of about n bytes and reads it; what grows with the square of the input takes 64 times the time for
eight times the input, what is linear 8.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from service.importing.sources.base import Options, load_importer
from tests.laid import zipped

MAIL_BYTES, SOURCE_BYTES = 16_000, 8_000
TIMES = 8
LINEAR = 24.0  # times the time for eight times the input: half-way, on a logarithmic scale, to the square


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file of about n bytes, named ``file``, that ``importer`` reads whole for the identity ``me``."""

    name: str
    importer: str
    file: str
    make: Callable[[int], bytes]
    me: str = "ann@example.org"

    def seconds(self, size: int) -> float:
        """Processor time of reading it."""
        with TemporaryDirectory(prefix="pearl-hostile-") as folder:
            path = Path(folder) / self.file
            path.write_bytes(self.make(size))
            return self.read_seconds(path)

    def read_seconds(self, path: Path) -> float:
        """Processor time of reading what stands at the path."""
        importer, options = load_importer(self.importer), Options(user="ann", me=(self.me,))
        started = time.process_time()
        for _ in importer.read(path, options):
            pass
        return time.process_time() - started

    def growth(self, size: int) -> float:
        """How many times longer eight times the input takes."""
        return self.seconds(TIMES * size) / min(self.seconds(size) for _ in range(2))


def repeated(piece: str, size: int) -> str:
    """The piece, as often as it takes for about ``size`` characters."""
    return piece * max(1, size // len(piece))


def mail(body: Callable[[int], str], header: str = "") -> Callable[[int], bytes]:
    """Makes an mbox of one mail with this body."""

    def make(size: int) -> bytes:
        lines = [
            "From ann@example.org Mon Mar  3 09:12:00 2025",
            *([header] if header else []),
            "From: Ann <ann@example.org>",
            "Date: Mon, 03 Mar 2025 10:12:00 +0100",
            "Message-ID: <1@example.org>",
            "",
            f"Tea at four.\n{body(size)}\n",
        ]
        return "\n".join(lines).encode()

    return make


def in_mail(name: str, piece: str, header: str = "") -> Hostile:
    """One mail with a piece of text over and over."""
    return Hostile(f"mail: {name}", "mbox", "a.mbox", mail(lambda size: repeated(piece, size), header))


def in_header(name: str, field: str, piece: str) -> Hostile:
    """One mail whose header has a field with a piece of text over and over."""

    def make(size: int) -> bytes:
        return mail(lambda _: "", f"{field}: {repeated(piece, size)}")(0)

    return Hostile(f"mail: {name}", "mbox", "a.mbox", make)


def in_html(name: str, piece: str) -> Hostile:
    """One mail in HTML with a piece of it over and over."""
    return in_mail(name, piece, "Content-Type: text/html; charset=utf-8")


def nested_parts(size: int) -> bytes:
    """A mail with a part in a part in a part."""
    header = 'Content-Type: multipart/mixed; boundary="B{}"'
    depth = max(1, size // 60)
    body = "".join(f"--B{level}\n{header.format(level + 1)}\n\n" for level in range(depth))
    return mail(lambda _: body, header.format(0))(0)


def nested_text(size: int) -> str:
    """Lines in ever deeper quotes, up to what makes about ``size`` characters."""
    return "".join(">" * depth + " x\n" for depth in range(int((2 * size) ** 0.5)))


FLOWED = "Content-Type: text/plain; format=flowed"
# a row for each shape of input
MAILS: tuple[Hostile, ...] = (
    in_mail("empty lines", "\n"),
    in_mail("'On', then words", "On x y "),
    in_mail("'On' and 'wrote' on every line", "On x, Bob wrote\n"),
    in_mail("'On ... wrote:' on every line", "On Monday Bob wrote:\n"),
    in_mail("fields of headers", "From: Bob <bob@example.org>\n"),
    in_mail("headers without an end", "From: \n To: \n"),
    in_mail("rules", "-----Original Message-----\n\n"),
    in_mail("underscores", "_"),
    in_mail("hyphens", "- "),
    in_mail("colons", ":\n"),
    in_mail("addresses", "<a@b "),
    in_mail("digits", "1:1"),
    in_mail("signs of a quote in one line", "> "),
    in_mail("quotes and answers in turn", "> q\na\n\n"),
    in_mail("sign-offs", "Best regards,\nAnn\n\n"),
    in_mail("footers", "Sent from my iPhone\n"),
    in_mail("disclaimers", "intended recipient, any files confidential and legally privileged\n\n"),
    in_mail("signed without an end", "-----BEGIN PGP SIGNED MESSAGE-----\n"),
    in_mail("stand-ins for pictures", "[image: "),
    in_mail("diffs", "--- a\n+++ b\n---\n"),
    in_mail("a diff's figures", " a | 1 +\n"),
    in_mail("trailers", "Signed-off-by: a\n"),
    in_mail("lines that flow", "x \n", FLOWED),
    *(
        in_mail(f"lines that start with 'From ', {number}", piece)
        for number, piece in enumerate(
            ("From Mon Mon 1:11 1:11\n", "From \n", "From \nA: b\n", "From x\n>From \n", "From 1\n \n")
        )
    ),
    in_mail("'On' at the beginning of lines", "On the way\n"),
    in_mail("rules and lines above", "***\n-- above a line --\n"),
    in_mail("dates and addresses", "1/1/2025 A <a@b>\n"),
    *(
        in_mail(f"files in a text, {number}", piece)
        for number, piece in enumerate(
            ("begin 644 a\n", "begin 644 a\nM\n", "--abcd\nA-bc: d\n", "YmFy" * 19 + "\n", "a-bc: d\n e\n")
        )
    ),
    Hostile("mail: quotes in quotes", "mbox", "a.mbox", mail(nested_text)),
    in_mail("many parts", "--B\n\nx\n", "Content-Type: multipart/mixed; boundary=B"),
    in_mail("a charset that is none", "a-", "Content-Type: text/plain; charset=punycode"),
    Hostile("mail: parts in parts", "mbox", "a.mbox", nested_parts),
    in_header("brackets", "From", "("),
    in_header("square brackets", "From", "["),
    in_header("angles", "From", "<a "),
    in_header("quotation marks", "From", '"\\'),
    in_header("encoded words", "Subject", "=?utf-8?q?"),
    in_header("marks of a subject", "Subject", "Re: [PATCH "),
    in_header("references", "References", "<a@b "),
    in_header("parameters", "Content-Type", ';a="'),
    in_html("tags without an end", "<a "),
    in_html("tags with quotes without an end", "<a b='"),
    in_html("quotes in turn", "<a b='\"'>"),
    in_html("comments without an end", "<!--"),
    in_html("marked sections without an end", "<![if "),
    in_html("scripts without an end", "<script>"),
    in_html("quotes in quotes in HTML", "<blockquote>x"),
    in_html("tables in tables", "<table><tr><td>"),
    in_html("entities", "&"),
    in_html("numbers of characters", "&#1"),
    in_html("one long number", "9"),
    in_html("spaces", " \n"),
)


SLACK = {"type": "message", "user": "ann@example.org", "ts": "1709283600.000100"}
EXPORTED = {"id": "1", "timestamp": "2024-03-01T10:00:00Z", "author": {"id": "ann@example.org"}}


def in_note(name: str, piece: str, before: str = "", suffix: str = ".md") -> Hostile:
    """One file with a piece of text over and over, something before it."""
    kind = {".md": "markdown", ".org": "org", ".txt": "text"}[suffix]
    return Hostile(f"{kind}: {name}", "markdown", f"a{suffix}", lambda size: (before + repeated(piece, size)).encode())


def in_notes(name: str, head: Callable[[int], str]) -> Hostile:
    """Front matter of an eighth of the size: what is longer than the limit is refused unread."""
    return Hostile(f"front matter: {name}", "markdown", "a.md", lambda size: head(size // 8).encode())


def in_message(name: str, piece: str) -> Hostile:
    """One message of Slack with a piece of text over and over."""

    def make(size: int) -> bytes:
        day = [{**SLACK, "text": "Tea."}, {**SLACK, "ts": "1709283601.000100", "text": repeated(piece, size)}]
        return zipped({"tea/2024-03-01.json": json.dumps(day)})

    return Hostile(f"chat: {name}", "slack", "a.zip", make)


def in_array(name: str, make: Callable[[int], str]) -> Hostile:
    """An exported channel with these elements among its messages."""

    def channel(size: int) -> bytes:
        message = json.dumps({**EXPORTED, "content": "Tea at four."})
        return f'{{"guild": {{}}, "messages": [{message}, {make(size)}, {message}]}}'.encode()

    return Hostile(f"json: {name}", "discord", "a.json", channel)


def in_table(name: str, make: Callable[[int], str]) -> Hostile:
    """A table of comments with this behind its first row."""

    def table(size: int) -> bytes:
        return zipped({"comments.csv": f"id,date,body\n1,2024-03-01 09:00:00 UTC,Tea at four.\n{make(size)}\n"})

    return Hostile(f"table: {name}", "reddit", "a.zip", table)


def in_chat(name: str, make: Callable[[int], str]) -> Hostile:
    """A message of WhatsApp with this behind it."""
    start = "13.03.24, 09:12 - Ann: Tea.\n" * 3
    return Hostile(f"whatsapp: {name}", "whatsapp", "_chat.txt", lambda size: (start + make(size)).encode(), me="Ann")


def replies(size: int) -> bytes:
    said = {"type": "message", "date": "2024-03-01T10:00:00", "from": "Ann", "text": "Tea."}
    rows = [{**said, "id": number, "reply_to_message_id": number - 1} for number in range(1, size // 100 + 2)]
    return json.dumps({"name": "Bob", "type": "personal_chat", "id": 7, "messages": rows}).encode()


def tweet(text: str) -> bytes:
    one = {"id_str": "1", "created_at": "Fri Mar 01 09:00:00 +0000 2024", "full_text": text}
    return f"window.YTD.tweets.part0 = {json.dumps([{'tweet': {**one, 'in_reply_to_screen_name': 'bob'}}])}".encode()


def word(piece: str, size: int) -> bytes:
    body = repeated(piece, size)
    return zipped({"word/document.xml": f"<document>{body}{'</p>' * body.count('<p>')}</document>"})


class HostileRepository(Hostile):
    """A repository with a history of about n bytes; the time is that of the importer, without git's."""

    def seconds(self, size: int) -> float:
        with TemporaryDirectory(prefix="pearl-hostile-") as folder:
            environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
            for command, given in ((["init", "-q", "."], b""), (["fast-import", "--quiet"], self.make(size))):
                subprocess.run(["git", *command], cwd=folder, input=given, env=environment, check=True)
            return self.read_seconds(Path(folder))


def commits(name: str, messages: Callable[[int], list[str]]) -> HostileRepository:
    def make(size: int) -> bytes:
        parts = []
        for number, message in enumerate(messages(size), start=1):
            data = message.encode()
            parts.append(
                b"commit HEAD\ncommitter Ann <ann@example.org> %d +0000\ndata %d\n%s\n"
                % (1_700_000_000 + number, len(data), data)
            )
        return b"".join(parts)

    return HostileRepository(f"git: {name}", "git", "", make)


def in_commit(piece: str, message: str) -> HostileRepository:
    return commits(message.format(piece), lambda size: [message.format(repeated(piece, size))])


def messages(author: str) -> Callable[[int], str]:
    one = json.dumps({**EXPORTED, "author": {"id": author}, "content": "Tea?"})
    return lambda size: ", ".join([one] * (size // len(one) + 1))


def lines(text: str) -> Callable[[int], str]:
    return lambda size: repeated(text, size)


def nested(opening: str, closing: str, middle: str = "") -> Callable[[int], str]:
    def make(size: int) -> str:
        depth = max(1, size // (len(opening) + len(closing)))
        return opening * depth + middle + closing * depth

    return make


# what starts, ends or fills some mark of Markdown, of an engine or of a note-taking program
PIECES = (
    *("![", "[", "[[", "![[", "[a](", "![a](", "[a][", "[^a", "[a]: b\n", "[[!a ", '"""]]', "((", "https://"),
    *("<!--", "<a ", "<!-- a -->", "<div>\n", "<div>\n\n", "{/*", "import a from 'b'\n"),
    *("{{", "{%", "{{ a }}", "{% a %}", "{% quote %}", "{% quote %}{% endquote %}", "{{< quote >}}", "{:", "{.a "),
    *("%%", "==a", "`", "```\n", "_a", "\\", "* a ", "a ^b", "^a\n", "#a ", "\n", "\t", "| a |\n"),
    *("> [!note]\n", "> ", "> a\n", "- ", "1. a\n", "# a\n", "a\n=\n", "    a\n"),
    *("::: a\n", "!!! a\n", ":LOGBOOK:\n", "#+BEGIN_SRC\n", "a:: b\n"),
)
FOOTERS = (
    "A: b\n",
    "Fixes #1\n",
    "Refs #1:\n\n",
    "- Fixes #1\n\n",
    "Fixes: 1234567 (",
    "<!-- ",
    "---\n",
    "[skip ci] ",
    "1.1",
)
SIGNS = ("Generated by claude 1.1", "1.1", "Co-authored-by: ", "\N{ROBOT FACE} ", "bump a from 1", " (#1)")
ORG_PIECES = ("* a\n", "[[", "[[a][", "#+a: b\n", ":PROPERTIES:\n", ":a: b\n", "#+begin_src\n", "# a\n", "* a :b:\n")
CHAT_PIECES = ("<", "<a|", "```", "`a", "https://", ":a", "> a\n", "lol ", "ha")
NOTES = (
    *(in_note(repr(piece), piece) for piece in PIECES),
    *(in_note(repr(piece), piece, suffix=".org") for piece in ORG_PIECES),
    in_note("definitions and what they define", "[a]\n", before="[a]: b\n\n"),
    in_note("quotes", "> a\n", suffix=".txt"),
    in_notes("deep TOML", lambda size: f"+++\na = {nested('[', ']')(size)}\n+++\nTea."),
    in_notes("deep YAML", lambda size: f"---\na: {nested('[', ']')(size)}\n---\nTea."),
    in_notes("dotted TOML", lambda size: f"+++\na{repeated('.a', size)} = 1\n+++\nTea."),
    in_notes("aliases", lambda size: f"---\na: &a [b]\nb: [{repeated('*a, ', size)}]\n---\nTea."),
    in_notes("lines that are no YAML", lambda size: f"---\n{repeated('a: b: c', size)}\n---\nTea."),
    in_notes("no end", lambda size: f"---\n{repeated('---a', size)}"),
    in_notes("properties", lambda size: repeated("a:: b\n", size)),
)
CHATS = (
    *(in_message(repr(piece), piece) for piece in CHAT_PIECES),
    in_array("deep arrays", nested("[", "]")),
    in_array("deep objects", nested('{"a":', "}", "1")),
    in_array("what is no JSON", lines("nonsense,")),
    in_array("objects that are no JSON", lines('{"a": b},')),
    in_array("digits", lines("1")),
    in_array("backslashes", lambda size: '"' + repeated("\\\\", size) + '"'),
    in_array("brackets in a string", lambda size: '"' + repeated("[{", size) + '"'),
    in_array("an element that never ends", lines('[{"a": [')),
    in_array("messages of somebody else", messages("bob")),
    in_array("messages", messages("ann@example.org")),
)
TABLES = (
    in_table("a field without an end", lambda size: '2,2024-03-01,"' + repeated("x", size)),
    in_table("quotes", lines('"')),
    in_table("commas", lines(",")),
    in_table("quotes and commas", lines('",')),
    in_table("empty lines", lines("\n")),
    in_table("quotes that open on each line", lines('a,"b\n')),
)
OTHERS = (
    Hostile("history: one long line", "jsonl", "a.jsonl", lambda size: b'{"text": "' + b"x" * size),
    Hostile("history: deep lines", "jsonl", "a.jsonl", lambda size: nested("[", "]")(size).encode()),
    Hostile("history: lines that are no JSON", "jsonl", "a.jsonl", lambda size: b"[\n" * (size // 2)),
    commits("a long message", lambda size: [repeated("tea ", size)]),
    commits("many messages", lambda size: ["Tea\n\nMilk."] * (size // 100)),
    *(
        commits(repr(piece), lambda size, piece=piece: ["Tea\n\nMilk.\n\n" + repeated(piece, size)])
        for piece in FOOTERS
    ),
    *(commits(f"subject: {piece}", lambda size, piece=piece: [repeated(piece, size) + "\n\nMilk."]) for piece in SIGNS),
)
EXPORTS = (
    in_chat("lines of one letter", lambda size: "a\n" * (size // 2)),
    in_chat("messages", lambda size: repeated("13.03.24, 09:12 - Ann: Tea.\n", size)),
    in_chat("stamps that do not end", lambda size: repeated("13.03.24, 09:12 ", size)),
    in_chat("marks", lambda size: repeated("\u200e<", size)),
    Hostile("telegram: replies", "telegram", "result.json", replies, me="Ann"),
    Hostile("x: mentions", "x", "tweets.js", lambda size: tweet(repeated("@a ", size))),
    Hostile("docx: paragraphs in paragraphs", "markdown", "a.docx", lambda size: word("<p>", size)),
    Hostile("docx: empty paragraphs", "markdown", "a.docx", lambda size: word("<p/>", size)),
)
SOURCES: tuple[Hostile, ...] = (*NOTES, *CHATS, *TABLES, *OTHERS, *EXPORTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "size"),
    [
        *(pytest.param(row, MAIL_BYTES, id=row.name) for row in MAILS),
        *(pytest.param(row, SOURCE_BYTES, id=row.name) for row in SOURCES),
    ],
)
def test_eight_times_the_input_takes_no_more_than_about_eight_times_the_time(row: Hostile, size: int) -> None:
    assert any(row.growth(size) < LINEAR for _ in range(4))  # looked at again before a busy machine counts as one


def test_rows_have_names_of_their_own() -> None:
    names = [row.name for row in (*MAILS, *SOURCES)]
    assert len(set(names)) == len(names)


def test_an_input_has_about_the_size_that_was_asked_for() -> None:
    assert [len(repeated("tea ", size)) for size in (0, 3, 400)] == [4, 4, 400]
    for row in MAILS:
        assert MAIL_BYTES / 2 <= len(row.make(MAIL_BYTES)) <= 2 * MAIL_BYTES + 1_000, row.name
