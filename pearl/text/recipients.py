"""The recipient and the thread of a text: which values are valid, and which recipients are the same."""

from __future__ import annotations

import re
from typing import Any

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.usable import check_id
from pearl.text.words import composed

IN_ADDRESS = r"[^\s<>@,;:\"()\[\]]"
ADDRESS = re.compile(rf"(?<!{IN_ADDRESS}){IN_ADDRESS}++@{IN_ADDRESS}++")
NAMED_ADDRESS = re.compile(r"[^<>]*<([^<>]*)>")
ADDRESSED_LINE = re.compile(r"^[ \t]*(recipient|thread):[ \t]*(\S[^\n]*?)[ \t]*(?:\n|\Z)", re.MULTILINE | re.IGNORECASE)


def check_recipient(value: Any, *, param: str = "recipient") -> str:
    """Return a recipient in its stored form: an address in lower case, or a handle, name or channel as given.

    In "Nan Lee <nan@example.org>" only the address counts. Raises InputError for more than one recipient, control
    characters or more than 200 characters.
    """
    given = check_id(value.strip() if isinstance(value, str) else value, param=param)
    address = given
    if "<" in given or ">" in given:
        named = NAMED_ADDRESS.fullmatch(given)
        address = named[1].strip() if named else ""
        if not ADDRESS.fullmatch(address):
            raise InputError(
                f"'{param}' must have one address between < and >, as in Nan Lee <nan@example.org>.",
                param=param,
                code="invalid_recipient",
            )
    elif len(ADDRESS.findall(given)) > 1:
        raise InputError(
            f"'{param}' names several recipients; name the one whom the text is for.",
            param=param,
            code="several_recipients",
        )
    return address.lower() if ADDRESS.fullmatch(address) else address


def recipient_of(value: str) -> str | None:
    """Return a recipient in its stored form (:func:`check_recipient`); None if it is invalid."""
    try:
        return check_recipient(" ".join(value.split()))
    except InputError:
        return None


def check_document(document: Document) -> None:
    """Check the recipient and the thread of a document. Raises InputError."""
    if document.recipient is not None:
        check_recipient(document.recipient)
    if document.thread is not None:
        check_id(document.thread, param="thread")


def addressed_by_lines(instructions: str) -> tuple[str, str | None, str | None]:
    """Read lines such as "recipient: nan@example.org" and "thread: rails" from a system message, for clients without
    such fields. Return the other lines, the recipient and the thread. Lines with invalid values stay."""
    found: dict[str, str] = {}

    def take(line: re.Match[str]) -> str:
        name = line[1].lower()
        try:
            found[name] = check_recipient(line[2]) if name == "recipient" else check_id(line[2], param=name)
        except InputError:
            return line[0]
        return ""

    rest = ADDRESSED_LINE.sub(take, instructions)
    return rest.strip() if found else instructions, found.get("recipient"), found.get("thread")


def same_recipient_key(recipient: str) -> str:
    """Return a key that is equal for spellings of one recipient, with other capitals or without "@" or "#"."""
    return composed(recipient).casefold().lstrip("@#")
