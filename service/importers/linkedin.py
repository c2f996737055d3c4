"""LinkedIn: the messages, posts and comments in the data that one can request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

from pearl.errors import InputError
from pearl.text.usable import parse_timestamp
from service.importers.archive import Archive, open_archive
from service.importers.base import NO_TEXT, NOT_MINE, Importer, Items, LeftOut, Options, SourceDocument
from service.importers.csv_rows import CsvRow, read_rows
from service.importers.html_text import html_to_text
from service.importers.turns import Turns

MESSAGES, SHARES, COMMENTS = "messages.csv", "shares.csv", "comments.csv"
FROM, LINK = "FROM", "SENDER PROFILE URL"


class LinkedInImporter(Importer):
    name = "linkedin"
    summary = "LinkedIn's data: messages, posts and comments, a zip file or folder."
    examples = ("pearl import linkedin Complete_LinkedInDataExport.zip --user ann --voice work",)
    needs_me = False  # Profile.csv names its owner

    def size(self, source: Path) -> int | None:
        with open_archive(source) as archive:
            return sum(archive.files[name] for name in archive.matching(MESSAGES, SHARES, COMMENTS))

    def read(self, source: Path, options: Options) -> Items:
        with open_archive(source) as archive:
            names = archive.matching(MESSAGES, SHARES, COMMENTS)
            if not names:
                raise InputError(
                    f"{source}: there is no messages.csv, Shares.csv or Comments.csv in it.", code="not_an_export"
                )
            owner = _owner(archive)
            if owner and not options.identities:
                options.identities.add(owner)
            yield from archive.each(names, lambda name: _read(archive, name, options))


def _owner(archive: Archive) -> str | None:
    for name in archive.matching("profile.csv"):
        with suppress(InputError), archive.open(name) as stream:
            for row in read_rows(stream, ("First Name", "Last Name")):
                if isinstance(row.value, dict):
                    return f"{row.value['First Name']} {row.value['Last Name']}".strip() or None
    return None


def _read(archive: Archive, name: str, options: Options) -> Iterator[SourceDocument | LeftOut]:
    if name.lower().endswith(MESSAGES) and not options.identities:
        raise InputError("Say who in messages.csv is you with --me (a name).", param="me", code="missing_me")
    with archive.open(name, options.advance) as stream:
        if name.lower().endswith(MESSAGES):
            rows = read_rows(stream, ("CONVERSATION ID", FROM, "TO", "DATE", "CONTENT"))
            for _, conversation in groupby(rows, key=_conversation):
                yield from _messages(list(conversation), archive.where(name), options)
            return
        is_comment = name.lower().endswith(COMMENTS)
        text, link = ("Message", "Link") if is_comment else ("ShareCommentary", "ShareLink")
        for row in read_rows(stream, ("Date", text, link)):
            where = f"{archive.where(name)}:{row.line}"
            try:
                if isinstance(row.value, InputError):
                    raise row.value
                yield _post(row.value, row.value[text], row.value[link], is_comment, options, where)
            except InputError as error:
                yield LeftOut.because_of(error, where)


def _post(
    row: dict[str, str], text: str, link: str, is_comment: bool, options: Options, where: str
) -> SourceDocument | LeftOut:
    own = text.replace('"\n"', "\n").strip().strip('"').strip()  # LinkedIn quotes each line of a post by itself
    if not own:
        return LeftOut(where, NO_TEXT)
    seconds = parse_timestamp(row["Date"].removesuffix(" UTC"), param="Date")
    name = f"{link}\0{row['Date']}\0{own}" if is_comment else f"linkedin:{link}"
    return options.document(where, name, own, seconds, None, thread=link if is_comment and link else None)


def _conversation(row: CsvRow) -> str:
    return row.value["CONVERSATION ID"] if isinstance(row.value, dict) else ""


def _messages(rows: list[CsvRow], file: str, options: Options) -> Iterator[SourceDocument | LeftOut]:
    """The messages of a conversation, of which the newest stands first in the file."""
    turns = Turns()
    for row in reversed(rows):
        where = f"{file}:{row.line}"
        try:
            if isinstance(row.value, InputError):
                raise row.value
            yield _message(row.value, turns, options, where)
        except InputError as error:
            yield LeftOut.because_of(error, where)


def _message(row: dict[str, str], turns: Turns, options: Options, where: str) -> SourceDocument | LeftOut:
    content = row["CONTENT"]
    text = (html_to_text(content) if content.lstrip().startswith("<p") else content).strip()
    if row.get("IS MESSAGE DRAFT", "").lower() == "yes":
        return LeftOut(where, "draft")
    if row[FROM] in ("", "LinkedIn Member"):  # whose account is gone, or LinkedIn itself
        return LeftOut(where, NOT_MINE)
    seconds = parse_timestamp(row["DATE"].removesuffix(" UTC"), param="DATE")
    alone = "," not in row["TO"] and "," not in row.get("RECIPIENT PROFILE URLS", "")
    if not options.identities.match(row[FROM], row.get(LINK) or None, account=row.get(LINK)):
        turns.hear(text, seconds)
        return LeftOut(where, NOT_MINE)
    if not text:
        return LeftOut(where, NO_TEXT)
    heard = turns.answered(seconds)
    conversation = row["CONVERSATION ID"]
    return options.document(
        where,
        f"{conversation}\0{row['DATE']}\0{text}",  # of which the id is a digest
        text,
        seconds,
        (heard if alone else None) or row.get("SUBJECT"),
        recipient=row["TO"] if alone else row.get("CONVERSATION TITLE"),
        thread=f"linkedin:{conversation}" if conversation else None,
    )
