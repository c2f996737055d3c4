"""Weights from an address: resumed by range requests as long as the server's file is the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import IO

import httpx2

from pearl.errors import PearlError
from pearl.text.shown_urls import why, without_secrets
from pearl.weights.progress import Transfer
from pearl.weights.room import check_room
from pearl.weights.unfinished import ResumeNote, Unfinished

TRIES = 5  # in a row without a new byte
SILENCE_S, CONNECT_S = 30.0, 10.0
NOTED = 8 << 20  # bytes between two notes of how far the file is
BUSY = {408, 425, 429, 500, 502, 503, 504}
PARTIAL, TOO_FAR = 206, 416
UNREACHABLE = (httpx2.ConnectError, httpx2.UnsupportedProtocol)


class Web:
    """A file at an http or https address."""

    def __init__(
        self,
        url: str,
        *,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.shown = without_secrets(url)
        self._url = url
        self._transport = transport
        self._sleep = sleep

    def fetch(self, unfinished: Unfinished, transfer: Transfer) -> None:
        """Download the missing bytes. Raises PearlError if the server does not give them."""
        note = unfinished.resume(self.shown)
        failed, came = 0, False
        timeout = httpx2.Timeout(SILENCE_S, connect=CONNECT_S)
        with httpx2.Client(timeout=timeout, follow_redirects=True, transport=self._transport) as client:
            while True:
                before = note.bytes
                try:
                    self._ask(client, unfinished, note, transfer)
                    return
                except (httpx2.TransportError, _Busy) as error:
                    note = unfinished.resume(self.shown)
                    failed = 1 if note.bytes > before else failed + 1
                    came = came or note.bytes > before
                    if failed == TRIES or (isinstance(error, UNREACHABLE) and not came):
                        raise self._failed(why(error, self._url) or type(error).__name__, note) from error
                    transfer.say(f"the connection failed ({type(error).__name__}); trying again")
                    self._sleep(2.0**failed)
                except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                    raise self._failed(why(error, self._url), note) from error

    def _ask(self, client: httpx2.Client, unfinished: Unfinished, note: ResumeNote, transfer: Transfer) -> None:
        """Request the bytes behind the note's, or the whole file if the server's may have changed."""
        headers = {"accept-encoding": "identity"}
        if note.bytes and note.version:
            headers |= {"range": f"bytes={note.bytes}-", "if-range": note.version}
        with client.stream("GET", self._url, headers=headers) as answer:
            if answer.status_code in BUSY:
                raise _Busy(f"it answers {answer.status_code} {answer.reason_phrase}")
            if answer.status_code == TOO_FAR:  # nothing is behind: the file is whole, or a shorter one now
                if answer.headers.get("content-range") == f"bytes */{note.bytes}":
                    return
                unfinished.begin(ResumeNote(self.shown))
                raise _Busy("its file has become shorter")
            if answer.status_code >= 300:
                raise self._failed(f"it answers {answer.status_code} {answer.reason_phrase}", note)
            if answer.status_code != PARTIAL or not _begins_at(answer, note.bytes):
                note = unfinished.begin(ResumeNote(self.shown, version=_version(answer)))
            self._write(answer, unfinished, note, transfer)

    def _write(self, answer: httpx2.Response, unfinished: Unfinished, note: ResumeNote, transfer: Transfer) -> None:
        length = answer.headers.get("content-length", "")
        total = note.bytes + int(length) if length.isdecimal() else None
        if total is not None:
            check_room(unfinished.folder, total - note.bytes)
        transfer.begin(note.bytes, total)
        with unfinished.file.open("ab") as file:
            try:
                for piece in answer.iter_bytes():
                    file.write(piece)
                    transfer.at(file.tell())
                    if file.tell() - note.bytes >= NOTED:
                        note = _noted(file, unfinished, note)
            finally:
                _noted(file, unfinished, note)

    def _failed(self, reason: str, note: ResumeNote) -> PearlError:
        kept = f" {note.bytes / 1e6:,.0f} MB are kept, and it goes on there." if note.bytes else ""
        return PearlError(
            f"{self.shown} could not be fetched: {reason.rstrip('.')}. Check the address and the network, then run the "
            f"same command again.{kept}",
            code="download_failed",
        )


class _Busy(Exception):
    """The server may give the file a little later."""


def _noted(file: IO[bytes], unfinished: Unfinished, note: ResumeNote) -> ResumeNote:
    file.flush()
    note = replace(note, bytes=file.tell())
    unfinished.write(note)
    return note


def _begins_at(answer: httpx2.Response, start: int) -> bool:
    return str(answer.headers.get("content-range", "")).startswith(f"bytes {start}-")


def _version(answer: httpx2.Response) -> str:
    """Return the server's strong validator of the file, such as its ETag; empty without one, or if the file is
    compressed, since the bytes on disk are then not those that are counted."""
    if answer.headers.get("content-encoding", "identity") != "identity":
        return ""
    tag = str(answer.headers.get("etag", ""))
    return tag if tag and not tag.startswith("W/") else str(answer.headers.get("last-modified", ""))
