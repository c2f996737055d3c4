"""XML as it comes, without a tree, within limits: each is far above what a program writes, and keeps time and memory in
proportion to the file. Whoever reads XML reads it by this."""

from __future__ import annotations

from typing import IO, Any, Protocol
from xml.parsers import expat

from pearl.errors import InputError

DEEPEST = 256  # elements in each other
LONGEST = 250_000  # bytes without an event, as of a tag that does not end: the parser reads them again and again
MOST_BYTES = 50_000_000
PIECE = 1 << 16


class XmlHandler(Protocol):
    """Takes the events; names come without their namespaces."""

    def start(self, name: str, attributes: dict[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, data: str) -> None: ...


def read_xml(stream: IO[bytes], handler: XmlHandler) -> None:
    """Read a whole document. Raises InputError for one that is not well-formed, beyond a limit, or with a document
    type: only one that means harm has entities."""
    parser, depth = expat.ParserCreate(namespace_separator=" "), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise InputError(f"has more than {DEEPEST} elements in each other.", code="too_deep")
        handler.start(_local(name), {_local(key): value for key, value in attributes.items()})

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        handler.end(_local(name))

    def refuse(*_: Any) -> None:
        raise InputError("has a document type, which no document of Word or LibreOffice has.", code="invalid_xml")

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, handler.text
    parser.StartDoctypeDeclHandler = refuse
    size = 0
    try:
        while piece := stream.read(PIECE):
            size += len(piece)
            parser.Parse(piece)
            if size > MOST_BYTES or size - max(0, parser.CurrentByteIndex) > LONGEST:
                raise InputError("is too long for its text, or has a tag that does not end.", code="too_large")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise InputError(f"cannot be read: {error}", code="unreadable_file") from error


def _local(name: str) -> str:
    return name.rpartition(" ")[2]
