"""Base of importers for one person's posts. A reply's request is the person's own post that it replies to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from pearl.errors import InputError
from service.importing.sources.archive import Archive, ArchiveImporter, DiskIndex
from service.importing.sources.base import NO_TEXT, Item, Items, LeftOut, Options, as_request, read_each

LONGEST_THREAD = 200  # posts that are gone back through to the first
MENTIONS = re.compile(r"(?:@[\w.-]+(?:@[\w.-]+)?(?:\s+|\Z))+")  # which the program sets before an answer


@dataclass(frozen=True, slots=True)
class Post:
    """A post of the archive's owner. ``answers``: the id of the post that it replies to, which need not be in the
    archive."""

    id: str
    timestamp: float
    text: str
    answers: str | None
    recipient: str | None
    thread: str | None = None  # where the archive names it
    title: str | None = None  # its request where nothing else is
    voice: str | None = None  # of a post that is for somebody alone
    original: str = ""  # the id of the first version
    version: float = 0  # of one that was edited; the highest one counts


Placed = tuple[str, Post | LeftOut | InputError]


class PostImporter(ArchiveImporter):
    """Base of importers for one person's posts. A subclass sets ``patterns`` for its files' names and defines
    ``posts``."""

    template = "post"
    times = 2

    def items(self, archive: Archive, names: list[str], options: Options) -> Items:
        """Yield the posts as documents. The archive is read twice, because a reply may stand before the post that it
        answers."""
        newest: dict[str, float] = {}  # version of those that were edited
        with DiskIndex() as index:
            for name in names:
                with suppress(InputError):  # reported when the same place is reached below
                    for _, post in self.posts(archive, name, options):
                        if isinstance(post, Post):
                            index.put(post.id, post.text)
                            index.put(f"{post.id}<", post.answers or "")
                            index.put(f"{post.answers}>", post.id)
                            if post.version:
                                newest[post.original] = max(post.version, newest.get(post.original, 0))
            item = partial(self._item, index, newest, options)
            yield from archive.each(names, lambda name: read_each(self.posts(archive, name, options), item))

    def posts(self, archive: Archive, name: str, options: Options) -> Iterator[Placed]:
        """Yield each post with its place; in place of a post that is not imported, the reason."""
        raise NotImplementedError

    def _item(
        self, index: DiskIndex, newest: dict[str, float], options: Options, post: Post | LeftOut, where: str
    ) -> Item:
        if isinstance(post, LeftOut):
            return LeftOut(where, post.reason)
        if post.version < newest.get(post.original, 0):
            return LeftOut(where, "replaced by an edited version")
        if not post.text:
            return LeftOut(where, NO_TEXT)
        answered = as_request(index.get(post.answers)) if post.answers else None
        first, at = post.id if index.get(f"{post.id}>") else None, post.answers
        for _ in range(LONGEST_THREAD):
            if not at:
                break
            first, at = at, index.get(f"{at}<")
        thread = post.thread or first
        return options.document(
            where,
            f"{self.name}:{post.id}",
            post.text,
            post.timestamp,
            answered or post.title,
            post.voice,
            recipient=post.recipient,
            thread=f"{self.name}:{thread}" if thread else None,
        )


def placed(values: Iterable[tuple[str, Any]], made: Callable[[Any], Post | LeftOut]) -> Iterator[Placed]:
    """Convert each value to a post, with its place; in place of a post that raises InputError, yield the error."""
    for where, value in values:
        try:
            yield where, made(value)
        except InputError as error:
            yield where, error


def without_mentions(text: str) -> str:
    """Remove the mentions at the beginning of a reply."""
    mentions = MENTIONS.match(text)
    return text[mentions.end() :] if mentions else text
