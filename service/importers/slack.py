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
from pearl.files.json_stream import as_object
from pearl.text.usable import parse_timestamp
from service.importers.archive import Archive, ArchiveImporter
from service.importers.base import NOT_MINE, Items, LeftOut, Options, SourceDocument, as_request, read_each
from service.importers.disk_index import DiskIndex
from service.importers.fields import check_strings, object_or_empty
from service.importers.notices import why_unsaid
from service.importers.quotes import split_quotes
from service.importers.slack_blocks import written_in

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

            def read_day(name: str) -> Iterator[SourceDocument | LeftOut]:
                day = _Day(PurePosixPath(name).parent.name, people, channels, members, written)
                return read_each(archive.elements(name, advance=options.advance), partial(_item, day, options))

            yield from archive.each(names, read_day)  # by channel and day: what a thread answers has been read before


@dataclass(frozen=True, slots=True)
class Person:
    """The name others see, and every name the person goes by."""

    shown: str
    names: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class _Day:
    """A channel's day, and all that it takes to read its file."""

    folder: str
    people: dict[str, Person]
    channels: dict[str, str]  # folder -> channel id
    members: dict[str, list[str]]  # folder of direct messages -> ids of people
    written: DiskIndex  # channel id:ts -> text

    @property
    def channel(self) -> str:
        return self.channels.get(self.folder, self.folder)

    def recipient(self, sender: object) -> str | None:
        """The channel, or the other person of direct messages; None where the export does not name them."""
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
    """Channel ids by the name of their folder; direct messages have none but the id."""
    listed = (channel for name in CHANNEL_FILES for channel in _listed(archive, name))
    return {str(channel.get("name") or channel["id"]): channel["id"] for channel in listed}


def _members(archive: Archive) -> dict[str, list[str]]:
    """The ids of people by the folder of their direct messages."""
    listed = _listed(archive, DIRECT_FILE)
    return {entry["id"]: [str(person) for person in entry.get("members") or ()] for entry in listed}


def _listed(archive: Archive, name: str) -> Iterator[dict[str, Any]]:
    """The entries of a list at the root of the export. Raises InputError if it is damaged: it alone names people."""
    for path in archive.matching(name):
        try:
            for _, entry in archive.elements(path):
                if isinstance(entry, dict) and isinstance(entry.get("id"), str):
                    yield entry
        except InputError as error:
            raise InputError(f"{archive.where(path)}: {error.message}", code=error.code) from error


def _item(day: _Day, options: Options, value: Any, where: str) -> SourceDocument | LeftOut:
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
    """The text that opened the message's thread, else the text it quotes."""
    opened = message.get("thread_ts")
    if opened and opened != message["ts"]:
        return as_request(day.written.get(f"{day.channel}:{opened}")) or as_request(quoted)
    return as_request(quoted)


def _readable(text: str, people: dict[str, Person]) -> str:
    """Slack's markup as a reader sees it: names instead of ids, a link's words instead of its address."""
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
