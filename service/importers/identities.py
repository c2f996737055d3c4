"""Who is who in a source: the names and addresses that ``--me`` gave."""

from __future__ import annotations

from email.utils import parseaddr


class Identities:
    """The names, addresses and ids of one person; upper and lower case are the same."""

    def __init__(self, me: tuple[str, ...]) -> None:
        self._forms = {form for identity in me for form in _forms_of(identity)}

    def __bool__(self) -> bool:
        return bool(self._forms)

    def match(self, *names: object) -> bool:
        """True if any of the names (None among them is passed over) is this person's."""
        return any(isinstance(name, str) and _normal(name) in self._forms for name in names)


def _forms_of(identity: str) -> set[str]:
    name, address = parseaddr(identity)
    forms = {_normal(identity)}
    if "<" in identity and "@" in address:  # Ann Lee <ann@example.org>
        forms |= {_normal(name), _normal(address)}
    return forms - {""}


def _normal(name: str) -> str:
    return " ".join(name.split()).removeprefix("@").removeprefix("u/").casefold()
