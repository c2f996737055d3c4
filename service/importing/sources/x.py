"""X (formerly Twitter): posts and direct messages in the archive that X sends. Its JavaScript is never run."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import Any

from pearl.errors import InputError
from pearl.text.files.json_stream import JsonStream, as_object
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import (
    Archive,
    check_strings,
    list_or_empty,
    missing_field,
    object_or_empty,
    open_archive,
    string_or_none,
)
from service.importing.sources.base import NO_TEXT, NOT_MINE, Item, Items, LeftOut, Options, Turns, read_each
from service.importing.sources.dates import date_in_form
from service.importing.sources.posts import Placed, Post, PostImporter, placed, without_mentions

DIRECT = tuple(f"direct-message{form}.js" for form in ("", "s", "s-part*", "-group", "s-group", "s-group-part*"))
OF_PICTURES = "/messages/media/"
WRITTEN = "%a %b %d %H:%M:%S %z %Y"
DIRECT_VOICE = "chat"  # unless --voice names one for all
PREFIX_BYTES = 200  # of "window.YTD.tweets.part0 = "
LONG_CHARACTERS = 200  # of a tweet whose rest may stand in note-tweet.js
SAME_CHARACTERS = 60  # at the beginning of both
MOST_NOTES = 10_000
MOST_PEOPLE = 10_000  # whose names are kept


class XImporter(PostImporter):
    name = "x"
    summary = "X's (Twitter's) archive: your posts and direct messages, a zip file or folder."
    examples = ("pearl import x twitter-2026-03-01.zip --user ann --voice social",)
    patterns = ("tweet.js", "tweets.js", "tweet-part*.js", "tweets-part*.js")
    missing = "is not an archive of X; there is no tweets.js in it."

    def size(self, source: Path) -> int | None:
        with open_archive(source) as archive:
            posts = sum(archive.files[name] for name in archive.matching(*self.patterns))
            return 2 * posts + sum(archive.files[name] for name in archive.matching(*DIRECT))

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        self._people: dict[str, str] = {}  # who is named in posts, by the account's id, which is all that messages have
        yield from super().items(archive, names, options)
        owner = _owner(archive)
        if owner:
            options.identities.add(owner)
        yield from archive.each(archive.matching(*DIRECT), lambda name: self._messages(archive, name, options))

    def _messages(self, archive: Archive, name: str, options: Options) -> Iterator[Item]:
        if not options.identities:
            raise InputError(
                "there is no account.js that says who you are; give your id with --me.", code="missing_account"
            )
        for where, value in _elements(archive, name, options.advance):
            try:
                conversation = as_object(value.get("dmConversation") if isinstance(value, dict) else value)
                newest_first = list_or_empty(conversation.get("messages"))
                item = partial(_message, str(conversation.get("conversationId")), Turns(), self._people, options)
                yield from read_each(zip(repeat(where), reversed(newest_first)), item)
            except InputError as error:
                yield LeftOut.because_of(error, where)

    def posts(self, archive: Archive, name: str, options: Options) -> Iterator[Placed]:
        owner = _owner(archive)
        notes = {_second(note.get("createdAt")): note for note in _listed(archive, "note-tweet.js", "noteTweet")}

        def made(value: Any) -> Post | LeftOut:
            tweet = as_object(value)
            tweet = as_object(tweet.get("tweet", tweet))
            self._name(tweet)
            return _post(tweet, owner, notes)

        return placed(_elements(archive, name, options.advance), made)

    def _name(self, tweet: dict[str, Any]) -> None:
        mentions = object_or_empty(tweet.get("entities")).get("user_mentions")
        for each in list_or_empty(mentions) if len(self._people) < MOST_PEOPLE else ():
            if isinstance(each, dict) and isinstance(each.get("id_str"), str) and each.get("screen_name"):
                self._people.setdefault(each["id_str"], f"@{each['screen_name']}")


def _owner(archive: Archive) -> str | None:
    return next((account.get("accountId") for account in _listed(archive, "account.js", "account")), None)


def _elements(
    archive: Archive, name: str, advance: Callable[[int], None] = lambda amount: None
) -> Iterator[tuple[str, Any]]:
    """Yield the elements of the array in a JavaScript file, with their places."""
    with archive.open(name, advance) as stream:
        if not any(stream.read(1) == b"=" for _ in range(PREFIX_BYTES)):
            raise InputError("does not begin with 'window.YTD', as files of X's archive do.", code="invalid_json")
        for number, value in enumerate(JsonStream(stream).array(), start=1):
            yield f"{archive.where(name)}:{number}", value


def _listed(archive: Archive, name: str, member: str) -> Iterator[dict[str, Any]]:
    """Yield the objects in a small file, as far as it can be read. ``member``: the field that holds each object."""
    for path in archive.matching(name):
        with suppress(InputError):
            for _, value in islice(_elements(archive, path), MOST_NOTES):
                if isinstance(value, dict) and isinstance(value.get(member), dict):
                    yield value[member]


def _post(tweet: dict[str, Any], owner: object, notes: dict[int | None, dict[str, Any]]) -> Post | LeftOut:
    check_strings(tweet, "id_str", "created_at")
    text = tweet.get("full_text") or tweet.get("text")
    if not isinstance(text, str):
        raise missing_field("full_text")
    if text.startswith("RT @"):
        return LeftOut("", "shared from others")
    written = date_in_form(tweet["created_at"], WRITTEN)
    seconds = parse_timestamp(tweet["created_at"] if written is None else written, param="created_at")
    text, links = html.unescape(text), tweet.get("entities")
    note = notes.get(int(seconds)) if len(text) >= LONG_CHARACTERS else None
    core = note.get("core") if note else None
    whole = object_or_empty(core).get("text")
    if isinstance(whole, str) and whole[:SAME_CHARACTERS] == text[:SAME_CHARACTERS]:
        text, links = whole, core
    answers, answered = tweet.get("in_reply_to_status_id_str"), tweet.get("in_reply_to_screen_name")
    text = _with_links(text, links)
    versions = _versions(tweet)
    others = isinstance(answered, str) and tweet.get("in_reply_to_user_id_str") != owner
    return Post(
        tweet["id_str"],
        seconds,
        (without_mentions(text) if answered else text).strip(),
        string_or_none(answers),
        f"@{answered}" if others else None,
        original=str(versions[0]) if versions else "",
        version=versions.index(tweet["id_str"]) if tweet["id_str"] in versions else 0,
    )


def _versions(tweet: dict[str, Any]) -> list[Any]:
    """Return the ids of all versions of an edited post, the oldest first."""
    info = object_or_empty(tweet.get("edit_info"))
    edit = object_or_empty(info.get("edit")).get("editControlInitial") or info.get("initial")
    return list_or_empty(object_or_empty(edit).get("editTweetIds"))


def _second(value: Any) -> int | None:
    with suppress(InputError):
        return int(parse_timestamp(value))
    return None


def _message(name: str, turns: Turns, people: Mapping[str, str], options: Options, value: Any, where: str) -> Item:
    """Convert a direct message to an item. ``name``: the conversation's id; ``people``: names by account id."""
    message = as_object(as_object(value).get("messageCreate", {}))
    if not message:  # somebody joined, left or renamed a group
        return LeftOut(where, "bot or system message")
    check_strings(message, "id", "senderId", "createdAt")
    text = message.get("text")
    own = _with_links(html.unescape(text), message).strip() if isinstance(text, str) else ""
    seconds, sender = parse_timestamp(message["createdAt"], param="createdAt"), message["senderId"]
    if not options.identities.match(people.get(sender), sender, account=sender):
        turns.hear(own, seconds)
        return LeftOut(where, NOT_MINE)
    if not own:
        return LeftOut(where, NO_TEXT)
    two, heard = set(name.split("-")), turns.answered(seconds)
    other = next(iter(two - {sender}), None) if len(two) == 2 else None
    return options.document(
        where,
        f"x:dm:{message['id']}",
        own,
        seconds,
        heard if other else None,
        options.voice or DIRECT_VOICE,
        recipient=people.get(other, f"x:{other}") if other else f"x:{name}",
        thread=f"x:dm:{name}",
    )


def _with_links(text: str, entities: Any) -> str:
    """Replace shortened links in a text by their full addresses; links to its pictures are removed."""
    found = object_or_empty(entities)
    for kind in ("urls", "media"):
        for link in list_or_empty(found.get(kind)):
            if isinstance(link, dict) and isinstance(link.get("url"), str) and link["url"]:
                address = link.get("expanded_url") or link.get("expandedUrl") or link.get("expanded")
                of_picture = kind == "media" or not isinstance(address, str) or OF_PICTURES in address
                text = text.replace(link["url"], "" if of_picture else str(address))
    return text
