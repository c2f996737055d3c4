"""Guessing which importer reads a path (``pearl import PATH``), or saying what to do if none does."""

from __future__ import annotations

import gzip
import re
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import orjson

from pearl.errors import InputError
from pearl.text.history.files import GZIP_MAGIC, UTF_16
from service.importing.sources.archive import is_zip, open_archive, open_zip, walk
from service.importing.sources.mails.spans import is_mbox
from service.importing.sources.notes.kinds import NOTE_SUFFIXES, is_chat

HEAD_BYTES = 1 << 16
MAX_NAMES = 20_000
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
HISTORY_FILE = "write it as a history file (JSON Lines with id, timestamp and text), then 'pearl import jsonl FILE'."
PANDOC = "convert it to Markdown, for example with 'pandoc FILE -t gfm -o FILE.md', and import that."
PLAIN_TEXTS = r".*\.(?:md|markdown|mdx|org|txt)"
CHAT_FILES = r"(?:_chat|[^/]*whatsapp[^/]*)\.txt"
NOTIONS = r"exportblock-[^/]*part-\d+\.zip"
ANY_BUT_NOTIONS = rf"(?!(?:.*/)?{NOTIONS})[^/]*\.zip"
UNPACK = "unpack it and import the folder."


@dataclass(frozen=True, slots=True)
class FileSniff:
    """The basis of a guess. ``names``: the paths of the files in a folder or zip file, in lower case, without
    hidden files and symbolic links of a folder; ``head``: the beginning of a file, gunzipped, and in UTF-8 if the file
    is UTF-16."""

    source: Path
    names: tuple[str, ...]
    head: bytes

    @property
    def is_folder(self) -> bool:
        return self.source.is_dir()

    @property
    def suffix(self) -> str:
        """The file's last suffix in lower case; for ``letters.txt.gz`` that is ``.txt``."""
        name = self.source.name.lower()
        return Path(name.removesuffix(".gz")).suffix

    def holds(self, pattern: str) -> list[str]:
        """Return the paths that a regular expression matches: the whole path, or all of it that follows a slash."""
        wanted = re.compile(rf"(?:.*/)?(?:{pattern})")
        return [name for name in self.names if wanted.fullmatch(name)]

    def head_of(self, pattern: str) -> bytes:
        """Return the beginning of the first file in the folder or archive whose name matches; b"" if unreadable."""
        wanted = re.compile(rf"(?:.*/)?(?:{pattern})", re.IGNORECASE)
        with suppress(InputError), open_archive(self.source) as archive:
            for name in filter(wanted.fullmatch, archive.files):
                with archive.open(name) as stream:
                    return stream.read(HEAD_BYTES)
        return b""

    def begins(self, pattern: bytes) -> bool:
        """True if a regular expression matches the head's beginning, after leading blanks."""
        start = self.head.lstrip(b"\xef\xbb\xbf \t\r\n")
        return re.match(pattern, start, re.DOTALL | re.IGNORECASE) is not None


def look(source: Path) -> FileSniff:
    """Collect the clues to a path's kind. Raises InputError if the path cannot be read."""
    try:
        if source.is_dir():
            names = [entry.name.lower() for entry in islice(walk(source, hidden=False), MAX_NAMES) if not entry.is_link]
            return FileSniff(source, tuple(names), b"")
        with source.open("rb") as file:
            head = file.read(HEAD_BYTES)
        if head.startswith(b"PK") and is_zip(source):
            with open_zip(source) as packed:
                names = [member.filename.lower() for member in packed.infolist() if not member.is_dir()]
            return FileSniff(source, tuple(names[:MAX_NAMES]), head)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{source}: cannot be read: {error}", code="unreadable_file") from error
    if head.startswith(GZIP_MAGIC):
        head = _unpacked(source)
    elif head.startswith(UTF_16):
        head = head.decode("UTF-16", errors="replace").encode()
    return FileSniff(source, (), head)


def _unpacked(source: Path) -> bytes:
    try:
        with gzip.open(source) as stream:
            return stream.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""


@dataclass(frozen=True, slots=True)
class Guess:
    """The guessed importer. ``kind``: its name; ``looks``: what the path looks like, for people."""

    kind: str
    looks: str


@dataclass(frozen=True, slots=True)
class Sign:
    """A rule that recognizes one kind of source. ``seen`` tests a path; ``looks`` names the kind of source for people;
    ``kind`` is the importer's name, or None if no importer reads such a source; then ``instead`` says what to do."""

    kind: str | None
    looks: str
    seen: Callable[[FileSniff], bool]
    instead: str = ""


def guess_importer(source: Path) -> Guess:
    """Guess the importer for a path. Raises InputError, which says what the path looks like, if no importer reads
    it."""
    if not source.exists():
        raise InputError(f"{source}: there is no such file or folder.", param="source", code="missing_file")
    sight = look(source)
    sign = next((sign for sign in SIGNS if sign.seen(sight)), None)
    if sign is not None and sign.kind is not None:
        return Guess(sign.kind, sign.looks)
    if sign is not None:
        looks, instead = sign.looks, sign.instead
    else:
        file = f"a {sight.suffix} file" if sight.suffix else "a file without a suffix"
        looks = "a folder without anything that an importer reads" if sight.is_folder else file
        instead = (
            "name its kind ('pearl import KIND PATH'; 'pearl import --help' lists them), or write it as a history file."
        )
    raise InputError(f"{source}: looks like {looks}; {instead}", param="source", code="unknown_source")


def _is_repository(sight: FileSniff) -> bool:
    source = sight.source
    return (source / ".git").exists() or all((source / name).exists() for name in ("HEAD", "objects", "refs"))


def _is_site(sight: FileSniff) -> bool:
    """True for the folder of a blog or a vault of notes, which may be a git repository: most of its files are notes."""
    if (sight.source / ".obsidian").is_dir() or (sight.source / ".foam").is_dir():
        return True
    notes = len(sight.holds(NOTES))
    others = len(sight.names) - notes - len(sight.holds(PICTURES))
    return notes > 0 and (notes > others or any(re.fullmatch(SITE_FILES, name) for name in sight.names))


def _first_object(sight: FileSniff) -> dict[str, object]:
    """Return the JSON object on the file's first line; an empty one if there is none."""
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
    """True for an export of conversations with a chatbot; ``field``: a JSON field that occurs near its beginning."""
    head = sight.head if not sight.names else sight.head_of(r"conversations[^/]*\.json")
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") and field in head


def _is_telegram(sight: FileSniff) -> bool:
    if sight.names:
        return bool(sight.holds(r"result\.json"))
    return sight.begins(rb'\{.{0,400}"type":.{0,200}"messages"|\{.{0,1000}"personal_information":.{0,400}"user_id"')


def _is_whatsapp(sight: FileSniff) -> bool:
    return only_chats(sight) if sight.names else is_chat(sight.head.decode(errors="replace"))


def _is_mh(sight: FileSniff) -> bool:
    """True for a mailbox in the MH format: a folder in which each mail is a file named by a number."""
    if not (sight.is_folder and sight.holds(r"\d+")):
        return False
    numbered = (entry.path for entry in walk(sight.source, hidden=False) if entry.path.name.isdecimal())
    first = next((path for path in numbered if not path.is_symlink()), None)
    return first is not None and look(first).begins(rb"(?:[a-z][a-z0-9-]{1,60}:[ \t].*\n)?from:")


def _starts(*magic: bytes) -> Callable[[FileSniff], bool]:
    return lambda sight: sight.head.startswith(magic)


def _begins(pattern: bytes) -> Callable[[FileSniff], bool]:
    return lambda sight: not sight.names and sight.begins(pattern)


def _holds(pattern: str) -> Callable[[FileSniff], bool]:
    return lambda sight: bool(sight.holds(pattern))


def _is_empty_folder(sight: FileSniff) -> bool:
    return sight.is_folder and not sight.names and not list(sight.source.iterdir())


def only_chats(sight: FileSniff) -> bool:
    """True if the path holds plain text files, and all of them are named like WhatsApp's exported chats."""
    chats = sight.holds(CHAT_FILES)
    return bool(chats) and chats == sight.holds(PLAIN_TEXTS)


def only_notes(sight: FileSniff) -> bool:
    """True for a zip file with texts and nothing that another importer reads."""
    packed = not sight.is_folder and bool(sight.names) and not only_chats(sight)
    other = r"(?:comments|posts)\.csv|.*\.json|.*\.mbox|.*\.eml"
    return packed and bool(sight.holds(PLAIN_TEXTS)) and not sight.holds(other)


SIGNS = (
    Sign("markdown", "an archive of Joplin's", lambda sight: sight.suffix == ".jex"),  # a tar archive as well
    Sign(None, "an empty folder", _is_empty_folder, "give the folder that holds the files."),
    Sign(None, "an empty file", lambda sight: not sight.is_folder and not sight.head, "export it again."),
    Sign(
        None,
        "a PDF",
        _starts(b"%PDF"),
        "convert it to text, for example with 'pdftotext FILE', and import the .txt file.",
    ),
    Sign(None, "a spreadsheet or slides", _holds(r"(?:xl/workbook|ppt/presentation)\.xml"), HISTORY_FILE),
    Sign(
        None,
        "an EPUB or OpenDocument file",
        lambda sight: sight.suffix != ".odt" and bool(sight.holds(r"meta-inf/(?:container|manifest)\.xml")),
        PANDOC,
    ),
    Sign(None, "an Outlook archive", _starts(b"!BDN"), "convert it with 'readpst -r FILE' and import the mbox files."),
    Sign(
        None,
        "an old Office document or Outlook message",
        _starts(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
        "save it as .docx, .eml or text, and import that.",
    ),
    Sign(None, "rich text", _starts(b"{\\rtf"), PANDOC),
    Sign(
        None,
        "an Evernote export",
        _begins(rb".{0,500}<en-export"),
        "convert it to Markdown (Evernote2md, Joplin) and import the folder.",
    ),
    Sign(
        None,
        "a WordPress export",
        _begins(rb"<\?xml.{0,4000}(?:wordpress|wp:)"),
        "convert it to Markdown (wordpress-export-to-markdown) and import the folder.",
    ),
    Sign(None, "a web page", _begins(rb"(?:<!doctype html|<html)"), PANDOC),
    Sign(
        None,
        "a Substack export",
        lambda sight: bool(sight.holds(r"posts\.csv") and sight.holds(r"posts/[^/]*\.html")),
        "convert its posts, for example with 'pandoc POST.html -t gfm -o POST.md', and import the folder.",
    ),
    Sign(None, "an archive of Facebook or Instagram", _holds(r"inbox/.*/message_1\.(?:json|html)"), HISTORY_FILE),
    Sign(None, "an SQLite database", _starts(b"SQLite format 3"), HISTORY_FILE),
    Sign(
        None, "a compressed archive", _starts(b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd"), UNPACK
    ),
    Sign(None, "a tar archive", lambda sight: sight.head[257:262] == b"ustar", UNPACK),
    Sign(
        None,
        "a zip file of zip files",
        lambda sight: bool(sight.names) and not sight.is_folder and set(sight.names) == {*sight.holds(ANY_BUT_NOTIONS)},
        "unpack it and import what is in it.",
    ),
    Sign(
        None,
        "Apple Mail's own store",
        lambda sight: sight.suffix == ".emlx" or bool(sight.holds(r".*\.emlx")),
        "choose Mailbox > Export Mailbox in Apple Mail and import the folder that it makes.",
    ),
    Sign(
        None, "a picture", _starts(b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*"), "PEARL reads texts only."
    ),
    Sign(None, "sound or video", _starts(b"ID3", b"OggS", b"\x1aE\xdf\xa3", b"fLaC"), "PEARL reads texts only."),
    Sign(
        None,
        "a program or another binary file",
        lambda sight: not sight.names and b"\0" in sight.head,
        "PEARL reads texts only.",
    ),
    Sign("export", "an export of PEARL's own", lambda sight: sight.begins(rb'\{\s*"object"\s*:\s*"export"')),
    Sign("takeout", "Google Takeout", _holds(r"google chat/.*/messages\.json")),
    Sign("slack", "a Slack export", _holds(r"[^/]+/\d{4}-\d\d-\d\d\.json")),
    Sign("discord", "Discord's data package", _holds(r"c?\d+/messages\.(?:json|csv)")),
    Sign("discord", "JSON of DiscordChatExporter", _is_exporters),
    Sign("linkedin", "LinkedIn's data", _holds(r"(?:shares|connections)\.csv")),
    Sign("reddit", "the data that Reddit sends", _holds(r"(?:comments|posts)\.csv")),
    Sign("chatgpt", "conversations with ChatGPT", lambda sight: _talked(sight, b'"mapping"')),
    Sign("claude", "conversations with Claude", lambda sight: _talked(sight, b'"chat_messages"')),
    Sign("mastodon", "Mastodon's archive", _holds(r"outbox\.json")),
    Sign("x", "an archive of X or Twitter", _holds(r"data/tweets?(?:-part\d+)?\.js")),
    Sign("bluesky", "Bluesky's export", lambda sight: sight.suffix == ".car" or bool(sight.holds(BLUESKY))),
    Sign("apple-notes", "Apple's copy of your notes", _holds(r"notes details\.csv")),
    Sign("notion", "Notion's export", _holds(rf".* [0-9a-f]{{32}}\.md|{NOTIONS}")),
    Sign("telegram", "Telegram's export", _is_telegram),
    Sign("whatsapp", "a chat of WhatsApp", _is_whatsapp),
    Sign("markdown", "a document", lambda sight: not sight.is_folder and bool(sight.holds(OFFICE))),
    Sign("markdown", "a folder of notes or posts", lambda sight: sight.is_folder and _is_site(sight)),
    Sign("git", "a git repository", lambda sight: sight.is_folder and _is_repository(sight)),
    Sign("mbox", "mail", _holds(MAIL)),
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
