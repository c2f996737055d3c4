"""Reading a note's file: its metadata, its text, its blocks and its title."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pearl.errors import InputError
from pearl.text.history.files import UTF_16
from pearl.text.history.watched import open_watched
from service.importing.sources.archive import FolderEntry
from service.importing.sources.base import ParseWarnings
from service.importing.sources.notes.blocks import Block, own_blocks, without_code
from service.importing.sources.notes.front_matter import (
    MAX_HEAD_CHARACTERS,
    UnreadableHead,
    field_name,
    split_front_matter,
    split_notion,
)
from service.importing.sources.notes.kinds import OFFICE_SUFFIXES, TEMPLATE, is_unfilled
from service.importing.sources.notes.markup import DRAWER, ORG_BLOCK, OWN_DRAWER, block_ends, clean_markup
from service.importing.sources.notes.office import office_blocks, read_office
from service.importing.sources.notes.packed import split_record
from service.importing.sources.quotes import split_quotes

MAX_FILE_BYTES = 10_000_000
LEADING_DATE = re.compile(r"\d{4}[-_.]?\d\d[-_.]?\d\d(?:[T_-]?\d{4,6})?[-_. ]+(?=\S)")
NOTION_ID = re.compile(r"(?<=\S) [0-9a-f]{32}$")  # behind the title in a file's name
NAMED_BY_FOLDER = {"index", "_index", "readme"}
KEYWORD = re.compile(r"[ \t]*#\+(\w+):(?:[ \t]+(.*))?$")
HEADLINE = re.compile(r"(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED)[ \t]+)?(?:\[#[A-Z]\][ \t]+)?(.*)$")
TAGS = re.compile(r"[ \t]\[\d{0,4}(?:%|/\d{0,4})\]|[ \t]:[\w@#%:]{1,200}:[ \t]{0,20}$")
PROPERTY = re.compile(r"[ \t]*:(\w+):[ \t]+(.*)$")
LINK = re.compile(r"\[\[([^\[\]\n]{1,1000})\](?:\[([^\[\]\n]{1,500})\])?\]")
COMMENT_LINE = re.compile(r"[ \t]*[#:](?:[ \t]|$)")  # with a colon what a program put out
LIST_ITEM = re.compile(r"[ \t]*(?:[-+]|\d+[.)])[ \t]")


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note's file. ``fields``: its metadata; ``head``: the text that holds the metadata; ``body``: the text below."""

    path: Path
    name: str
    fields: dict[str, Any]
    head: str
    body: str
    left_out: str | None = None  # the reason, where the program that wrote it says that it is no text


def read_note(entry: FolderEntry, flaws: ParseWarnings) -> NoteFile:
    path = entry.path
    if path.suffix.lower() in OFFICE_SUFFIXES:
        fields, body = read_office(path)
        return NoteFile(path, entry.name, fields, "", body)
    try:
        with open_watched(path) as file:
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
        head = text.removesuffix(error.body)[:MAX_HEAD_CHARACTERS]
        if is_unfilled(text[:MAX_HEAD_CHARACTERS]) or re.search(r"\{[{%]", head):  # {{date}} is no YAML
            return NoteFile(path, entry.name, {}, head, "", TEMPLATE)
        flaws.note("Front matter that cannot be read", entry.name, error.message)
        fields, body = {}, error.body
    head = text[: len(text) - len(body)] if text.endswith(body) else ""
    return NoteFile(path, entry.name, fields, head, body)


def blocks_of(note: NoteFile, flaws: ParseWarnings) -> list[Block]:
    suffix = note.path.suffix.lower()
    if suffix in OFFICE_SUFFIXES:
        return office_blocks(note.body)
    if suffix == ".txt":
        text = split_quotes(note.body).own
        return [Block(text, words=len(text.split()))] if text.strip() else []

    def say(kind: str) -> None:
        flaws.note(kind, note.name)

    body = note.body if suffix == ".org" else without_code(note.body, say)
    return own_blocks(clean_markup(body, mdx=suffix == ".mdx", note=say), say)


def title_of(note: NoteFile, blocks: list[Block]) -> str:
    """Return a note's title: from its metadata, else its first or highest heading, else its file's name."""
    first = blocks[0].heading if blocks else None
    highest = (block.heading for block in blocks if block.heading and block.text.startswith("# "))
    return text_field(note, "title") or first or next(highest, None) or _title_of_name(note.name)


def text_field(note: NoteFile, field: str) -> str | None:
    value = note.fields.get(field)
    return str(value).strip() or None if isinstance(value, (str, int, float)) else None


def _title_of_name(name: str) -> str:
    """Make a title from a file's name: without date, with spaces for hyphens. An index file gets its folder's name."""
    path = PurePosixPath(name)
    stem = path.parent.name if path.stem.lower() in NAMED_BY_FOLDER and path.parent.name else path.stem
    dated = LEADING_DATE.match(stem)
    stem = NOTION_ID.sub("", stem[dated.end() :] if dated else stem)
    return stem if " " in stem else re.sub(r"[-_]+", " ", stem).strip() or stem


def read_org(text: str) -> tuple[dict[str, Any], str]:
    """Split an Org file into its metadata (keywords, and the properties before the first heading) and its text as
    Markdown."""
    fields: dict[str, Any] = {}
    lines = []
    has_heading = False
    all_lines = text.split("\n")
    ends, end, within = block_ends(all_lines), -1, False
    for number, line in enumerate(all_lines):
        keyword = KEYWORD.match(line)
        headline = HEADLINE.match(line)
        end = max(end, ends.get(number, -1) if not DRAWER.match(line) else -1)
        mark, is_drawer = OWN_DRAWER.fullmatch(line), bool(DRAWER.match(line))
        if mark and not (within or is_drawer):
            continue  # around a drawer of one's own, whose words stay
        within = is_drawer or (within and not headline and not (mark and mark[1].upper() == "END"))
        if number <= end or ORG_BLOCK.match(line):
            lines.append(line)
        elif keyword:
            fields.setdefault(field_name(keyword[1]), (keyword[2] or "").strip())
        elif headline:
            has_heading = True
            lines.append(f"\n{'#' * min(6, len(headline[1]))} {TAGS.sub('', headline[2])}\n")
        elif not COMMENT_LINE.match(line):
            property_ = PROPERTY.match(line)
            if property_ and not has_heading:
                fields.setdefault(field_name(property_[1]), property_[2].strip())
            lines.append(line if LIST_ITEM.match(line) or line.strip().startswith(":") else line.strip())
    return fields, LINK.sub(_shown, "\n".join(lines))


def _shown(match: re.Match[str]) -> str:
    target, words = match.groups()
    if words:
        return words if target.startswith(("id:", "file:", "*", "#", "./")) else f"[{words}]({target})"
    return "" if target.startswith(("file:", "./", "attachment:")) else target.removeprefix("id:")
