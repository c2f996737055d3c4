"""Common sources that no importer reads: how to tell it, and what to do with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from service.importing.guessing.sight import FileSniff

HISTORY_FILE = "write it as a history file (JSON Lines with id, timestamp and text), then 'pearl import jsonl FILE'."
PANDOC = "convert it to Markdown, for example with 'pandoc FILE -t gfm -o FILE.md', and import that."
TEXTS = r".*\.(?:md|markdown|mdx|org|txt)"
CHAT_FILES = r"(?:_chat|[^/]*whatsapp[^/]*)\.txt"
NOTIONS = r"exportblock-[^/]*part-\d+\.zip"
ANY_BUT_NOTIONS = rf"(?!(?:.*/)?{NOTIONS})[^/]*\.zip"
UNPACK = "unpack it and import the folder."


@dataclass(frozen=True, slots=True)
class UnsupportedSource:
    """Something by its look, and the advice."""

    looks: str
    what_to_do: str
    seen: Callable[[FileSniff], bool]


def advice(sight: FileSniff) -> tuple[str, str] | None:
    """The name of what the path looks like, and what to do; None if it looks like none of these."""
    for lookalike in () if sight.suffix == ".jex" else LOOKALIKES:  # a tar archive of notes
        if lookalike.seen(sight):
            return lookalike.looks, lookalike.what_to_do
    return None


def _starts(*magic: bytes) -> Callable[[FileSniff], bool]:
    return lambda sight: sight.head.startswith(magic)


def _begins(pattern: bytes) -> Callable[[FileSniff], bool]:
    return lambda sight: not sight.names and sight.begins(pattern)


def _holds(pattern: str) -> Callable[[FileSniff], bool]:
    return lambda sight: bool(sight.holds(pattern))


def _is_empty_folder(sight: FileSniff) -> bool:
    return sight.is_folder and not sight.names and not list(sight.source.iterdir())


def only_chats(sight: FileSniff) -> bool:
    """True where every text is named as WhatsApp names an exported chat."""
    chats = sight.holds(CHAT_FILES)
    return bool(chats) and chats == sight.holds(TEXTS)


def only_notes(sight: FileSniff) -> bool:
    """True for a zip file with texts and nothing that another importer reads."""
    packed = not sight.is_folder and bool(sight.names) and not only_chats(sight)
    other = r"(?:comments|posts)\.csv|.*\.json|.*\.mbox|.*\.eml"
    return packed and bool(sight.holds(TEXTS)) and not sight.holds(other)


LOOKALIKES = (
    UnsupportedSource("an empty folder", "give the folder that holds the files.", _is_empty_folder),
    UnsupportedSource("an empty file", "export it again.", lambda sight: not sight.is_folder and not sight.head),
    UnsupportedSource(
        "a PDF", "convert it to text, for example with 'pdftotext FILE', and import the .txt file.", _starts(b"%PDF")
    ),
    UnsupportedSource("a spreadsheet or slides", HISTORY_FILE, _holds(r"(?:xl/workbook|ppt/presentation)\.xml")),
    UnsupportedSource(
        "an EPUB or OpenDocument file",
        PANDOC,
        lambda sight: sight.suffix != ".odt" and bool(sight.holds(r"meta-inf/(?:container|manifest)\.xml")),
    ),
    UnsupportedSource(
        "an Outlook archive", "convert it with 'readpst -r FILE' and import the mbox files.", _starts(b"!BDN")
    ),
    UnsupportedSource(
        "an old Office document or Outlook message",
        "save it as .docx, .eml or text, and import that.",
        _starts(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    ),
    UnsupportedSource("rich text", PANDOC, _starts(b"{\\rtf")),
    UnsupportedSource(
        "an Evernote export",
        "convert it to Markdown (Evernote2md, Joplin) and import the folder.",
        _begins(rb".{0,500}<en-export"),
    ),
    UnsupportedSource(
        "a WordPress export",
        "convert it to Markdown (wordpress-export-to-markdown) and import the folder.",
        _begins(rb"<\?xml.{0,4000}(?:wordpress|wp:)"),
    ),
    UnsupportedSource("a web page", PANDOC, _begins(rb"(?:<!doctype html|<html)")),
    UnsupportedSource(
        "a Substack export",
        "convert its posts, for example with 'pandoc POST.html -t gfm -o POST.md', and import the folder.",
        lambda sight: bool(sight.holds(r"posts\.csv") and sight.holds(r"posts/[^/]*\.html")),
    ),
    UnsupportedSource(
        "an archive of Facebook or Instagram", HISTORY_FILE, _holds(r"inbox/.*/message_1\.(?:json|html)")
    ),
    UnsupportedSource("an SQLite database", HISTORY_FILE, _starts(b"SQLite format 3")),
    UnsupportedSource(
        "a compressed archive", UNPACK, _starts(b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd")
    ),
    UnsupportedSource("a tar archive", UNPACK, lambda sight: sight.head[257:262] == b"ustar"),
    UnsupportedSource(
        "a zip file of zip files",
        "unpack it and import what is in it.",
        lambda sight: bool(sight.names) and not sight.is_folder and set(sight.names) == {*sight.holds(ANY_BUT_NOTIONS)},
    ),
    UnsupportedSource(
        "Apple Mail's own store",
        "choose Mailbox > Export Mailbox in Apple Mail and import the folder that it makes.",
        lambda sight: sight.suffix == ".emlx" or bool(sight.holds(r".*\.emlx")),
    ),
    UnsupportedSource(
        "a picture", "PEARL reads texts only.", _starts(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*")
    ),
    UnsupportedSource("sound or video", "PEARL reads texts only.", _starts(b"ID3", b"OggS", b"\x1aE\xdf\xa3", b"fLaC")),
    UnsupportedSource(
        "a program or another binary file",
        "PEARL reads texts only.",
        lambda sight: not sight.names and b"\0" in sight.head,
    ),
)
