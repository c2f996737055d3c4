"""Markdown files: a blog, notes, a diary. A file is a document, a long one several."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pearl.errors import InputError
from pearl.records import Document
from pearl.texts import parse_timestamp
from service.importers.base import NO_TEXT, NOT_MINE, Found, Items, LeftOut, Options
from service.importers.html_text import html_to_text
from service.importers.ids import stable_id
from service.importers.quotes import tidy
from service.importers.requests import as_request

SUFFIXES = (".md", ".markdown", ".mdown", ".mkd")
MAX_FILE_BYTES = 10_000_000
PART_CHARACTERS = 8_000  # a longer text is divided before a heading or paragraph: prompts have no room for it whole
DROPPED = {"fence", "code_block", "blockquote_open"}
IMAGE = re.compile(r"!\[[^\]\n]*\](?:\([^)\n]*\)|\[[^\]\n]*\])")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class MarkdownImporter:
    name = "markdown"
    summary = "A Markdown file, or a folder of them (a blog, notes)."
    examples = (
        "pearl import markdown ~/blog/content/posts --user ann --voice blog",
        "pearl import markdown notes.md --user ann",
    )
    unit = "files"
    needs_user = True
    needs_me = False  # where it is given, files whose front matter names another author are left out
    stable_ids = True
    template = "post"

    def size(self, source: Path) -> int | None:
        return len(_files(source))

    def read(self, source: Path, options: Options) -> Items:
        files = _files(source)
        if not files:
            raise InputError(f"{source}: there is no {', '.join(SUFFIXES)} file in it.", code="no_files")
        for path in files:
            options.advance(1)
            name = path.relative_to(source).as_posix() if path != source else path.name
            try:
                yield from _items(_read_note(path), name, options, str(path))
            except InputError as error:
                yield LeftOut.because_of(error, str(path))


@dataclass(frozen=True, slots=True)
class Note:
    """A file: what its front matter says, and the rest; ``modified`` is the file's own time."""

    name: str
    meta: dict[str, Any]
    body: str
    modified: float


def _files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    return sorted(
        path
        for path in source.rglob("*")
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(source).parts)
    )


def _read_note(path: Path) -> Note:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise InputError(f"has {size:,} bytes; the limit is {MAX_FILE_BYTES:,}.", code="file_too_large")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start + 1} of the file).", code="not_utf8") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", code="unreadable_file") from error
    if "\0" in text:  # the Markdown parser would turn it into something harmless
        raise InputError("contains a NUL character; is it a binary file?", param="text", code="nul_character")
    meta, body = _split_front_matter(text.replace("\r\n", "\n"))
    return Note(path.stem, meta, body, path.stat().st_mtime)


def _split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """YAML between ``---`` lines or TOML between ``+++`` lines, and the text below."""
    try:
        if text.startswith("+++\n"):
            head, mark, body = text[4:].partition("\n+++\n")
            return (tomllib.loads(head), body) if mark else ({}, text)
        if text.startswith("---\n"):
            meta, body = frontmatter.parse(text, handler=YAMLHandler())
            return (meta, body) if meta else ({}, text)  # without fields it is only a line across the page
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"cannot be understood: {reason}", param="front matter", code="invalid_front_matter") from None
    return {}, text


def _items(note: Note, name: str, options: Options, where: str) -> Iterator[Found | LeftOut]:
    if options.me and note.meta.get("author") and not options.identities.match(note.meta["author"]):
        yield LeftOut(where, NOT_MINE)
        return
    blocks = _own_blocks(note.body)
    title = _text_field(note, "title") or _first_heading(blocks) or note.name
    if blocks and blocks[0].heading == title:
        blocks = blocks[1:]
    timestamp = _timestamp(note)
    voice = _text_field(note, "voice") or options.voice
    parts = _parts(blocks)
    if not any(block.heading is None for block in blocks):
        yield LeftOut(where, NO_TEXT)
        return
    for number, text in enumerate(parts, start=1):
        id_ = stable_id(name if number == 1 else f"{name}#{number}")
        yield Found(options.owner, Document(id_, text, timestamp, as_request(title), voice), where)


def _text_field(note: Note, field: str) -> str | None:
    value = note.meta.get(field)
    return str(value).strip() or None if isinstance(value, (str, int, float)) else None


def _timestamp(note: Note) -> float:
    date = note.meta.get("date")
    if date is None:
        return note.modified
    if isinstance(date, (datetime.date, datetime.datetime)):
        date = date.isoformat()
    return parse_timestamp(date, param="date")


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, list, table or heading as it stands in the source; ``heading`` is a heading's text."""

    text: str
    heading: str | None = None


def _first_heading(blocks: list[Block]) -> str | None:
    return next((block.heading for block in blocks if block.heading), None)


def _own_blocks(body: str) -> list[Block]:
    """The blocks in their own Markdown, without code blocks, quotes, comments, images and link definitions."""
    tokens = _parser().parse(body)
    lines = body.split("\n")
    dropped = {number for token in tokens if token.type in DROPPED and token.map for number in range(*token.map)}
    blocks = []
    for position, token in enumerate(tokens):
        if token.level or token.map is None or token.type == "hr":
            continue
        text = "\n".join(lines[number] for number in range(*token.map) if number not in dropped)
        text = COMMENT.sub("", text)
        text = tidy((html_to_text(text) if token.type == "html_block" else IMAGE.sub("", text)).split("\n"))
        if text.strip():
            blocks.append(Block(text, _plain(tokens[position + 1]) if token.type == "heading_open" else None))
    return blocks


def _plain(inline: Token) -> str:
    """A heading's text without its markup."""
    children = inline.children or []
    words = "".join(
        " " if child.type.endswith("break") else child.content for child in children if child.type != "image"
    )
    return " ".join(words.split())


def _parts(blocks: list[Block]) -> list[str]:
    """The text, divided where it gets longer than PART_CHARACTERS; a heading goes with what follows it."""
    parts: list[list[str]] = [[]]
    length = 0
    for position, block in enumerate(blocks):
        following = len(blocks[position + 1].text) if block.heading and position + 1 < len(blocks) else 0
        if parts[-1] and length + len(block.text) + following > PART_CHARACTERS:
            parts.append([])
            length = 0
        parts[-1].append(block.text)
        length += len(block.text)
    return ["\n\n".join(part) for part in parts if part]


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")
