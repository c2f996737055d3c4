"""How long the importers other than mail's take on what was made to keep them busy, as ``hostile_imports`` does."""

from __future__ import annotations

import io
import json
import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Measured, over_repetitions
from benchmarks.hostile_imports import LINEAR, QUICK_REPETITIONS, REPETITIONS, TIMES, Hostile, repeated

TITLE = "Importing notes, chats and tables that were made to keep an importer busy"
BYTES = 8_000
SLACK = {"type": "message", "user": "ann@example.org", "ts": "1709283600.000100"}
EXPORTED = {"id": "1", "timestamp": "2024-03-01T10:00:00Z", "author": {"id": "ann@example.org"}}


def packed(files: dict[str, str]) -> bytes:
    """A zip file, not compressed."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


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
        return packed({"tea/2024-03-01.json": json.dumps(day)})

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
        return packed({"comments.csv": f"id,date,body\n1,2024-03-01 09:00:00 UTC,Tea at four.\n{make(size)}\n"})

    return Hostile(f"table: {name}", "reddit", "a.zip", table)


class HostileRepository(Hostile):
    """A repository with a history of about n bytes; the time is that of the importer, without git's."""

    def seconds(self, size: int) -> float:
        with TemporaryDirectory(prefix="pearl-bench-") as folder:
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
    commits("a long trailer", lambda size: ["Tea\n\n" + repeated("A: b\n", size)]),
)
ROWS: tuple[Hostile, ...] = (*NOTES, *CHATS, *TABLES, *OTHERS)


def measure(quick: bool) -> Measured:
    wanted, size = (QUICK_REPETITIONS, BYTES // 8) if quick else (REPETITIONS, BYTES)
    figures = tuple(
        over_repetitions(row.name, f"{row.name}, eight times the size", "x", growths, at_most=LINEAR)
        for row in ROWS
        for growths in [[row.growth(size) for _ in range(wanted)]]
    )
    return Measured(wanted, {"corpus": "made for it", "bytes": size, "times": TIMES, "rows": len(ROWS)}, figures)
