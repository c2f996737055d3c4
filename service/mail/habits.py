"""A person's habits in mail, read from the latest sent mails: name, signature, HTML, reply to all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from service.importing.sources.html_text import html_to_text
from service.importing.sources.mails.attribution_lines import find_attribution_lines
from service.importing.sources.mails.headers import parse_addresses
from service.importing.sources.mails.message import Envelope, read_envelope
from service.importing.sources.mails.parts import decoded, parts_of, text_of
from service.importing.sources.mails.phrases import DEVICES, FOOTERS
from service.importing.sources.mails.quotes import split_mail
from service.importing.sources.mbox import RepeatedEndings
from service.importing.sources.quotes import QUOTE_MARK

# the element of a signature, as mail programs name it; none in a quote
SIGNATURE = re.compile(
    r"<(div|span|table|p)\b[^>]{0,200}?\b(?:class|id)\s{0,3}=\s{0,3}[\"'][^\"'>]{0,60}signature[^>]{0,500}>",
    re.IGNORECASE,
)
QUOTE = re.compile(r"<blockquote\b|gmail_quote", re.IGNORECASE)
# what a signature in a draft must not do: name a part that is not there, run, or ask
ACTIVE = re.compile(r"cid:|<(?:script|iframe|object|embed|form|link|meta|style|base)\b|\bon\w+\s*=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Habits:
    """A person's usual form of a mail: what at least half of the latest answers do; if none is an answer, of the
    latest mails."""

    name: str = ""  # that mails are sent under
    signature: str = ""  # as it stands below the text, with the line breaks between
    html: bool = False  # mails have HTML in addition to the text
    html_signature: str = ""
    reply_all: bool = False  # an answer goes to the others who got the mail, too


@dataclass(frozen=True, slots=True)
class _Sent:
    """A mail that the person sent."""

    envelope: Envelope
    own: str
    below: str  # between their own text and the quoted mail
    html: str  # empty if it has none

    @property
    def recipients(self) -> set[str]:
        return {each for name in ("to", "cc") for each in parse_addresses(self.envelope.fields.get(name, ""))}


def read_habits(mails: Sequence[bytes], others: Mapping[str, Collection[str]]) -> Habits:
    """Read the habits in sent mails, the latest last. ``others``: maps the Message-ID of an answered mail to its other
    recipients. A mail that is not in ``others`` counts as sent to other people, too."""
    read = [sent for raw in mails if (sent := _read(raw)).own]
    read = [sent for sent in read if sent.envelope.answers] or read
    endings = RepeatedEndings()
    for sent in read:
        endings.note(sent.own)
    signature = _usual(_signature(f"{sent.own[len(endings.cut(sent.own)) :]}\n{sent.below}") for sent in read)
    with_html = [sent.html for sent in read if sent.html]
    to_all = [share for sent in read if (share := _goes_to_all(sent, others)) is not None]
    return Habits(
        _usual(sent.envelope.sender[0] for sent in read),
        signature,
        2 * len(with_html) >= len(read) > 0,
        next((found for each in reversed(with_html) if (found := _html_signature(each, signature))), ""),
        2 * sum(to_all) >= len(to_all) > 0,
    )


def _read(raw: bytes) -> _Sent:
    envelope, parts = read_envelope(raw), parts_of(raw)
    lines = text_of(parts).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    marked = [number for number, line in enumerate(lines) if QUOTE_MARK.match(line)]
    first = min([*marked, *(start for start, _ in find_attribution_lines(lines)), len(lines)])
    top, bottom = lines[:first], lines[max(marked, default=len(lines)) + 1 :]
    written = top if any(map(str.strip, top)) else bottom
    own = split_mail("\n".join(written), envelope.sender[0]).own.rstrip()
    last = own.rpartition("\n")[2].strip()  # "Ann" may stand in the signature once more
    ends = [number for number, line in enumerate(written) if line.strip() == last]
    count = [line.strip() for line in own.split("\n")].count(last)
    end = ends[min(count, len(ends)) - 1] if own and ends else len(written)
    html = next((decoded(part) for part in parts if part.kind == "text/html" and not part.is_file), "")
    return _Sent(envelope, own, "\n".join(written[end + 1 :]), html)


def _goes_to_all(sent: _Sent, others: Mapping[str, Collection[str]]) -> bool | None:
    """True if an answer also went to the answered mail's other recipients; None if there were none, or if the mail is
    no answer."""
    if not sent.envelope.answers:
        return None
    had = others.get(sent.envelope.answers[0])
    if had is None:
        return len(sent.recipients) > 1
    return not sent.recipients.isdisjoint(had) if had else None


def _signature(text: str) -> str:
    """Return the signature for drafts from the lines below a sent text, without lines such as "Sent from my phone"."""
    lines = [line.rstrip() for line in text.split("\n")]
    kept = [line for line in lines if not (FOOTERS.match(line) and DEVICES.search(line))]
    signature = re.sub(r"\A\n{3,}", "\n\n", "\n".join("-- " if line == "--" else line for line in kept).rstrip("\n"))
    return signature if signature.strip("\n -") else ""


def _usual(values: Iterable[str]) -> str:
    """Return the commonest value if at least half of the values equal it, else ""."""
    counted = Counter(values)
    value, count = counted.most_common(1)[0] if counted else ("", 0)
    return value if 2 * count >= counted.total() else ""


def _html_signature(html: str, signature: str) -> str:
    """Return the HTML element with the signature; "" unless it shows the same text and has no active content."""
    opened = SIGNATURE.search(html, 0, quote.start() if (quote := QUOTE.search(html)) else len(html))
    if opened is None or not signature:
        return ""
    depth = 0
    for tag in re.finditer(rf"<(/?){opened[1]}\b", html[opened.start() :], re.IGNORECASE):
        depth += -1 if tag[1] else 1
        if not depth:
            break
    found = html[opened.start() : opened.start() + tag.start()] + f"</{opened[1]}>"
    shown, written = ([word for word in text.split() if word != "--"] for text in (html_to_text(found), signature))
    return found if shown == written and not depth and not ACTIVE.search(found) else ""
