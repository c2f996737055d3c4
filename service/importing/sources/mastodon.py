"""Mastodon and other servers of the Fediverse: ``outbox.json`` in the archive that a server sends on request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pearl.text.files.json_stream import as_object
from pearl.text.usable import parse_timestamp
from service.importing.sources.archive import Archive, check_strings, list_or_empty, object_or_empty, string_or_none
from service.importing.sources.base import LeftOut, Options
from service.importing.sources.html_text import html_to_text
from service.importing.sources.posts import Placed, Post, PostImporter, placed, without_mentions

WRITTEN = ("Note", "Question", "Article")
DIRECT_VOICE = "chat"  # also with --voice, which is that of posts
# what servers set before or below a post that quotes another
QUOTING, QUOTES = "quote-inline", {"quote", "quoteUri", "quoteUrl", "_misskey_quote"}
QUOTED = re.compile(r"\A(?:RE|QT|RT): ?https?://\S{1,2000}(?:\s+|\Z)|(?:(?<=\s)|^)(?:RE|QT|RT): ?https?://\S{1,2000}\Z")


class MastodonImporter(PostImporter):
    name = "mastodon"
    summary = "Mastodon's archive of your posts (ActivityPub), a zip file or folder."
    examples = ("pearl import mastodon archive-20260301.zip --user ann --voice social",)
    patterns = ("outbox.json",)
    missing = "is not Mastodon's archive; there is no outbox.json in it. Unpack a .tar.gz and import the folder."

    def posts(self, archive: Archive, name: str, options: Options) -> Iterator[Placed]:
        return placed(archive.elements(name, "orderedItems", options.advance), lambda value: _post(as_object(value)))


def _post(activity: dict[str, Any]) -> Post | LeftOut:
    note, is_update = object_or_empty(activity.get("object")), activity.get("type") == "Update"
    if not (is_update or activity.get("type") == "Create") or note.get("type") not in WRITTEN:
        return LeftOut("", "shared from others")
    check_strings(note, "id", "content")
    published = note.get("published") or activity.get("published")
    text, answers = html_to_text(note["content"]).strip(), note.get("inReplyTo")
    if QUOTING in note["content"] or note.keys() & QUOTES:
        text = QUOTED.sub("", text).strip()
    tags = map(object_or_empty, list_or_empty(note.get("tag")))
    named = [tag.get("name") for tag in tags if tag.get("type") == "Mention"]
    to_somebody = bool(answers) or text.startswith("@")
    return Post(
        note["id"],
        parse_timestamp(published, param="published"),
        (without_mentions(text) if answers else text).strip(),
        string_or_none(answers),
        next((name for name in named if isinstance(name, str)), None) if to_somebody else None,
        string_or_none(note.get("conversation") or note.get("context")),
        string_or_none(note.get("summary")),
        DIRECT_VOICE if _is_direct(note) else None,
        note["id"],
        parse_timestamp(note.get("updated") or activity.get("published")) if is_update else 0,
    )


def _is_direct(note: dict[str, Any]) -> bool:
    """True for a post that is addressed to neither the public nor the followers."""
    fields = [note.get(field) or [] for field in ("to", "cc")]
    to = [each for field in fields for each in (field if isinstance(field, list) else [field])]
    public = any(str(each).rpartition("#")[2].removeprefix("as:") == "Public" for each in to)
    return bool(to) and not public and not any(str(each).endswith("/followers") for each in to)
