"""The importer of a path, guessed from what it is: ``pearl import PATH``."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson

from pearl.errors import InputError
from service.importers.folders import walk
from service.importers.mails.spans import is_mbox
from service.importers.notes.kinds import NOTE_SUFFIXES, is_chat
from service.importing.guessing.lookalikes import NOTIONS, advice, only_chats, only_notes
from service.importing.guessing.sight import FileSniff, look

NOTES = rf".*(?:{'|'.join(map(re.escape, NOTE_SUFFIXES))})"
TEXTS = rf"{NOTES}|.*\.(?:txt|docx|odt)"
MAIL = r".*\.(?:mbo?x|eml)(?:\.gz)?|.*\.msf|mbox|(?:inbox|sent)(?:\.gz)?|(?:cur|new)/\d[^/]*"  # Thunderbird: Sent.msf
OFFICE = r"word/document\d*\.xml|content\.xml"
BLUESKY = r"app\.bsky\.feed\.post/[^/]*\.json|[^/]*\.car"
PICTURES = r".*\.(?:png|jpe?g|gif|svg|webp|ico|pdf|mp[34]|css|scss)"
SITE_FILES = (
    r"hugo\.(?:toml|ya?ml|json)|astro\.config\..*|gatsby-config\..*|eleventy\.config\..*"
    r"|pelicanconf\.py|_posts/.*|source/_posts/.*|content/posts?/.*|logseq/config\.edn"
)


@dataclass(frozen=True, slots=True)
class Guess:
    """An importer's name, and what the path is that it reads."""

    kind: str
    looks: str


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign of a kind: its description in words, and the test."""

    kind: str
    looks: str
    seen: Callable[[FileSniff], bool]


def guess_importer(source: Path) -> Guess:
    """The importer for a path, and why. If none reads it, raises InputError that says what the path looks like."""
    if not source.exists():
        raise InputError(f"{source}: there is no such file or folder.", param="source", code="missing_file")
    sight = look(source)
    known = advice(sight)
    if known is None:
        for sign in SIGNS:
            if sign.seen(sight):
                return Guess(sign.kind, sign.looks)
    looks, what_to_do = known or _unknown(sight)
    raise InputError(f"{source}: looks like {looks}; {what_to_do}", param="source", code="unknown_source")


def _unknown(sight: FileSniff) -> tuple[str, str]:
    instead = (
        "name its kind ('pearl import KIND PATH'; 'pearl import --help' lists them), or write it as a history file."
    )
    if sight.is_folder:
        return "a folder without anything that an importer reads", instead
    return f"a {sight.suffix or 'file'} file" if sight.suffix else "a file without a suffix", instead


def _is_repository(sight: FileSniff) -> bool:
    source = sight.source
    return (source / ".git").exists() or all((source / name).exists() for name in ("HEAD", "objects", "refs"))


def _is_site(sight: FileSniff) -> bool:
    """True for a blog's or vault's folder, a git repository among them: most of what is written in it are notes."""
    if (sight.source / ".obsidian").is_dir() or (sight.source / ".foam").is_dir():
        return True
    notes = len(sight.holds(NOTES))
    others = len(sight.names) - notes - len(sight.holds(PICTURES))
    return notes > 0 and (notes > others or any(re.fullmatch(SITE_FILES, name) for name in sight.names))


def _first_object(sight: FileSniff) -> dict[str, object]:
    """The object on the file's first line, empty where there is none."""
    line = sight.head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _lines_with(*fields: str) -> Callable[[FileSniff], bool]:
    return lambda sight: not sight.is_folder and set(fields) <= _first_object(sight).keys()


def _is_exporters(sight: FileSniff) -> bool:
    if not sight.is_folder:
        return sight.begins(rb'\{\s*"guild"\s*:')
    files = sorted(path for path in sight.source.glob("*.json") if path.is_file() and not path.is_symlink())
    return bool(files) and look(files[0]).begins(rb'\{\s*"guild"\s*:')


def _talked(sight: FileSniff, field: bytes) -> bool:
    """True for conversations with a program that have this field in their first part."""
    head = sight.head if not sight.names else sight.head_of(r"conversations[^/]*\.json")
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") and field in head


def _is_telegram(sight: FileSniff) -> bool:
    if sight.names:
        return bool(sight.holds(r"result\.json"))
    return sight.begins(rb'\{.{0,400}"type":.{0,200}"messages"|\{.{0,1000}"personal_information":.{0,400}"user_id"')


def _is_whatsapp(sight: FileSniff) -> bool:
    return only_chats(sight) if sight.names else is_chat(sight.head.decode(errors="replace"))


def _is_mh(sight: FileSniff) -> bool:
    """True for MH's folders, in which a mail is a file named by its number."""
    if not (sight.is_folder and sight.holds(r"\d+")):
        return False
    numbered = (entry.path for entry in walk(sight.source, hidden=False) if entry.path.name.isdecimal())
    first = next((path for path in numbered if not path.is_symlink()), None)
    return first is not None and look(first).begins(rb"(?:[a-z][a-z0-9-]{1,60}:[ \t].*\n)?from:")


SIGNS = (
    Sign("export", "an export of PEARL's own", lambda sight: sight.begins(rb'\{\s*"object"\s*:\s*"export"')),
    Sign("takeout", "Google Takeout", lambda sight: bool(sight.holds(r"google chat/.*/messages\.json"))),
    Sign("slack", "a Slack export", lambda sight: bool(sight.holds(r"[^/]+/\d{4}-\d\d-\d\d\.json"))),
    Sign("discord", "Discord's data package", lambda sight: bool(sight.holds(r"c?\d+/messages\.(?:json|csv)"))),
    Sign("discord", "JSON of DiscordChatExporter", _is_exporters),
    Sign("linkedin", "LinkedIn's data", lambda sight: bool(sight.holds(r"(?:shares|connections)\.csv"))),
    Sign("reddit", "the data that Reddit sends", lambda sight: bool(sight.holds(r"(?:comments|posts)\.csv"))),
    Sign("chatgpt", "conversations with ChatGPT", lambda sight: _talked(sight, b'"mapping"')),
    Sign("claude", "conversations with Claude", lambda sight: _talked(sight, b'"chat_messages"')),
    Sign("mastodon", "Mastodon's archive", lambda sight: bool(sight.holds(r"outbox\.json"))),
    Sign("x", "an archive of X or Twitter", lambda sight: bool(sight.holds(r"data/tweets?(?:-part\d+)?\.js"))),
    Sign("bluesky", "Bluesky's export", lambda sight: sight.suffix == ".car" or bool(sight.holds(BLUESKY))),
    Sign("apple-notes", "Apple's copy of your notes", lambda sight: bool(sight.holds(r"notes details\.csv"))),
    Sign("notion", "Notion's export", lambda sight: bool(sight.holds(rf".* [0-9a-f]{{32}}\.md|{NOTIONS}"))),
    Sign("telegram", "Telegram's export", _is_telegram),
    Sign("whatsapp", "a chat of WhatsApp", _is_whatsapp),
    Sign("markdown", "an archive of Joplin's", lambda sight: sight.suffix == ".jex"),
    Sign("markdown", "a document", lambda sight: not sight.is_folder and bool(sight.holds(OFFICE))),
    Sign("markdown", "a folder of notes or posts", lambda sight: sight.is_folder and _is_site(sight)),
    Sign("git", "a git repository", lambda sight: sight.is_folder and _is_repository(sight)),
    Sign("mbox", "mail", lambda sight: bool(sight.holds(MAIL))),
    Sign("mbox", "mail", lambda sight: is_mbox(sight.head)),
    Sign("mbox", "mail", _is_mh),
    Sign("mbox", "a mail", lambda sight: sight.suffix == ".eml"),
    Sign("jsonl", "a history file", _lines_with("id", "text")),
    Sign("reddit", "a dump of Reddit's comments", _lines_with("author", "body", "created_utc")),
    Sign("reddit", "a dump of Reddit's posts", _lines_with("author", "title", "created_utc")),
    Sign("jsonl", "JSON Lines", lambda sight: sight.suffix in (".jsonl", ".ndjson")),
    Sign("markdown", "a folder of notes", lambda sight: sight.is_folder and bool(sight.holds(TEXTS))),
    Sign("markdown", "a zip file of notes", only_notes),
    Sign("markdown", "a text", lambda sight: not sight.names and bool(re.fullmatch(TEXTS, sight.source.name.lower()))),
)
