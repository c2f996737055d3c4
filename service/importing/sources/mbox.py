"""Mail: Gmail's Takeout, Thunderbird's and mutt's folders, Maildirs, mailing list archives, and single mails."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from service.importing.sources.archive import DiskIndex, unread
from service.importing.sources.base import (
    NO_TEXT,
    NOT_MINE,
    SHOWN,
    Importer,
    Item,
    Items,
    LeftOut,
    Options,
    Remark,
    as_request,
    content_id,
)
from service.importing.sources.commits.footers import own_text
from service.importing.sources.identities import Identities
from service.importing.sources.mails.boxes import MESSAGE_BYTES, Box, open_boxes, plain_size
from service.importing.sources.mails.headers import HEADER_BYTES, parse_date, parse_sender
from service.importing.sources.mails.kinds import ENCRYPTED, folder_name, label_names, why_left_out, why_out_of
from service.importing.sources.mails.message import Envelope, read_envelope
from service.importing.sources.mails.parts import MailPart, is_cut_off, parts_of, text_of
from service.importing.sources.mails.phrases import BANNER_MARK, BANNERS, PHRASES
from service.importing.sources.mails.quotes import latest_quoted, split_mail
from service.importing.sources.mails.spans import Span
from service.importing.sources.quotes import LINE_CHARACTERS, tidy

# half of it would be imported, and stay when the whole mail comes later
CUT_OFF = "The file ends within this mail; export it again, or wait until the mail program has written it."

UNREAD = {".emlx", ".msg", ".pst"}  # kinds that hold mails, too
LEAST_WORDS = 10  # of an ending that is cut: "Thank you and best regards, Ann" is how a person signs off
LEAST_TEXTS = 3  # that have the same ending
PARAGRAPHS = 3  # of an ending, at most
MOST_ADDRESSES = 10_000  # that are counted: memory must not grow with the source
SENT = PHRASES.compile("{sent_folders}")
MACHINE = re.compile(r"(?:no-?reply|do-?not-?reply|notifications?|mailer-daemon|bounces?)\b", re.IGNORECASE)


class OtherAddresses:
    """Counts the mails of senders not given with ``--me`` who may be the same person."""

    def __init__(self) -> None:
        self._names: set[str] = set()  # by which the person's own mails are signed
        self._others: Counter[tuple[str, str]] = Counter()
        self._sent: Counter[str] = Counter()

    def note_own(self, name: str) -> None:
        if " " in name:  # "Ann" alone may be anybody's
            self._names.add(name.casefold())

    def note_other(self, name: str, address: str, places: list[str]) -> None:
        """Count another sender's mail. ``places``: the mail's labels and folders."""
        key = (name.casefold(), address.casefold())
        if not address or MACHINE.match(address):
            return
        if key in self._others or len(self._others) < MOST_ADDRESSES:
            self._others[key] += 1
            self._sent[key[1]] += any(SENT.fullmatch(place) for place in places)

    def remarks(self) -> Iterator[Remark]:
        """Yield a remark that lists the addresses which may be the person's, if there are any."""
        mails_by_address: Counter[str] = Counter()
        for (name, address), mails in self._others.items():
            if name in self._names or self._sent[address]:
                mails_by_address[address] += mails
        if shown := ", ".join(f"{address} ({mails:,})" for address, mails in mails_by_address.most_common(SHOWN)):
            yield Remark(f"Also seen, perhaps you: {shown}; if so, import again with --me for each.")


class RepeatedEndings:
    """Finds paragraphs that end several of a person's mails, such as a signature, and cuts them.

    Copies of a mail, in several folders or to several people, count as one.
    """

    def __init__(self) -> None:
        self._texts: Counter[bytes] = Counter()
        self._seen: set[bytes] = set()

    def note(self, text: str) -> None:
        paragraphs = text.split("\n\n")
        for number in range(max(0, len(paragraphs) - PARAGRAPHS), len(paragraphs)):
            if len(paragraphs[number].split()) >= LEAST_WORDS:
                key = _key(paragraphs[number])
                both = _key(paragraphs[number] + "\0" + "\n\n".join(paragraphs[:number]))
                self._texts[key] += both not in self._seen
                self._seen.add(both)

    def cut(self, text: str) -> str:
        """Return the text without closing paragraphs that recur in several mails, such as a signature."""
        paragraphs = text.split("\n\n")
        for _ in range(PARAGRAPHS):
            if not (paragraphs and self._texts[_key(paragraphs[-1])] >= LEAST_TEXTS):
                break
            paragraphs.pop()
        return "\n\n".join(paragraphs).rstrip()


def _key(text: str) -> bytes:
    return hashlib.blake2b(" ".join(text.split()).encode(errors="replace"), digest_size=8).digest()


class MboxImporter(Importer):
    name = "mbox"
    summary = "Mail: an mbox file, a Maildir, .eml files, a folder or zip file of them."
    examples = (
        "pearl import mbox Takeout/Mail/Sent.mbox --user ann --me ann@example.org --voice email",
        "pearl import mbox archive.mbox.gz --user ann --me ann@example.org --me 'Ann Lee'",
        "pearl import mbox ~/Maildir --user ann --me ann@example.org --least-words 5",
    )
    needs_me = True
    stable_ids = True  # its Message-ID; the few mails without one are called by their content

    def size(self, source: Path) -> int | None:
        total = plain_size(source)
        return None if total is None else 2 * total  # read once to find the mails, once for their texts

    def read(self, source: Path, options: Options) -> Items:
        with open_boxes(source) as boxes, DiskIndex() as index:
            archive = _Archive(boxes, index, Identities(options.me))
            for number, box in enumerate(boxes):
                for span in box.spans(options.advance):
                    _note(archive, number, span)
            for box in boxes:
                if box.flaw:
                    yield LeftOut(box.name, "unreadable file", box.flaw)
                for span in box.spans(options.advance):
                    yield from _items(archive, box, span, options)
            yield from archive.others.remarks()
            yield from unread(source, UNREAD, "save them as .eml files (Outlook archives: 'readpst -r FILE').")


@dataclass(frozen=True, slots=True)
class _Archive:
    """A source's mailboxes, an index of their mails by Message-ID, and what was noted at the first reading."""

    boxes: list[Box]
    index: DiskIndex
    me: Identities
    endings: RepeatedEndings = field(default_factory=RepeatedEndings)
    others: OtherAddresses = field(default_factory=OtherAddresses)

    def find(self, message_id: str) -> bytes | None:
        place = self.index.get(message_id)
        if place is None:
            return None
        number, start, length = map(int, place.split())
        return self.boxes[number].content(start, length)


@dataclass(frozen=True, slots=True)
class _Words:
    """The text that a sender wrote, the text that they quoted, and, if they passed on a patch, the patch's author."""

    own: str
    quoted: str
    author: tuple[str, str] | None = None


def _note(archive: _Archive, number: int, span: Span) -> None:
    """Record where a mail is and, if the person wrote it, how it ends."""
    box = archive.boxes[number]
    header = read_envelope(box.content(span.start, min(span.length, HEADER_BYTES)))
    if header.id:
        archive.index.put(header.id, f"{number} {span.start} {span.length}")
    if archive.me.match(*header.sender):
        parts = parts_of(box.content(span.start, span.length))
        archive.endings.note(_words(parts, header.sender[0]).own)


def _items(archive: _Archive, box: Box, span: Span, options: Options) -> list[Item]:
    """Return a mail's document with a LeftOut for each part that cannot be read; or only a LeftOut with the reason why
    the mail is not imported."""
    where = f"{box.name}:{span.line}"
    raw = box.content(span.start, span.length)
    envelope = read_envelope(raw)
    signed = any(envelope.sender)  # a draft need not be
    if signed and not options.identities.match(*envelope.sender, account=envelope.sender[1]):
        places = [*label_names(envelope.fields), *map(folder_name, Path(box.place).parts[-3:])]
        archive.others.note_other(*envelope.sender, places)
        return [LeftOut(where, NOT_MINE)]
    archive.others.note_own(envelope.sender[0])
    parts = parts_of(raw)
    reason = why_out_of(box.place) or why_left_out(envelope.fields, parts)
    if reason is not None:
        return [LeftOut(where, reason)]
    if not signed:
        return [LeftOut(where, "damaged message", "'From' is missing or not an address.", "From")]
    time = envelope.time if envelope.time is not None else _opening_time(span.opening)
    if time is None:
        return [LeftOut(where, "damaged message", "'Date' is missing or not a date.", "Date")]
    flaws = dict.fromkeys(part.flaw for part in parts if part.flaw)
    if is_cut_off(raw) and span.length > MESSAGE_BYTES:
        flaws["it is longer than 4 MB, of which the rest is not read."] = None
    if box.ends_with(span) and is_cut_off(raw):
        return [LeftOut(where, "damaged message", CUT_OFF)]
    words = _words(parts, envelope.sender[0])
    if words.author and not archive.me.match(*words.author):
        return [LeftOut(where, NOT_MINE)]
    text = archive.endings.cut(words.own)
    if not text.strip() and flaws:
        return [LeftOut(where, "damaged message", flaw) for flaw in list(flaws)[:1]]
    if not text.strip():
        return [LeftOut(where, ENCRYPTED if b"-----BEGIN PGP MESSAGE" in raw else NO_TEXT)]
    request = _request(archive, envelope, words.quoted)
    document = options.document(
        where,
        envelope.id or content_id(raw),
        text,
        time,
        request,
        recipient=next((address for address in envelope.recipients if not archive.me.match("", address)), None),
        thread=envelope.thread,
    )
    damaged = (LeftOut(where, "damaged part of a message", flaw) for flaw in flaws)
    return [document, *damaged]


def _words(parts: list[MailPart], sender: str) -> _Words:
    text = unwrap(without_attached(text_of(parts).replace("\r\n", "\n").replace("\r", "\n")))
    patch = read_patch(text)
    split = split_mail(patch.message if patch else text, sender)
    author = parse_sender(patch.author) if patch and patch.author else None
    return _Words(without_images(split.own), split.quoted, author)


def _request(archive: _Archive, envelope: Envelope, quoted: str) -> str | None:
    """Return the answered mail's own text; if it is not in the archive, the quotation of it; else the subject."""
    for message_id in envelope.answers:
        answered = archive.find(message_id)
        if answered is None:
            continue
        if request := request_of(answered):
            return request
    quoted = latest_quoted(without_banners(latest_quoted(unwrap(quoted))))
    return as_request(without_images(quoted)) or envelope.subject


def request_of(raw: bytes) -> str | None:
    """Return a mail's own text as the request of its answer; None if it has no text."""
    words = _words(parts_of(raw), read_envelope(raw).sender[0])
    # a desk's mail begins with the line above which it is to be answered
    return as_request(without_banners(words.own or words.quoted))


def quotes_nothing(raw: bytes) -> bool:
    """True for a mail that does not quote what it answers."""
    return not _words(parts_of(raw), read_envelope(raw).sender[0]).quoted.strip()


def _opening_time(opening: bytes) -> float | None:
    """Return the delivery time, in Unix seconds, in ``From ann@example.org Fri Jul 8 12:08:34 2011``."""
    return parse_date(opening.decode(errors="replace").split(maxsplit=2)[-1]) if opening else None


SIGNED = re.compile(
    r"^-----BEGIN PGP SIGNED MESSAGE-----[ \t]*\n(?:.+\n)*\n?((?s:.*?))(?=^-----BEGIN PGP SIGNATURE|\Z)", re.MULTILINE
)
ARMOUR = re.compile(
    r"^-----BEGIN PGP [A-Z ]{3,40}-----[ \t]*$(?s:.*?)(?:^-----END PGP [A-Z ]{3,40}-----[ \t]*(?:\n|\Z)|\Z)",
    re.MULTILINE,
)
ESCAPED_DASH = re.compile("^- ", re.MULTILINE)
BANNER_LINES = 8  # a gateway's warning stands at the top
# stand-ins for pictures and files; "[images of cats]" is a person's
STAND_IN = PHRASES.compile(
    r"[ \t]?\[(?:{pictures}"
    r"(?:\s?\d{0,4}|\s?:[^\[\]\n]{0,200}|[ .]?[^\[\]\n]{0,80}\b(?:png|jpe?g|gif|bmp|svg|webp|heic))"
    r"|embedded image[^\[\]\n]{0,200}|attachment \"[^\[\]\n]{1,300}\" deleted by [^\[\]\n]{1,100}"
    r"|non-text portions of this message have been removed)\]"
    r"|[ \t]?<image\d{1,6}\.\w{1,5}>|(?<!\S)<<(?:file: ?)?[^<>\n]{1,150}\.\w{2,5}>>(?!\S)"
    r"|[ \t]?\(see attached file: [^()\n]{1,200}\)|\ufffc"
)
# files in a text: Eudora's paths, uuencode, BinHex, and base64 below its fields
ATTACHED = re.compile(
    r"^(?i:attachment converted|embedded content): ?.*[\\/:].*$"
    r"|^begin [0-7]{3,4} \S.*\n(?:(?:[ -`]{1,70}\n)+end$|(?:M[ -`]{40,61}\n)+)"
    r"|^\((?i:this file must be converted with binhex).*\s+:[^\s:]*(?:\n[^\s:]+)*:?"
    r"|^(?:--\S{4,70}\n(?:[\w-]{4,40}: .*\n(?:[ \t]+\S.*\n)*){1,10}\n)?"
    r"(?:[A-Za-z0-9+/]{60,76}\n){3,}[A-Za-z0-9+/]*={0,2}$"
    r"|^-{10,20} next part -{10,20}\n(?s:.*)",  # Mailman's archives
    re.MULTILINE,
)
SCISSORS = re.compile(r"---|-{1,10} ?-*>?(?:8<|>8) ?-{1,80}.{0,20}")
DIFF_START = re.compile(r"diff --git \S+ \S")
OLDER_DIFF_START = re.compile(r"Index: \S|diff -\w+ ")  # followed by a rule or the names of the two versions
OLDER_DIFF_LINE = re.compile(r"--- |\*\*\* |={5}")
DIFF_STAT = re.compile(r" \S[^|]{0,200}\| +(?:\d+ [+-]+|Bin .*)$")


@dataclass(frozen=True, slots=True)
class Patch:
    """The commit message of a mailed patch. ``author``: its author if another than the mail's sender."""

    message: str
    author: str | None = None


def unwrap(text: str) -> str:
    """Remove the marks around PGP-signed text, and remove encrypted text, keys and signatures."""
    if "-----BEGIN PGP" not in text:
        return text
    return ARMOUR.sub("", SIGNED.sub(lambda signed: ESCAPED_DASH.sub("", signed[1]), text)).rstrip("\n")


def without_attached(text: str) -> str:
    """Remove files that programs wrote into the text (uuencode, base64), and their paths."""
    return ATTACHED.sub("", text)


def read_patch(text: str) -> Patch | None:
    """Return the commit message of a mailed patch; None if the sender's own text holds no diff."""
    lines = text.split("\n")
    start = next((number for number, line in enumerate(lines) if _starts_diff(lines, number, line)), None)
    if start is None:
        return None
    rule = next((number for number, line in enumerate(lines[:start]) if SCISSORS.fullmatch(line.rstrip())), start)
    message, author = tidy(lines[:rule]), None
    if message.startswith("From: ") and rule < start:
        first, _, message = message.partition("\n")
        author = first.removeprefix("From: ")
    if rule < start or DIFF_STAT.match(lines[start][:LINE_CHARACTERS]):
        above, _, last = message.rpartition("\n\n")
        message = message if own_text(last) else above
    return Patch(message.strip("\n"), author)


def _starts_diff(lines: list[str], number: int, line: str) -> bool:
    if line.startswith("--- ") and number + 1 < len(lines):
        return lines[number + 1].startswith("+++ ")
    if OLDER_DIFF_START.match(line):
        return any(OLDER_DIFF_LINE.match(below) for below in lines[number + 1 : number + 4])
    return bool(DIFF_START.match(line) or DIFF_STAT.match(line[:LINE_CHARACTERS]))


def without_images(text: str) -> str:
    """Remove placeholders of pictures such as ``[image: cup.png]``, with the line if it holds nothing else."""
    if not STAND_IN.search(text):
        return text
    shown_lines: list[str] = []
    for line in text.split("\n"):
        shown = STAND_IN.sub("", line)
        if shown != line:
            shown = shown.removeprefix(" ")
            if not shown.strip():
                continue
        shown_lines.append(shown)
    return tidy(shown_lines)


def without_banners(text: str) -> str:
    """Remove the warnings that mail gateways put at the top of mails from outside."""
    lines = text.split("\n")
    top: list[str] = []
    seen = 0
    for number, line in enumerate(lines):
        if seen >= BANNER_LINES:
            return tidy([*top, *lines[number:]])
        seen += bool(line.strip())
        short = line[:LINE_CHARACTERS]
        if not (BANNERS.search(short) or (line.strip() and BANNER_MARK.fullmatch(short))):
            top.append(line)
    return tidy(top)
