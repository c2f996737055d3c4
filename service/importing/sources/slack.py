"""A Slack workspace export: a folder or zip of channels, a JSON file per day."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from pearl.errors import InputError
from pearl.text.files.json_stream import as_object
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import (
    Archive,
    ArchiveImporter,
    DiskIndex,
    check_strings,
    list_or_empty,
    object_or_empty,
)
from service.importing.sources.base import NOT_MINE, Item, Items, LeftOut, Options, as_request, read_each
from service.importing.sources.notices import PHRASES, why_unsaid
from service.importing.sources.quotes import split_quotes

USER_FILES = ("users.json", "org_users.json")  # the second in exports of an Enterprise Grid
DIRECT_FILE = "dms.json"
CHANNEL_FILES = ("channels.json", "groups.json", DIRECT_FILE, "mpims.json")
WRITTEN_SUBTYPES = (None, "thread_broadcast", "me_message", "file_share")
QUOTE_OF_ALL = re.compile(r">>> ?")  # of all that follows
# what Slack itself wrote where a file was shared, until 2018
UPLOAD = re.compile(r"<@[^<>]+> (?:uploaded|shared) a file: <[^<>]*>(?: and commented: )?")
MARKUP = re.compile(r"<([^<>\n]+)>")


class SlackImporter(ArchiveImporter):
    name = "slack"
    summary = "A Slack workspace export, a folder or zip file."
    examples = (
        "pearl import slack 'Acme Slack export.zip' --user ann --me ann.lee --voice chat",
        "pearl import slack export/ --user ann --me U024BE7LH",
    )
    needs_me = True

    patterns = ("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json",)
    missing = "is not a Slack export; there is no channel/YYYY-MM-DD.json in it."

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        with DiskIndex() as written:
            people, channels, members = _people(archive), _channels(archive), _members(archive)

            def read_day(name: str) -> Iterator[Item]:
                day = _Day(PurePosixPath(name).parent.name, people, channels, members, written)
                return read_each(archive.elements(name, advance=options.advance), partial(_item, day, options))

            yield from archive.each(names, read_day)  # by channel and day: what a thread answers has been read before


@dataclass(frozen=True, slots=True)
class Person:
    """A member of the workspace. ``shown``: the name that others see; ``names``: all names and addresses."""

    shown: str
    names: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Day:
    """A channel's messages of one day: its folder, and the lists of the export that are needed to read them."""

    folder: str
    people: dict[str, Person]
    channels: dict[str, str]  # folder -> channel id
    members: dict[str, list[str]]  # folder of direct messages -> ids of people
    written: DiskIndex  # channel id:ts -> text

    @property
    def channel(self) -> str:
        return self.channels.get(self.folder, self.folder)

    def recipient(self, sender: object) -> str | None:
        """Return the channel, or the other person of a direct message; None if the export does not name them."""
        if self.folder in self.members:
            others = [person for person in self.members[self.folder] if person != sender]
            named = self.people.get(others[0]) if len(others) == 1 else None
            return named.shown if named else None
        return f"#{self.folder}" if self.folder in self.channels else None


def _people(archive: Archive) -> dict[str, Person]:
    people: dict[str, Person] = {}
    for name in USER_FILES:
        for user in _listed(archive, name):
            people.setdefault(user["id"], _person(user, user.get("profile"), user["id"]))
    return people


def _person(user: dict[str, Any], profile: Any, id_: str) -> Person:
    profile = object_or_empty(profile)
    shown = profile.get("display_name") or user.get("name") or user.get("real_name") or id_
    names = [user.get(key) for key in ("name", "real_name")]
    names += [profile.get(key) for key in ("display_name", "real_name", "email")]
    return Person(str(shown), tuple(names))


def _channels(archive: Archive) -> dict[str, str]:
    """Map the name of each channel's folder to the channel's id."""
    listed = (channel for name in CHANNEL_FILES for channel in _listed(archive, name))
    return {str(channel.get("name") or channel["id"]): channel["id"] for channel in listed}


def _members(archive: Archive) -> dict[str, list[str]]:
    """Map each direct conversation's folder to the ids of its people."""
    listed = _listed(archive, DIRECT_FILE)
    return {entry["id"]: [str(person) for person in entry.get("members") or ()] for entry in listed}


def _listed(archive: Archive, name: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a list at the export's root. Raises InputError if it is damaged: nothing else names
    people."""
    for path in archive.matching(name):
        try:
            for _, entry in archive.elements(path):
                if isinstance(entry, dict) and isinstance(entry.get("id"), str):
                    yield entry
        except InputError as error:
            raise InputError(f"{archive.where(path)}: {error.message}", code=error.code) from error


def _item(day: _Day, options: Options, value: Any, where: str) -> Item:
    message = as_object(value)
    check_strings(message, "ts")
    ts, text = message["ts"], written_in(message)
    if message.get("subtype") == "file_share":
        text = UPLOAD.sub("", text, count=1)
    parts = split_quotes(_readable(text, day.people), mark_of_all=QUOTE_OF_ALL)
    day.written.put(f"{day.channel}:{ts}", parts.own or parts.quoted)  # a bot can be answered, too
    if message.get("subtype") not in WRITTEN_SUBTYPES or message.get("bot_id"):
        return LeftOut(where, "bot or system message")
    user = message.get("user")
    person = day.people.get(user) if isinstance(user, str) else None
    profile = message.get("user_profile")  # of somebody from another workspace, whom no list names
    if person is None and isinstance(profile, dict):
        person = _person(profile, profile, str(user))
    if not options.identities.match(*(person.names if person else ()), user, account=user):
        return LeftOut(where, NOT_MINE)
    if reason := why_unsaid(parts.own):
        return LeftOut(where, reason)
    request = _request(day, message, parts.quoted)
    opened, recipient = message.get("thread_ts"), day.recipient(user)
    thread = f"{day.channel}:{opened}" if opened else None
    return options.document(
        where, f"{day.channel}:{ts}", parts.own, _seconds(ts), request, recipient=recipient, thread=thread
    )


def _seconds(ts: str) -> float:
    try:
        seconds = float(ts)
    except ValueError:
        raise InputError("'ts' is not a time in seconds.", param="ts", code="invalid_timestamp") from None
    return parse_timestamp(seconds, param="ts")


def _request(day: _Day, message: dict[str, Any], quoted: str) -> str | None:
    """Return the message that opened the thread, else the text that the message quotes."""
    opened = message.get("thread_ts")
    if opened and opened != message["ts"]:
        return as_request(day.written.get(f"{day.channel}:{opened}")) or as_request(quoted)
    return as_request(quoted)


def _readable(text: str, people: dict[str, Person]) -> str:
    """Convert Slack's markup to what a reader sees: names for ids, a link's words for its address."""
    return html.unescape(MARKUP.sub(lambda match: _shown(match[1], people), text))


def _shown(markup: str, people: dict[str, Person]) -> str:
    target, _, label = markup.partition("|")
    if target.startswith("@"):
        person = people.get(target[1:])
        return f"@{label or (person.shown if person else target[1:])}"
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("!"):  # <!here>, <!subteam^S012|@writers>, <!date^1700000000^...|today>
        return label or f"@{target[1:].partition('^')[0]}"
    return label or target.removeprefix("mailto:")


STAND_IN = PHRASES.compile(r"\W{0,3}{stand_in}\W{0,3}")
DEEPEST = 8  # lists within lists
MARKS = {"user": "@", "channel": "#", "usergroup": "!subteam^", "broadcast": "!"}
OTHERS = ("from_url", "is_msg_unfurl", "is_share", "original_url", "service_name", "title_link", "bot_id", "app_id")


def written_in(message: dict[str, Any]) -> str:
    """Return a message's text in Slack's markup. If it is empty or a placeholder, the blocks' or attachments' text is
    returned.

    Previews of links, and what was shared from elsewhere, are marked as quotes.
    """
    text = message.get("text")
    if isinstance(text, str) and text.strip() and not STAND_IN.fullmatch(text.strip()):
        return text
    written = "\n".join(_blocks(message.get("blocks")))
    if written.strip():
        return written
    attached = [object_or_empty(each) for each in list_or_empty(message.get("attachments"))]
    return "\n".join(line for each in attached for line in _attached(each))


def _attached(attachment: dict[str, Any]) -> Iterator[str]:
    lines = list(_blocks(attachment.get("blocks"))) or [str(attachment.get("text") or attachment.get("fallback") or "")]
    mark = "&gt; " if any(attachment.get(field) for field in OTHERS) else ""
    return (mark + line for text in lines for line in text.split("\n"))


def _blocks(blocks: Any, depth: int = 0) -> Iterator[str]:
    """Yield the text of each block, list item, quote and code block."""
    for block in map(object_or_empty, list_or_empty(blocks)):
        kind, elements = block.get("type"), list_or_empty(block.get("elements"))
        if kind in ("rich_text", "rich_text_list") and depth < DEEPEST:
            items = list(_blocks(elements, depth + 1))
            if kind == "rich_text_list":
                numbered = block.get("style") == "ordered"
                items = [f"{f'{number}.' if numbered else '•'} {item}" for number, item in enumerate(items, start=1)]
            yield from items
        elif kind in ("rich_text_section", "rich_text_quote", "rich_text_preformatted"):
            text = "".join(_piece(object_or_empty(element)) for element in elements).strip("\n")
            yield text.replace("\n", "\n&gt; ").join(("&gt; ", "")) if kind == "rich_text_quote" else text
        elif kind in ("section", "header", "markdown"):
            for text in (block.get("text"), *list_or_empty(block.get("fields"))):
                yield str(text.get("text") or "") if isinstance(text, dict) else str(text or "")


def _piece(element: dict[str, Any]) -> str:
    """Convert an element of a block to Slack's markup."""
    kind = element.get("type")
    if kind == "emoji":
        return f":{element.get('name')}:"
    if kind in MARKS:
        return f"<{MARKS[kind]}{element.get(f'{kind}_id') or element.get('range')}>"
    text = str(element.get("text") or element.get("fallback") or element.get("url") or "")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
