"""Recognizing a person in a source by the names and addresses given with ``--me``, and counting the other senders."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parseaddr

MAX_ACCOUNTS = 100  # of one name
SHOWN = 5
MAX_SENDERS = 10_000  # whose texts are counted: the commonest come early, and memory must not grow with the source


@dataclass(frozen=True, slots=True)
class Sender:
    """Another person who writes in the source. ``texts``: how many texts are theirs."""

    name: str
    texts: int

    def __str__(self) -> str:
        return f"{self.name} ({self.texts:,})"


class Identities:
    """The names, addresses and ids of one person; case is ignored.

    The object records which identities were found, for which accounts, and which other senders there are. So an import
    can report a misspelt ``--me``, and a name that two people share.
    """

    def __init__(self, me: tuple[str, ...]) -> None:
        self._forms = {identity: _forms_of(identity) for identity in me}
        self._met: set[str] = set()
        self._others: Counter[str] = Counter()
        self._accounts: dict[str, Counter[str]] = {}  # texts by account, for each identity that was met
        self._shown: dict[str, str] = {}  # accounts as people read them

    def __bool__(self) -> bool:
        return any(self._forms.values())

    def add(self, *names: str) -> None:
        """Add names that the source itself gives for the person; they count as found if any of them is."""
        self._forms[", ".join(names)] = {form for name in names for form in _forms_of(name)}

    def match(self, *names: object, account: object = None) -> bool:
        """True if any of the names is this person's; None is ignored. ``account``: the name that no two people share,
        such as an address or id."""
        seen = {_normal(name) for name in names if isinstance(name, str)}
        mine = {identity for identity, forms in self._forms.items() if forms & seen}
        self._met |= mine
        if isinstance(account, str) and account:
            for identity in mine:
                self._note_account(identity, names, account)
        if not mine:
            self._note_other(names)
        return bool(mine)

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The given identities that no sender in the source has; empty if the source names no senders."""
        if not (self._met or self._others):
            return ()
        return tuple(identity for identity in self._forms if identity not in self._met)

    def commonest_others(self, count: int = 10) -> tuple[Sender, ...]:
        return tuple(Sender(name, texts) for name, texts in self._others.most_common(count))

    def several(self) -> Iterator[str]:
        """Yield a warning for each identity that belongs to several accounts, unless --me names all these accounts."""
        named = {form for forms in self._forms.values() for form in forms}
        for identity, accounts in self._accounts.items():
            if len(accounts) > 1 and accounts.keys() - named:
                shown = ", ".join(f"{self._shown[key]} ({texts:,})" for key, texts in accounts.most_common(SHOWN))
                yield (
                    f"'{identity}' is {len(accounts):,} accounts in it: {shown}. If one is somebody else's, undo this "
                    "import and name yours with --me."
                )

    def _note_account(self, identity: str, names: tuple[object, ...], account: str) -> None:
        texts, key = self._accounts.setdefault(identity, Counter()), _normal(account)
        if key in texts or len(texts) < MAX_ACCOUNTS:
            texts[key] += 1
            name = next((" ".join(name.split())[:100] for name in names if isinstance(name, str) and name.strip()), "")
            self._shown.setdefault(key, account if name == account else f"{name} <{account}>")

    def _note_other(self, names: tuple[object, ...]) -> None:
        shown = _shown(names)
        if shown and (shown in self._others or len(self._others) < MAX_SENDERS):
            self._others[shown] += 1


def _forms_of(identity: str) -> set[str]:
    name, address = parseaddr(identity)
    forms = {_normal(identity)}
    if "<" in identity and "@" in address:  # Ann Lee <ann@example.org>
        forms |= {_normal(name), _normal(address)}
    return forms - {""}


def _normal(name: str) -> str:
    # macOS writes an accent as a sign of its own
    return unicodedata.normalize("NFC", " ".join(name.split())).removeprefix("@").removeprefix("u/").casefold()


def _shown(names: tuple[object, ...]) -> str:
    """Format a sender for people: the first name, then the first address in angle brackets."""
    known = [" ".join(name.split())[:100] for name in names if isinstance(name, str) and name.strip()]
    address = next((name for name in known if "@" in name.strip("@")), "")
    name = next((name for name in known if name != address), "")
    return f"{name} <{address}>" if name and address else name or address
