"""Reading documents of Word (.docx) and LibreOffice (.odt): their paragraphs and their metadata."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import IO, Any, Protocol
from xml.parsers import expat

from pearl.errors import InputError
from service.importing.sources.archive import DAMAGED, open_zip
from service.importing.sources.notes.blocks import Block
from service.importing.sources.quotes import tidy

DEEPEST = 256  # elements in each other
LONGEST = 250_000  # bytes without an event, as of a tag that does not end: the parser reads them again and again
MOST_BYTES = 50_000_000
PIECE = 1 << 16


class XmlHandler(Protocol):
    """Receives the events of an XML parser; names come without their namespaces."""

    def start(self, name: str, attributes: dict[str, str]) -> None: ...
    def end(self, name: str) -> None: ...
    def text(self, data: str) -> None: ...


def read_xml(stream: IO[bytes], handler: XmlHandler) -> None:
    """Parse an XML document and pass its events to the handler. Raises InputError if it is malformed, too large, too
    deep, or has a document type, through which a document could do harm."""
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


BODIES, PROPERTIES = ("word/document.xml", "content.xml"), ("docProps/core.xml", "meta.xml")
RELATIONS, RELATIONS_BYTES = "_rels/.rels", 1 << 16
# where a document of Word stands; Word on the web calls it word/document2.xml
MAIN = re.compile(rb'<(?=[^<>]{0,500}?Type="[^"<>]{1,200}/officeDocument")[^<>]{0,500}?Target="/?([^"<>]{1,200})"')
FIELDS = {"title": "title", "created": "created", "creation-date": "created"}
FIELDS |= {"creator": "author", "initial-creator": "author"}
# deleted text, copies for older programs, notes and comments
SKIPPED = {"moveFrom", "Fallback", "tracked-changes", "annotation", "note", "rPr"}
# style ids lack what is not ASCII
HEADINGS = ("Heading", "Title", "berschrift", "Titel", "Titre", "Ttulo", "Titolo", "Kop")
QUOTES = ("Quote", "IntenseQuote", "Quotations", "Zitat", "Citation")
BREAKS = {"br": "\n", "cr": "\n", "line-break": "\n", "tab": " ", "ptab": " ", "noBreakHyphen": "-"}
HYPHENS = {0x2011: "-", 0xAD: None}  # one that does not break a line, and one that shows only where it does
MOST_CHARACTERS, MOST_SPACES = 10_000_000, 100  # of a document; in a row
PARAGRAPH = 20  # characters as which each counts


def read_office(path: Path) -> tuple[dict[str, Any], str]:
    """Return a document's metadata and text; headings begin with "# ". Raises InputError if it cannot be read."""
    body, properties = _Body(), _Properties()
    try:
        with open_zip(path) as packed:
            bodies = [name for name in (_main(packed), *BODIES) if name in packed.NameToInfo]
            for name in (*bodies[:1], *(name for name in PROPERTIES if name in packed.NameToInfo)):
                with packed.open(name) as stream:
                    read_xml(stream, body if name in bodies else properties)
            if not bodies:
                raise InputError("is no document of Word or LibreOffice.", code="not_a_document")
    except DAMAGED as error:
        raise InputError(f"cannot be read: {error}", code="unreadable_file") from error
    return properties.fields, "\n\n".join(body.paragraphs)


def _main(packed: zipfile.ZipFile) -> str:
    """Return the name of the archive's file that holds the text; "" if the document does not say."""
    if RELATIONS not in packed.NameToInfo:
        return ""
    with packed.open(RELATIONS) as stream:
        found = MAIN.search(stream.read(RELATIONS_BYTES))
    return found[1].decode(errors="replace") if found else ""


def office_blocks(body: str) -> list[Block]:
    parts = body.split("\n\n") if body.strip() else []
    return [Block(part, part[2:] if part.startswith("# ") else None, words=len(part.split())) for part in parts]


class _Properties:
    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self._name: str | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        field = FIELDS.get(name)
        self._name = None if field in self.fields else field  # the first author began it

    def end(self, name: str) -> None:
        self._name = None

    def text(self, data: str) -> None:
        if self._name:
            self.fields[self._name] = (self.fields.get(self._name, "") + data)[:1_000]


class _Body:
    def __init__(self) -> None:
        self.paragraphs: list[str] = []
        self._open: list[tuple[list[str], str]] = []  # paragraphs that are open, each with the mark before it
        self._skipped = self._words = self._size = 0  # Word's text stands in elements of its own
        self._word = self._item = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in SKIPPED:
            self._skipped += 1
        elif name == "document":
            self._word = True
        elif name == "list-item":
            self._item = True
        elif name in ("p", "h"):
            quoted = attributes.get("style-name", "").startswith(QUOTES)
            mark = "# " if name == "h" else ">" if quoted else "- " if self._item else ""
            self._open.append(([], mark))
            self._item = False
        elif self._open:
            pieces, mark = self._open[-1]
            style = attributes.get("val", "")
            if name == "pStyle" and style.startswith((*HEADINGS, *QUOTES)):
                self._open[-1] = (pieces, "# " if style.startswith(HEADINGS) else ">")
            elif name == "numPr" and not mark:
                self._open[-1] = (pieces, "- ")
            elif name == "t":
                self._words += 1
            elif name in BREAKS and not (name == "tab" and attributes.get("pos")):  # a tab stop is no tab
                self._add(BREAKS[name])
            elif name == "s":
                count = attributes.get("c", "1")
                self._add(" " * min(int(count) if count.isdecimal() else 1, MOST_SPACES))

    def end(self, name: str) -> None:
        if name in SKIPPED:
            self._skipped -= 1
        elif name == "t":
            self._words -= 1
        elif name in ("p", "h") and self._open:
            pieces, mark = self._open.pop()
            self._size += PARAGRAPH
            text = tidy([line.strip() for line in "".join(pieces).split("\n") if line.strip()])
            if text and mark != ">":
                self.paragraphs.append(f"{mark}{text}")

    def text(self, data: str) -> None:
        if self._words or not self._word:
            self._add(data)

    def _add(self, data: str) -> None:
        if self._open and not self._skipped:
            self._size += len(data)
            if self._size > MOST_CHARACTERS:
                raise InputError(f"has more than {MOST_CHARACTERS:,} characters, the limit.", code="file_too_large")
            self._open[-1][0].append(data.translate(HYPHENS))
