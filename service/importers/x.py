"""X, formerly Twitter: posts and direct messages of the archive that one can request, read as data and never run."""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from pearl.errors import InputError
from pearl.files.json_stream import JsonStream, as_object
from pearl.text.usable import parse_timestamp
from service.importers.archive import Archive, open_archive
from service.importers.base import Items, LeftOut, Options, SourceDocument
from service.importers.posts import Post, PostImporter, without_mentions
from service.importers.x_messages import PATTERNS as DIRECT
from service.importers.x_messages import messages_of, with_links

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

    def read(self, source: Path, options: Options) -> Items:
        self._people: dict[str, str] = {}  # who is named in posts, by the account's id, which is all that messages have
        yield from super().read(source, options)
        with open_archive(source) as archive:
            owner = _owner(archive)
            if owner:
                options.identities.add(owner)
            yield from archive.each(archive.matching(*DIRECT), lambda name: self._messages(archive, name, options))

    def _messages(self, archive: Archive, name: str, options: Options) -> Iterator[SourceDocument | LeftOut]:
        if not options.identities:
            raise InputError(
                "there is no account.js that says who you are; give your id with --me.", code="missing_account"
            )
        with archive.open(name, options.advance) as stream:
            for number, value in enumerate(_array(stream), start=1):
                where = f"{archive.where(name)}:{number}"
                conversation = value.get("dmConversation") if isinstance(value, dict) else value
                try:
                    yield from messages_of(as_object(conversation), self._people, options, where)
                except InputError as error:
                    yield LeftOut.because_of(error, where)

    def posts(self, archive: Archive, name: str, options: Options) -> Iterator[tuple[int, Post | LeftOut | InputError]]:
        owner = _owner(archive)
        notes = {_second(note.get("createdAt")): note for note in _listed(archive, "note-tweet.js", "noteTweet")}
        with archive.open(name, options.advance) as stream:
            for number, value in enumerate(_array(stream), start=1):
                try:
                    tweet = as_object(value)
                    tweet = as_object(tweet.get("tweet", tweet))
                    self._name(tweet)
                    yield number, _post(tweet, owner, notes)
                except InputError as error:
                    yield number, error

    def _name(self, tweet: dict[str, Any]) -> None:
        entities = tweet.get("entities")
        mentions = entities.get("user_mentions") if isinstance(entities, dict) else None
        for each in mentions if isinstance(mentions, list) and len(self._people) < MOST_PEOPLE else ():
            if isinstance(each, dict) and isinstance(each.get("id_str"), str) and each.get("screen_name"):
                self._people.setdefault(each["id_str"], f"@{each['screen_name']}")


def _owner(archive: Archive) -> str | None:
    return next((account.get("accountId") for account in _listed(archive, "account.js", "account")), None)


def _array(stream: IO[bytes]) -> Iterator[Any]:
    """The elements of the array that the file's JavaScript assigns."""
    for _ in range(PREFIX_BYTES):
        if stream.read(1) == b"=":
            return JsonStream(stream).array()
    raise InputError("does not begin with 'window.YTD', as files of X's archive do.", code="invalid_json")


def _listed(archive: Archive, name: str, member: str) -> Iterator[dict[str, Any]]:
    """The objects of a small file beside the tweets, as far as it can be read."""
    for path in archive.matching(name):
        with suppress(InputError), archive.open(path) as stream:
            for _, value in zip(range(MOST_NOTES), _array(stream), strict=False):
                if isinstance(value, dict) and isinstance(value.get(member), dict):
                    yield value[member]


def _post(tweet: dict[str, Any], owner: object, notes: dict[int | None, dict[str, Any]]) -> Post | LeftOut:
    for field in ("id_str", "created_at"):
        if not isinstance(tweet.get(field), str):
            raise InputError(f"'{field}' is missing.", param=field, code="missing_field")
    text = tweet.get("full_text") or tweet.get("text")
    if not isinstance(text, str):
        raise InputError("'full_text' is missing.", param="full_text", code="missing_field")
    if text.startswith("RT @"):
        return LeftOut("", "shared from others")
    seconds = parse_timestamp(_time(tweet["created_at"]), param="created_at")
    text, links = html.unescape(text), tweet.get("entities")
    note = notes.get(int(seconds)) if len(text) >= LONG_CHARACTERS else None
    core = note.get("core") if note else None
    whole = core.get("text") if isinstance(core, dict) else None
    if isinstance(whole, str) and whole[:SAME_CHARACTERS] == text[:SAME_CHARACTERS]:
        text, links = whole, core
    answers, answered = tweet.get("in_reply_to_status_id_str"), tweet.get("in_reply_to_screen_name")
    text = with_links(text, links)
    others = isinstance(answered, str) and tweet.get("in_reply_to_user_id_str") != owner
    return Post(
        tweet["id_str"],
        seconds,
        (without_mentions(text) if answered else text).strip(),
        answers if isinstance(answers, str) else None,
        f"@{answered}" if others else None,
    )


def _time(value: str) -> float | str:
    """Seconds from "Wed Oct 10 20:19:24 +0000 2018"; another form as it is."""
    try:
        return datetime.strptime(value, "%a %b %d %H:%M:%S %z %Y").timestamp()
    except ValueError:
        return value


def _second(value: Any) -> int | None:
    with suppress(InputError):
        return int(parse_timestamp(value))
    return None
