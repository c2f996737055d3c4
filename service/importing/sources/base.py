"""The interface of importers, the items they yield, and helpers that make ids and requests for them."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Protocol

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.recipients import recipient_of
from pearl.text.usable import check_id
from service.importing.sources.identities import Identities

ENTRY_POINT_GROUP = "pearl.importers"

# reasons that several importers give
NOT_MINE = "not written by --me"
NO_TEXT = "no text"
SHOWN = 5  # examples in a remark
MAX_REQUEST = 2_000  # characters: a request goes into prompts and rankings whole; more of it helps neither


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that an importer found. ``where``: its place in the source (``file:line`` or the like)."""

    user: str
    document: Document
    where: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An item of the source that is not imported.

    ``reason``: a few words such as "not written by --me", by which the summary counts. ``error``: what is wrong with
    the item, None if it is left out on purpose; ``field``: the part of the item at fault.
    """

    where: str
    reason: str
    error: str | None = None
    field: str | None = None

    @classmethod
    def because_of(cls, error: InputError, where: str) -> LeftOut:
        return cls(where, error.code.replace("_", " "), error.message, error.param)


Item = SourceDocument | LeftOut


@dataclass(frozen=True, slots=True)
class Remark:
    """A sentence about the whole source, shown to the person below the counts."""

    text: str


class ParseWarnings:
    """Parts of imported documents that had to be left out, counted by kind for the summary."""

    def __init__(self) -> None:
        self._found: dict[str, list[str]] = {}

    def note(self, kind: str, where: str, problem: str = "") -> None:
        self._found.setdefault(kind, []).append(f"{where}: {problem.rstrip('.')}" if problem else where)

    def remarks(self) -> Iterator[Remark]:
        for kind, found in self._found.items():
            yield Remark(f"{kind}: {len(found):,} ({'; '.join(found[:SHOWN])}).")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an import. ``me``: the person's names and addresses in the source; ``identities``: the same, ready
    for matching; ``voice``: the voice of documents that name none; ``least_words``: shorter documents are left out."""

    user: str | None = None
    me: tuple[str, ...] = ()
    voice: str | None = None
    least_words: int = 0
    flags: frozenset[str] = frozenset()  # of the importer's own, those that are given
    advance: Callable[[int], None] = lambda amount: None  # told of progress, in Importer.unit
    identities: Identities = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identities", Identities(self.me))

    @property
    def owner(self) -> str:
        """The user, for sources that do not name their users. Raises InputError if none is given."""
        if self.user is None:
            raise InputError("Say whose history this is with --user.", param="user", code="missing_user")
        return self.user

    def check_me(self, where: str, how: str) -> None:
        """Raise InputError unless --me was given. ``where`` and ``how`` complete the message: the kind of source, and
        what can identify a person there."""
        if not self.identities:
            raise InputError(f"Say who in {where} is you with --me ({how}).", param="me", code="missing_me")

    def document(
        self,
        where: str,
        name: str,
        text: str,
        timestamp: float,
        request: str | None,
        voice: str | None = None,
        *,
        recipient: str | None = None,
        thread: str | None = None,
    ) -> SourceDocument:
        """Make a document of the user's. ``name``: the source's own name for it, from which its id is made; ``voice``:
        used instead of the options' voice."""
        document = Document(
            stable_id(name),
            text,
            timestamp,
            as_request(request),
            voice or self.voice,
            recipient_of(recipient) if recipient else None,
            stable_id(thread) if thread else None,
        )
        return SourceDocument(self.owner, document, where)


def stable_id(name: str) -> str:
    """Return the name itself if it is valid as an id, else a digest of it. Every run gives the same id."""
    try:
        return check_id(name)
    except InputError:
        return content_id(name.encode(errors="surrogatepass"))  # a file's name and JSON may have halves of pairs


def content_id(content: bytes) -> str:
    """Make an id for content that has no name: a digest."""
    return f"sha256:{hashlib.sha256(content).hexdigest()[:40]}"


def as_request(text: str | None) -> str | None:
    """Convert a text to a request: cut behind a word if it is too long, None if it is empty."""
    text = (text or "").replace("\0", " ").strip()
    if len(text) > MAX_REQUEST:
        text = text[: MAX_REQUEST + 1].rsplit(maxsplit=1)[0][:MAX_REQUEST].rstrip()
    # a request is context, not history: half a character in it must not cost the document
    return text.encode(errors="replace").decode() or None


def read_each(placed: Iterable[tuple[str, Any]], read: Callable[[Any, str], Item]) -> Iterator[Item]:
    """Convert pairs of a place and a value to items by ``read``. A value that is an error, or for which ``read`` raises
    InputError, is left out."""
    for where, value in placed:
        try:
            if isinstance(value, InputError):
                raise value
            yield read(value, where)
        except InputError as error:
            yield LeftOut.because_of(error, where)


# a generator, so that one that is given up closes its files
Items = Generator[Item | Remark, None, None]


class Importer(Protocol):
    """Reads one kind of source. A subclass overrides only what differs from the defaults.

    ``summary``: its line in ``pearl import --help``; ``examples``: shown below its options. An importer may have
    ``flags``: a map from the names of switches that only this importer takes to their help.
    """

    name: str
    summary: str
    examples: tuple[str, ...]
    unit: str = "bytes"  # what size and advance count: "bytes", "commits", "files"
    needs_user: bool = True  # False where the source itself says whose document it is
    needs_me: bool = False  # True where the source always holds other people's texts too
    stable_ids: bool = True  # True where a text that is changed in the source keeps its id
    template: str = "message"  # the prompt template of the voices that an import makes

    def size(self, source: Path) -> int | None:
        """Return the total that ``advance`` will count up to; None if it is not known beforehand."""
        ...

    def read(self, source: Path, options: Options) -> Items:
        """Yield the source's items in their order. Raises InputError if the source holds nothing to read at all."""
        ...


def importer_names() -> list[str]:
    return sorted({point.name for point in entry_points(group=ENTRY_POINT_GROUP)})


def load_importer(name: str) -> Importer:
    """Load an importer by name. Raises InputError if there is none or if the plug-in is broken."""
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        try:
            importer: Importer = point.load()()
        except Exception as error:  # a plug-in is foreign code: whatever it raises, the others must go on working
            raise InputError(
                f"The importer '{name}' ({point.value}) cannot be loaded: {error}", code="broken_importer"
            ) from error
        return importer
    raise InputError(
        f"There is no importer '{name}'; there are {', '.join(importer_names())}.", code="unknown_importer"
    )


MOST_MESSAGES = 5  # in a row that one answer is to
ANSWERED_WITHIN_S = 86_400.0  # later one begins anew


class Turns:
    """The other people's messages in a chat since the person's own last message."""

    def __init__(self) -> None:
        self._heard: deque[str] = deque(maxlen=MOST_MESSAGES)
        self._last = 0.0

    def hear(self, text: str, timestamp: float) -> None:
        if timestamp - self._last > ANSWERED_WITHIN_S:
            self._heard.clear()
        self._last = timestamp
        if text.strip():
            self._heard.append(text)

    def answered(self, timestamp: float) -> str | None:
        """Return the messages that the person's own message answers, as its request, and forget them. ``timestamp``:
        the time of the person's message, in Unix seconds."""
        heard = "\n".join(self._heard) if timestamp - self._last <= ANSWERED_WITHIN_S else None
        self._heard.clear()
        return as_request(heard)
