"""Notes, blogs and diaries: Markdown, text and Org files, documents of Word and LibreOffice.

Each file becomes a document; a long file becomes several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from pearl.errors import InputError
from service.importing.sources.archive import LINKED, FolderEntry, folder_entries, unread
from service.importing.sources.base import (
    NO_TEXT,
    NOT_MINE,
    Importer,
    Item,
    Items,
    LeftOut,
    Options,
    ParseWarnings,
    Remark,
)
from service.importing.sources.notes.blocks import divide, only_links
from service.importing.sources.notes.dates import NoteDates
from service.importing.sources.notes.files import NOTION_ID, NoteFile, blocks_of, read_note, text_field, title_of
from service.importing.sources.notes.kinds import (
    CHAT,
    CLIPPING,
    SUFFIXES,
    authors,
    has_foreign_source,
    is_chat,
    why_no_text,
)
from service.importing.sources.notes.packed import is_packed, packed_whole, unpacked

FOLDERS = "folders_as_voices"
UNREAD = {".adoc", ".doc", ".htm", ".html", ".rst", ".rtf", ".tex"}  # kinds that hold texts, too


class MarkdownImporter(Importer):
    name = "markdown"
    summary = "Markdown, text, Org, .docx or .odt files: a blog, a vault, a diary, letters; zipped, too."
    examples: tuple[str, ...] = (
        "pearl import markdown ~/blog/content/posts --user ann --voice blog",
        "pearl import markdown ~/vault --user ann --me 'Ann Lee'",
        "pearl import markdown notes.md --user ann",
    )
    unit = "files"
    needs_me = False  # where it is given, files whose front matter names another author are left out
    template = "post"
    advice = ""  # behind the error that there are no notes
    flags: Mapping[str, str] = {FOLDERS: "Take each folder that lies directly in SOURCE as the voice of its files."}

    def size(self, source: Path) -> int | None:
        return None if is_packed(source) else len(_files(source))

    def read(self, source: Path, options: Options) -> Items:
        with unpacked(source) as root:
            root = packed_whole(root) if is_packed(source) else root
            yield from self._read(root, source if root.is_dir() else source.parent, options)

    def named(self, name: str) -> str:
        """Return the name from which a note's document id is made. ``name``: the note's path."""
        return name

    def _read(self, root: Path, shown: Path, options: Options) -> Items:
        """Read the notes below ``root``. ``shown``: the path to show for it in messages."""
        files = _files(root)
        if not files:
            raise InputError(f"{shown}: there is no {', '.join(SUFFIXES)} file in it.{self.advice}", code="no_files")
        flaws, writers = ParseWarnings(), Counter[str]()
        dates = NoteDates(root if root.is_dir() else shown, lambda: _all_fields(files), flaws)
        for entry in files:
            options.advance(1)
            where = str(shown / entry.name)
            if entry.is_link:
                yield LeftOut(where, LINKED)
                continue
            try:
                note = read_note(entry, flaws)
                writers.update(authors(note.fields)[:1])
                for item in _items(note, self.named(note.name), dates, flaws, options):
                    yield replace(item, where=where)
            except InputError as error:
                yield LeftOut.because_of(error, where)
        yield from dates.remarks()
        yield from flaws.remarks()
        yield from _remarks(writers, options)
        yield from unread(root, UNREAD, "convert them to Markdown, for example 'pandoc FILE -t gfm -o FILE.md'.")


def _files(source: Path) -> list[FolderEntry]:
    if not source.is_dir():
        return [FolderEntry(source, source.name, is_link=False)]  # a link that was named is meant
    entries = folder_entries(source, hidden=False)
    return [
        entry for entry in entries if entry.path.suffix.lower() in SUFFIXES or (entry.is_link and entry.path.is_dir())
    ]


def _items(note: NoteFile, named: str, dates: NoteDates, flaws: ParseWarnings, options: Options) -> Iterator[Item]:
    where = note.name
    reason = _why_left_out(note, options)
    if reason:
        yield LeftOut(where, reason)
        return
    blocks = blocks_of(note, flaws)
    title = title_of(note, blocks)
    if blocks and blocks[0].heading == title:
        blocks = blocks[1:]
    if not any(block.heading is None for block in blocks):
        yield LeftOut(where, NO_TEXT)
        return
    if only_links(blocks):
        yield LeftOut(where, "only links")
        return
    timestamp = dates.of(note.name, note.fields, note.path)
    folder = PurePosixPath(note.name).parts[0] if FOLDERS in options.flags and "/" in note.name else None
    voice = text_field(note, "voice") or (folder and NOTION_ID.sub("", folder))
    for number, text in enumerate(divide(blocks), start=1):
        name = named if number == 1 else f"{named}#{number}"
        yield options.document(where, name, text, timestamp, title, voice)


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


def _all_fields(files: list[FolderEntry]) -> Iterator[tuple[str, dict[str, Any]]]:
    for entry in files:
        if not entry.is_link and entry.path.is_file():  # a pipe can be read once
            with suppress(InputError):
                yield entry.name, read_note(entry, ParseWarnings()).fields


def _remarks(writers: Counter[str], options: Options) -> Iterator[Remark]:
    if len(writers) > 1 and not options.me:
        named = ", ".join(f"{name} ({count:,})" for name, count in writers.most_common(5))
        yield Remark(f"The files name {len(writers):,} authors: {named}. Say with --me which of them is the user.")
