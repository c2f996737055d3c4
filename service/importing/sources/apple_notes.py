"""Apple Notes, as privacy.apple.com sends them: a folder with the text of each note, and tables that list all notes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from pearl.errors import InputError
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import Archive, ArchiveImporter
from service.importing.sources.base import NO_TEXT, NOT_MINE, Item, Items, LeftOut, Options
from service.importing.sources.dates import date_in_form
from service.importing.sources.markdown import FOLDERS, MarkdownImporter
from service.importing.sources.notes.blocks import Block, divide
from service.importing.sources.notes.files import MAX_FILE_BYTES
from service.importing.sources.notes.kinds import CHAT, is_chat
from service.importing.sources.quotes import split_quotes

NOTES, DETAILS, OTHERS = "*.txt", "notes details.csv", "subscribed notes info.csv"
TRASH = "recently deleted"
WRITTEN = "%m-%d-%Y %H:%M:%S"
AGAIN = re.compile(r"-(\d{1,4})$")  # behind the title in a file's name: another note with this title
ATTACHMENT = "\N{OBJECT REPLACEMENT CHARACTER}"


class AppleNotesImporter(ArchiveImporter):
    name = "apple-notes"
    summary = "Apple Notes as privacy.apple.com sends them, a zip file or folder."
    examples = ("pearl import apple-notes 'iCloud Notes.zip' --user ann --voice notes",)
    template = "post"
    patterns = (NOTES,)
    missing = (
        "is not Apple's copy of your notes; there is no 'Notes Details.csv' with notes in it. Import notes that you "
        "exported as Markdown with 'pearl import markdown'."
    )
    flags: Mapping[str, str] = {FOLDERS: MarkdownImporter.flags[FOLDERS]}

    def names(self, archive: Archive) -> list[str]:
        return super().names(archive) if _dates(archive) else []

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        dates, others = _dates(archive), {f"/{row['File Name']}".lower() for row in _rows(archive, OTHERS, "File Name")}
        yield from archive.each(names, lambda name: _items(archive, name, dates, others, options))


def _rows(archive: Archive, name: str, column: str) -> Iterator[dict[str, str]]:
    for path in archive.matching(name):
        for _, row in archive.rows(path, (column,)):
            if isinstance(row, dict):  # a blank stands behind each comma of the first line
                yield {key.strip(): value.strip() for key, value in row.items()}


def _dates(archive: Archive) -> dict[str, list[str]]:
    """Return, by title, when notes were created; notes with the same title are in the table's order."""
    dates: dict[str, list[str]] = {}
    for row in _rows(archive, DETAILS, "Title"):
        dates.setdefault(row["Title"], []).append(row.get("Created On") or row.get("Modified On") or "")
    return dates


def _items(
    archive: Archive, name: str, dates: dict[str, list[str]], others: set[str], options: Options
) -> Iterator[Item]:
    where, path = archive.where(name), PurePosixPath(name)
    with archive.open(name, options.advance) as stream:
        content = stream.read(MAX_FILE_BYTES + 1)
    folders = [part.lower() for part in path.parts[:-1]]
    if TRASH in folders:
        yield LeftOut(where, "in the trash")
        return
    if any(f"/{name}".lower().endswith(other) for other in others):
        yield LeftOut(where, NOT_MINE)  # somebody shared it
        return
    if len(content) > MAX_FILE_BYTES:
        raise InputError(f"has more than {MAX_FILE_BYTES:,} bytes, the limit.", code="file_too_large")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n").replace(ATTACHMENT, "").strip()
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start + 1} of the file).", code="not_utf8") from None
    first, _, rest = text.partition("\n")
    title = next((each for each in (path.parent.name, first.strip(), path.stem) if each in dates), first.strip())
    own = split_quotes(rest.strip() or first).own
    if not own or is_chat(text):
        yield LeftOut(where, CHAT if own else NO_TEXT)
        return
    seconds = _seconds(dates.get(title, [""]), AGAIN.search(path.stem))
    above = path.parts[folders.index("notes") + 1 : -2] if "notes" in folders else ()
    voice = above[0] if above and FOLDERS in options.flags else None
    for number, part in enumerate(divide([Block(each) for each in own.split("\n\n")]), start=1):
        named = f"applenotes:{'/'.join(path.parts[-3:])}" + (f"#{number}" if number > 1 else "")
        yield options.document(where, named, part, seconds, first if rest.strip() else None, voice)


def _seconds(written: list[str], again: re.Match[str] | None) -> float:
    value = written[min(int(again[1]) if again else 0, len(written) - 1)]
    moment = date_in_form(value, WRITTEN)
    if moment is None:
        raise InputError("'Notes Details.csv' does not say when it was written.", code="no_date")
    return parse_timestamp(moment, param="Created On")
