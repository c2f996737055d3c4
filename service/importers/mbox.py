"""Mail: Gmail's Takeout, Thunderbird's folders, mutt's, Maildirs, mailing list archives, single mails."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from service.importers.base import (
    NO_TEXT,
    NOT_MINE,
    SHOWN,
    Importer,
    Items,
    LeftOut,
    Options,
    Remark,
    SourceDocument,
    as_request,
    content_id,
)
from service.importers.disk_index import DiskIndex
from service.importers.folders import unread
from service.importers.identities import Identities
from service.importers.mails.boxes import MESSAGE_BYTES, Box, open_boxes, plain_size
from service.importers.mails.cleaning import read_patch, unwrap, without_attached, without_banners, without_images
from service.importers.mails.headers import HEADER_BYTES, parse_date, parse_sender
from service.importers.mails.kinds import ENCRYPTED, folder_name, label_names, why_left_out, why_out_of
from service.importers.mails.message import Envelope, read_envelope
from service.importers.mails.parts import MailPart, is_cut_off, parts_of, text_of
from service.importers.mails.phrases import PHRASES
from service.importers.mails.quotes import latest_quoted, split_mail
from service.importers.mails.spans import Span

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
    """Counts the mails of senders who were not named with ``--me`` and may be the same person."""

    def __init__(self) -> None:
        self._names: set[str] = set()  # by which the person's own mails are signed
        self._others: Counter[tuple[str, str]] = Counter()
        self._sent: Counter[str] = Counter()

    def note_own(self, name: str) -> None:
        if " " in name:  # "Ann" alone may be anybody's
            self._names.add(name.casefold())

    def note_other(self, name: str, address: str, places: list[str]) -> None:
        """``places`` are the labels and folders of the mail."""
        key = (name.casefold(), address.casefold())
        if not address or MACHINE.match(address):
            return
        if key in self._others or len(self._others) < MOST_ADDRESSES:
            self._others[key] += 1
            self._sent[key[1]] += any(SENT.fullmatch(place) for place in places)

    def remarks(self) -> Iterator[Remark]:
        """Yield a remark on the likeliest addresses with their mails, if there are any."""
        mails_by_address: Counter[str] = Counter()
        for (name, address), mails in self._others.items():
            if name in self._names or self._sent[address]:
                mails_by_address[address] += mails
        if shown := ", ".join(f"{address} ({mails:,})" for address, mails in mails_by_address.most_common(SHOWN)):
            yield Remark(f"Also seen, perhaps you: {shown}; if so, import again with --me for each.")


class RepeatedEndings:
    """Counts the different texts above each last paragraph of a person's mails, and cuts what ends several.

    One mail in several folders, or sent to several people, is one text.
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
        """The text without the paragraphs at its end that several texts have; what stands above them is kept."""
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
    """The boxes, the places of their mails by Message-ID, and what the first reading learnt."""

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
    """The text that somebody wrote, what they quoted, and the author of a patch that they passed on."""

    own: str
    quoted: str
    author: tuple[str, str] | None = None


def _note(archive: _Archive, number: int, span: Span) -> None:
    """Note where a mail is, and how it ends if it is one's own."""
    box = archive.boxes[number]
    header = read_envelope(box.content(span.start, min(span.length, HEADER_BYTES)))
    if header.id:
        archive.index.put(header.id, f"{number} {span.start} {span.length}")
    if archive.me.match(*header.sender):
        parts = parts_of(box.content(span.start, span.length))
        archive.endings.note(_words(parts, header.sender[0]).own)


def _items(archive: _Archive, box: Box, span: Span, options: Options) -> list[SourceDocument | LeftOut]:
    """The mail as a document, and its parts that cannot be read; or why it is left out."""
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
    """The answered mail's own text; if it is not in the archive what is quoted of it; else the subject."""
    for message_id in envelope.answers:
        answered = archive.find(message_id)
        if answered is None:
            continue
        if request := request_of(answered):
            return request
    quoted = latest_quoted(without_banners(latest_quoted(unwrap(quoted))))
    return as_request(without_images(quoted)) or envelope.subject


def request_of(raw: bytes) -> str | None:
    """A mail's own text as the request that its answer has; None where it has none."""
    words = _words(parts_of(raw), read_envelope(raw).sender[0])
    # a desk's mail begins with the line above which it is to be answered
    return as_request(without_banners(words.own or words.quoted))


def quotes_nothing(raw: bytes) -> bool:
    """True for a mail that does not quote what it answers."""
    return not _words(parts_of(raw), read_envelope(raw).sender[0]).quoted.strip()


def _opening_time(opening: bytes) -> float | None:
    """The delivery time in ``From ann@example.org Fri Jul  8 12:08:34 2011``."""
    return parse_date(opening.decode(errors="replace").split(maxsplit=2)[-1]) if opening else None
