"""Reddit: the data that Reddit sends on request (CSV), and dumps of comments and posts (JSON Lines)."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.text.history.files import read_json_lines
from pearl.text.usable import json_type, parse_timestamp
from service.importing.sources.archive import Archive, DiskIndex, folder_entries, missing_field, open_archive
from service.importing.sources.base import (
    NO_TEXT,
    NOT_MINE,
    Importer,
    Item,
    Items,
    LeftOut,
    Options,
    as_request,
    read_each,
)
from service.importing.sources.identities import Identities
from service.importing.sources.quotes import split_quotes

TABLES = ("posts.csv", "comments.csv")
DUMPS = (".jsonl", ".ndjson", ".json", ".gz")
DELETED = ("[deleted]", "[removed]", "[ Removed by Reddit ]")
QUOTE = re.compile(r"^ {0,3}(?:>(?!!) ?)+")  # >!this!< is a spoiler
COMMENT, POST = "t1_", "t3_"  # what Reddit puts before an id to say what it names
POST_IN_LINK = re.compile(r"/comments/(\w+)")


class RedditImporter(Importer):
    name = "reddit"
    summary = "The data Reddit sends on request, or a dump of comments and posts."
    examples = (
        "pearl import reddit export_ann_20260301.zip --user ann --voice reddit",
        "pearl import reddit comments.ndjson --user ann --me ann_lee",
    )
    needs_me = False  # the data Reddit sends are only their owner's

    def size(self, source: Path) -> int | None:
        with open_archive(source) as archive:
            tables = archive.matching(*TABLES)
            dumps = sum(path.stat().st_size for path in _dumps(source))
            return 2 * (sum(archive.files[name] for name in tables) or dumps)

    def read(self, source: Path, options: Options) -> Items:
        with open_archive(source) as archive:
            tables = archive.matching(*TABLES)
            if tables:
                yield from _items(partial(_table_entries, archive, tables, options), Identities(()), options)
                return
        dumps = _dumps(source)
        if not dumps:
            raise InputError(
                f"{source}: there are no comments.csv, posts.csv or JSON Lines in it.", code="not_an_export"
            )
        options.check_me("the dump", "a user name")
        yield from _items(partial(_dump_entries, dumps, options), options.identities, options)


@dataclass(frozen=True, slots=True)
class RedditEntry:
    """A comment or post. ``name``: its full name (t1_..., t3_...); ``answers``: the full name of what it replies to;
    ``time_field``: the name of the source's field with its time."""

    name: str
    author: str | None  # None where all entries are their owner's
    time: Any
    time_field: str
    title: str
    body: str
    answers: str | None
    subreddit: str | None
    post: str | None  # full name of the post that it stands under

    @property
    def whole(self) -> str:
        return "\n\n".join(part for part in (self.title, split_quotes(self.body, QUOTE).own) if part)


Place = tuple[str, RedditEntry | InputError]  # of the source, and what stands there, or why there is nothing
Places = Callable[[], Iterable[Place]]  # all of them, as often as they are gone through


def _items(places: Places, me: Identities, options: Options) -> Iterator[Item]:
    """Yield the items. The source is read twice, because a reply may stand before what it replies to."""
    with DiskIndex() as written:
        for _, entry in places():
            if isinstance(entry, RedditEntry) and entry.body.strip() not in DELETED:
                written.put(entry.name, entry.whole)
        yield from read_each(places(), partial(_item, written, me, options))


def _item(written: DiskIndex, me: Identities, options: Options, entry: RedditEntry, where: str) -> Item:
    if me and not me.match(entry.author):
        return LeftOut(where, NOT_MINE)
    if entry.body.strip() in DELETED:
        return LeftOut(where, "deleted or removed")
    parts = split_quotes(entry.body, QUOTE)
    if not parts.own.strip():
        return LeftOut(where, NO_TEXT)
    answered = written.get(entry.answers) if entry.answers else None
    request = as_request(entry.title) or as_request(answered) or parts.quoted
    time = parse_timestamp(entry.time, param=entry.time_field)
    subreddit = f"r/{entry.subreddit}" if entry.subreddit else None
    return options.document(where, entry.name, parts.own, time, request, recipient=subreddit, thread=entry.post)


def _table_entries(archive: Archive, names: list[str], options: Options) -> Iterator[Place]:
    """Yield the rows of posts.csv and comments.csv as entries, with their places."""
    for name in names:
        prefix = POST if name.lower().endswith("posts.csv") else COMMENT
        try:
            for where, row in archive.rows(name, ("id", "date", "body"), options.advance):
                yield where, _table_entry(row, prefix)
        except InputError as error:
            yield archive.where(name), error


def _table_entry(row: dict[str, str] | InputError, prefix: str) -> RedditEntry | InputError:
    if isinstance(row, InputError):
        return row
    if not row["id"]:
        return missing_field("id")
    name, link = _full_name(row["id"], prefix), POST_IN_LINK.search(row.get("link", "") or row.get("permalink", ""))
    post, parent = name if prefix == POST else POST + link[1] if link else None, row.get("parent", "")
    return RedditEntry(
        name=name,
        author=None,
        time=row["date"].removesuffix(" UTC"),
        time_field="date",
        title=row.get("title", "").strip() if prefix == POST else "",
        body=_unescaped(row["body"]),
        answers=None if prefix == POST else _full_name(parent, COMMENT) if parent else post,
        subreddit=row.get("subreddit"),
        post=post,
    )


def _full_name(id_: str, prefix: str) -> str:
    return id_ if id_.startswith((COMMENT, POST)) else prefix + id_


def _dumps(source: Path) -> list[Path]:
    if source.is_file():
        return [source]
    entries = folder_entries(source)
    return [entry.path for entry in entries if entry.path.suffix.lower() in DUMPS and not entry.is_link]


def _dump_entries(paths: list[Path], options: Options) -> Iterator[Place]:
    """Yield the entries of JSON Lines files, with their places."""
    for path in paths:
        try:
            for line in read_json_lines(path, options.advance):
                yield f"{path}:{line.number}", _dump_entry(line.value)
        except InputError as error:
            yield str(path), InputError(error.message.removeprefix(f"{path}: "), code=error.code)


def _dump_entry(fields: dict[str, Any] | InputError) -> RedditEntry | InputError:
    if isinstance(fields, InputError):
        return fields
    is_comment = "body" in fields
    for name in ("id", "author", "created_utc", *(() if is_comment else ("title",))):
        if fields.get(name) is None:
            return missing_field(name)
    text_field = "body" if is_comment else "selftext"
    body = fields.get(text_field) or ""
    if not isinstance(body, str):
        message = f"'{text_field}' must be a string, not {json_type(body)}."
        return InputError(message, param=text_field, code="wrong_type")
    name = _full_name(str(fields["id"]), COMMENT if is_comment else POST)
    return RedditEntry(
        name=name,
        author=str(fields["author"]),
        time=_seconds(fields["created_utc"]),
        time_field="created_utc",
        title="" if is_comment else html.unescape(str(fields["title"])).strip(),
        body=_unescaped(body),
        answers=str(fields["parent_id"]) if is_comment and fields.get("parent_id") else None,
        subreddit=fields.get("subreddit") and str(fields["subreddit"]),
        post=name if not is_comment else fields.get("link_id") and str(fields["link_id"]),
    )


def _unescaped(body: str) -> str:
    """Decode HTML entities. The zero-width spaces of Reddit's editor are removed, so empty paragraphs are empty."""
    return html.unescape(body).replace("\N{ZERO WIDTH SPACE}", "")


def _seconds(value: Any) -> Any:
    """Convert seconds that are written as a string to a number, as some dumps have them."""
    return float(value) if isinstance(value, str) and re.fullmatch(r"\d+(\.\d+)?", value) else value
