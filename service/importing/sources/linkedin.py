"""LinkedIn: the messages, posts and comments in the data that LinkedIn sends on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import groupby

from pearl.errors import InputError
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import Archive, ArchiveImporter
from service.importing.sources.base import NO_TEXT, NOT_MINE, Item, Items, LeftOut, Options, Turns, read_each
from service.importing.sources.html_text import html_to_text

MESSAGES, SHARES, COMMENTS = "messages.csv", "shares.csv", "comments.csv"
FROM, LINK = "FROM", "SENDER PROFILE URL"


class LinkedInImporter(ArchiveImporter):
    name = "linkedin"
    summary = "LinkedIn's data: messages, posts and comments, a zip file or folder."
    examples = ("pearl import linkedin Complete_LinkedInDataExport.zip --user ann --voice work",)
    needs_me = False  # Profile.csv names its owner

    patterns = (MESSAGES, SHARES, COMMENTS)
    missing = "there is no messages.csv, Shares.csv or Comments.csv in it."

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        owner = _owner(archive)
        if owner and not options.identities:
            options.identities.add(owner)
        yield from archive.each(names, lambda name: _read(archive, name, options))


def _owner(archive: Archive) -> str | None:
    for name in archive.matching("profile.csv"):
        with suppress(InputError):
            for _, row in archive.rows(name, ("First Name", "Last Name")):
                if isinstance(row, dict):
                    return f"{row['First Name']} {row['Last Name']}".strip() or None
    return None


def _read(archive: Archive, name: str, options: Options) -> Iterator[Item]:
    if name.lower().endswith(MESSAGES):
        options.check_me("messages.csv", "a name")
        rows = archive.rows(name, ("CONVERSATION ID", FROM, "TO", "DATE", "CONTENT"), options.advance)
        for _, conversation in groupby(rows, key=_conversation):  # of which the newest stands first
            yield from read_each(reversed(list(conversation)), partial(_message, Turns(), options))
        return
    is_comment = name.lower().endswith(COMMENTS)
    columns = ("Message", "Link") if is_comment else ("ShareCommentary", "ShareLink")
    rows = archive.rows(name, ("Date", *columns), options.advance)
    yield from read_each(rows, partial(_post, columns, is_comment, options))


def _post(columns: tuple[str, str], is_comment: bool, options: Options, row: dict[str, str], where: str) -> Item:
    text, link = (row[column] for column in columns)
    own = text.replace('"\n"', "\n").strip().strip('"').strip()  # LinkedIn quotes each line of a post by itself
    if not own:
        return LeftOut(where, NO_TEXT)
    seconds = parse_timestamp(row["Date"].removesuffix(" UTC"), param="Date")
    name = f"{link}\0{row['Date']}\0{own}" if is_comment else f"linkedin:{link}"
    return options.document(where, name, own, seconds, None, thread=link if is_comment and link else None)


def _conversation(row: tuple[str, dict[str, str] | InputError]) -> str:
    return row[1]["CONVERSATION ID"] if isinstance(row[1], dict) else ""


def _message(turns: Turns, options: Options, row: dict[str, str], where: str) -> Item:
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
