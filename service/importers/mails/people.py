"""Possible other identities of an archive's owner: addresses under the same name, or in the folder of sent mail."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from service.importers.base import SHOWN, Remark
from service.importers.mails.phrases import KNOWN

MOST_ADDRESSES = 10_000  # that are counted: memory must not grow with the source
SENT = re.compile(KNOWN["sent_folders"], re.IGNORECASE)
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
