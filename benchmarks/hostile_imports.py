"""How long importers take on files that were made to keep them busy: eight times the size, how many times the time.

A row makes an input of about n bytes and reads it; what grows with the square of the input shows 64, what is linear 8.
The time is the processor's, the least of several, so that other processes do not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Measured, over_repetitions
from service.importers.base import Options, load_importer

TITLE = "Importing what was made to keep an importer busy"
REPETITIONS, QUICK_REPETITIONS = 3, 1
BYTES = 16_000
TIMES = 8
ATTEMPTS = 2
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
        with TemporaryDirectory(prefix="pearl-bench-") as folder:
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

    def growth(self, size: int = BYTES, attempts: int = ATTEMPTS) -> float:
        """How many times longer eight times the input takes. ``attempts``: readings of the larger one, which on a busy
        machine take longer, but never less than they need."""
        small = min(self.seconds(size) for _ in range(ATTEMPTS))
        return min(self.seconds(TIMES * size) for _ in range(attempts)) / small


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
# a row for each shape of input; other importers' rows stand below the mail's
ROWS: tuple[Hostile, ...] = (
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
    in_mail("lines that start with 'From '", "From Mon Mon 1:11 1:11\n"),
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


def measure(quick: bool) -> Measured:
    wanted, size = (QUICK_REPETITIONS, BYTES // 8) if quick else (REPETITIONS, BYTES)
    figures = tuple(
        over_repetitions(
            row.name,
            f"{row.name}, eight times the size",
            "x",
            [row.growth(size) for _ in range(wanted)],
            at_most=LINEAR,
        )
        for row in ROWS
    )
    return Measured(wanted, {"corpus": "made for it", "bytes": size, "times": TIMES, "rows": len(ROWS)}, figures)
