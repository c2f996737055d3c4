"""Markdown, text and Org files: a blog, notes, a diary. A file is a document, a long one several."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pearl.errors import InputError
from pearl.history import UTF_16
from pearl.records import Document
from service.importers.base import NO_TEXT, NOT_MINE, Flaws, Items, LeftOut, Options, Remark, SourceDocument
from service.importers.folders import LINKED, FolderEntry, folder_entries, unread
from service.importers.ids import stable_id
from service.importers.notes.blocks import Block, divide, only_links, own_blocks, without_code
from service.importers.notes.dates import NoteDates
from service.importers.notes.front_matter import MAX_HEAD_CHARACTERS, UnreadableHead, split_front_matter, split_notion
from service.importers.notes.joplin import SUFFIX as JOPLIN_ARCHIVE
from service.importers.notes.joplin import split_record, unpacked
from service.importers.notes.kinds import (
    CHAT,
    CLIPPING,
    SUFFIXES,
    authors,
    has_foreign_source,
    is_chat,
    is_unfilled,
    why_no_text,
)
from service.importers.notes.markup import clean_markup
from service.importers.notes.org_text import read_org
from service.importers.quotes import split_quotes
from service.importers.requests import as_request

MAX_FILE_BYTES = 10_000_000
LEADING_DATE = re.compile(r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[T_-]?\d{4,6})?[-_. ]+(?=\S)")
NOTION_ID = re.compile(r"(?<=\S) [0-9a-f]{32}$")  # behind the title in a file's name
UNREAD = {".adoc", ".doc", ".docx", ".htm", ".html", ".odt", ".rst", ".rtf", ".tex"}  # kinds that hold texts, too
NAMED_BY_FOLDER = {"index", "_index", "readme"}


class MarkdownImporter:
    name = "markdown"
    summary = "Markdown, text or Org files: a blog, a vault of notes, a diary."
    examples = (
        "pearl import markdown ~/blog/content/posts --user ann --voice blog",
        "pearl import markdown ~/vault --user ann --me 'Ann Lee'",
        "pearl import markdown notes.md --user ann",
    )
    unit = "files"
    needs_user = True
    needs_me = False  # where it is given, files whose front matter names another author are left out
    stable_ids = True
    template = "post"

    def size(self, source: Path) -> int | None:
        return None if source.suffix.lower() == JOPLIN_ARCHIVE else len(_files(source))

    def read(self, source: Path, options: Options) -> Items:
        with unpacked(source) as root:
            yield from self._read(root, source if root.is_dir() else source.parent, options)

    def _read(self, root: Path, shown: Path, options: Options) -> Items:
        """Read what lies at ``root`` as what people know as a folder's, ``shown``."""
        files = _files(root)
        if not files:
            raise InputError(f"{shown}: there is no {', '.join(SUFFIXES)} file in it.", code="no_files")
        flaws, writers = Flaws(), Counter[str]()
        dates = NoteDates(root if root.is_dir() else shown, lambda: _all_fields(files), flaws)
        for entry in files:
            options.advance(1)
            where = str(shown / entry.name)
            if entry.is_link:
                yield LeftOut(where, LINKED)
                continue
            try:
                note = _read_note(entry, flaws)
                writers.update(authors(note.fields)[:1])
                for item in _items(note, dates, flaws, options):
                    yield replace(item, where=where)
            except InputError as error:
                yield LeftOut.because_of(error, where)
        yield from dates.remarks()
        yield from flaws.remarks()
        yield from _remarks(writers, options)
        yield from unread(root, UNREAD, "convert them to Markdown, for example 'pandoc FILE -t gfm -o FILE.md'.")


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A file: what it says about itself, and the rest; ``head`` is the part that says it."""

    path: Path
    name: str
    fields: dict[str, Any]
    head: str
    body: str
    left_out: str | None = None  # the reason, where the program that wrote it says that it is no text


def _files(source: Path) -> list[FolderEntry]:
    if not source.is_dir():
        return [FolderEntry(source, source.name, is_link=False)]  # a link that was named is meant
    entries = folder_entries(source, hidden=False)
    return [
        entry for entry in entries if entry.path.suffix.lower() in SUFFIXES or (entry.is_link and entry.path.is_dir())
    ]


def _read_note(entry: FolderEntry, flaws: Flaws) -> NoteFile:
    path = entry.path
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise InputError(f"has more than {MAX_FILE_BYTES:,} bytes, the limit.", code="file_too_large")
        encoding = "UTF-16" if content.startswith(UTF_16) else "UTF-8"
        text = content.decode(encoding).removeprefix("\N{BOM}")
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not {encoding} (byte {error.start + 1} of the file); save it as UTF-8.", code="not_utf8"
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", code="unreadable_file") from error
    if "\0" in text:  # the Markdown parser would turn it into something harmless
        raise InputError("contains a NUL character; is it a binary file?", param="text", code="nul_character")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if record := split_record(text):
        return NoteFile(path, entry.name, record.fields, "", record.body, record.left_out)
    try:
        if path.suffix.lower() == ".org":
            fields, body = read_org(text)
        else:
            fields, body = split_notion(text) if NOTION_ID.search(path.stem) else split_front_matter(text)
    except UnreadableHead as error:
        if is_unfilled(text[:MAX_HEAD_CHARACTERS]):
            return NoteFile(path, entry.name, {}, text, "")  # {{date}} is no YAML
        flaws.note("Front matter that cannot be read", entry.name, error.message)
        fields, body = {}, error.body
    head = text[: len(text) - len(body)] if text.endswith(body) else ""
    return NoteFile(path, entry.name, fields, head, body)


def _items(note: NoteFile, dates: NoteDates, flaws: Flaws, options: Options) -> Iterator[SourceDocument | LeftOut]:
    where = note.name
    reason = _why_left_out(note, options)
    if reason:
        yield LeftOut(where, reason)
        return
    blocks = _blocks(note, flaws)
    title = _text_field(note, "title") or _heading(blocks) or _title_of_name(note.name)
    if blocks and blocks[0].heading == title:
        blocks = blocks[1:]
    if not any(block.heading is None for block in blocks):
        yield LeftOut(where, NO_TEXT)
        return
    if only_links(blocks):
        yield LeftOut(where, "only links")
        return
    timestamp = dates.of(note.name, note.fields, note.path)
    voice = _text_field(note, "voice") or options.voice
    for number, text in enumerate(divide(blocks), start=1):
        id_ = stable_id(note.name if number == 1 else f"{note.name}#{number}")
        yield SourceDocument(options.owner, Document(id_, text, timestamp, as_request(title), voice), where)


def _why_left_out(note: NoteFile, options: Options) -> str | None:
    if is_chat(note.body):
        return CHAT
    reason = note.left_out or why_no_text(note.name, note.fields, note.head)
    if reason and reason != CLIPPING:
        return reason
    writers = authors(note.fields)
    if writers and options.me:  # a copy of what one has published elsewhere is one's own
        return None if options.identities.match(*writers) else NOT_MINE
    return CLIPPING if reason or (writers and has_foreign_source(note.fields)) else None


def _blocks(note: NoteFile, flaws: Flaws) -> list[Block]:
    suffix = note.path.suffix.lower()
    if suffix == ".txt":
        text = split_quotes(note.body).own
        return [Block(text, words=len(text.split()))] if text.strip() else []

    def say(kind: str) -> None:
        flaws.note(kind, note.name)

    body = note.body if suffix == ".org" else without_code(note.body, say)
    return own_blocks(clean_markup(body, mdx=suffix == ".mdx", text_first=suffix == ".mdwn", note=say), say)


def _heading(blocks: list[Block]) -> str | None:
    """The heading that the text begins with, else the first of the highest level."""
    first = blocks[0].heading if blocks else None
    return first or next((block.heading for block in blocks if block.heading and block.text.startswith("# ")), None)


def _text_field(note: NoteFile, field: str) -> str | None:
    value = note.fields.get(field)
    return str(value).strip() or None if isinstance(value, (str, int, float)) else None


def _title_of_name(name: str) -> str:
    """The file's name without its date, with spaces where it has none; the folder's for an index."""
    path = PurePosixPath(name)
    stem = path.parent.name if path.stem.lower() in NAMED_BY_FOLDER and path.parent.name else path.stem
    dated = LEADING_DATE.match(stem)
    stem = NOTION_ID.sub("", stem[dated.end() :] if dated else stem)
    return stem if " " in stem else re.sub(r"[-_]+", " ", stem).strip() or stem


def _all_fields(files: list[FolderEntry]) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry in files:
        if not entry.is_link and entry.path.is_file():  # a pipe can be read once
            with suppress(InputError):
                yield entry.name, _read_note(entry, Flaws()).fields


def _remarks(writers: Counter[str], options: Options) -> Iterator[Remark]:
    if len(writers) > 1 and not options.me:
        named = ", ".join(f"{name} ({count:,})" for name, count in writers.most_common(5))
        yield Remark(f"The files name {len(writers):,} authors: {named}. Say with --me which of them is the user.")
