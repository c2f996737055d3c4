"""An IMAP server in threads of the test, for where there is no Dovecot: what `pearl mail watch` asks of IMAP4rev1."""

from __future__ import annotations

import base64
import re
import select
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from pathlib import Path
from typing import Any

from imapclient.imap_utf7 import encode

WORD = re.compile(r'"((?:\\.|[^"\\])*)"|([^\s()"]+)')
LETTERS = {"seen": "S", "flagged": "F", "answered": "R", "deleted": "T", "draft": "D", "$todo": "a"}  # a Maildir's


@dataclass
class Stored:
    """A mail in a folder."""

    uid: int
    raw: bytes
    flags: str  # letters
    received: float

    @property
    def head(self) -> bytes:
        return self.raw[: self.raw.find(b"\r\n\r\n") + 4]


@dataclass
class Folder:
    """A folder and what a server tells of it."""

    use: str = ""  # its special use
    mails: list[Stored] = field(default_factory=list)
    validity: int = 1
    next_uid: int = 1

    def add(self, raw: bytes, flags: str, received: float) -> None:
        self.mails.append(Stored(self.next_uid, raw, flags, received))
        self.next_uid += 1

    def among(self, numbers: str) -> set[int]:
        """The UIDs of these numbers, such as 1:3,5:*, that are there."""
        uids, found = {mail.uid for mail in self.mails}, set[int]()
        for first, to, last in (each.partition(":") for each in numbers.split(",")):
            end = max(uids, default=0) if last == "*" else int(last or first)
            low, high = sorted((int(first), end)) if to else (int(first), int(first))
            found |= {low} & uids if low == high else {uid for uid in uids if low <= uid <= high}
        return found


class ImapServer:
    """A server with one account, filled and looked at as tests.dovecot.Dovecot is."""

    greeting = b"* OK ready"
    capabilities = "IMAP4rev1 SPECIAL-USE AUTH=PLAIN"

    def __init__(self, ca: Path, folders: Mapping[str, str], login: tuple[str, str], idle: bool = True) -> None:
        """``ca`` is a file with the certificate and its key; ``folders`` have their special use."""
        self.capabilities += " IDLE" if idle else ""
        self.ca, self.account = ca, list(login)
        self.folders = {encode(name).decode(): Folder(use) for name, use in {"INBOX": "", **folders}.items()}
        self._lines: list[Any] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(ca)
        imap = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                with suppress(OSError, ValueError), context.wrap_socket(self.request, server_side=True) as line:
                    imap._lines.append(line)
                    _Session(imap, line).run()

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            self.kick()
            thread.join()
            self._server.server_close()  # waits for the sessions

    def kick(self) -> None:
        """Cut all lines."""
        for line in self._lines:
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def put(self, folder: str, *mails: bytes, flags: str = "S", received: float | None = None) -> None:
        place = self.folders.setdefault(folder or "INBOX", Folder())
        for mail in mails:
            raw = mail.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            place.add(raw, flags, time.time() if received is None else received)

    def mails(self, folder: str) -> list[bytes]:
        return [mail.raw for mail in self.folders[folder or "INBOX"].mails]

    def flags(self, folder: str) -> list[str]:
        return [mail.flags for mail in self.folders[folder].mails]

    def empty(self, folder: str) -> None:
        self.folders[folder].mails.clear()

    def renumber(self, folder: str, validity: int) -> None:
        self.folders[folder].validity = validity

    # what a lying server says otherwise

    def ends(self, command: str) -> bool:
        """True if the line ends behind the answer to a command."""
        return command == "LOGOUT"

    def told(self, folder: Folder) -> list[bytes]:
        return [b"OK [UIDVALIDITY %d] ." % folder.validity, b"OK [UIDNEXT %d] ." % folder.next_uid]

    def found(self, uids: list[int]) -> list[int]:
        return uids

    def fetches(self, uid: int, asked: set[int]) -> bool:
        return uid in asked

    def fetched(self, mail: Stored, asked: str) -> bytes:
        parts = [b"UID %d" % mail.uid]
        if "RFC822.SIZE" in asked:
            parts.append(b"RFC822.SIZE %d" % len(mail.raw))
        if "INTERNALDATE" in asked:
            when = datetime.fromtimestamp(mail.received, UTC)
            parts.append(f'INTERNALDATE "{when:%d-%b-%Y %H:%M:%S} +0000"'.encode())
        if body := re.search(r"BODY\.PEEK(\[\w*\])<0\.(\d+)>", asked):
            raw = (mail.head if "HEADER" in body[1] else mail.raw)[: int(body[2])]
            parts.append(b"BODY%s<0> {%d}\r\n%s" % (body[1].encode(), len(raw), raw))
        return b"FETCH (" + b" ".join(parts) + b")"


class _Session:
    """One connection."""

    def __init__(self, imap: ImapServer, line: ssl.SSLSocket) -> None:
        self.imap, self.line, self.file = imap, line, line.makefile("rwb")
        self.folder = Folder()

    def send(self, *lines: bytes) -> None:
        self.file.write(b"".join(line + b"\r\n" for line in lines))
        self.file.flush()

    def say(self, *lines: bytes) -> None:
        self.send(*(b"* " + line for line in lines))

    def ask(self) -> bytes:
        self.send(b"+ go on")
        return self.file.readline()

    def run(self) -> None:
        self.send(self.imap.greeting)
        for command in self.file:
            tag, _, rest = command.decode().strip().removesuffix("\r").partition(" ")
            name, _, words = rest.removeprefix("UID ").partition(" ")
            answer = getattr(self, name.lower())(words) or "OK done"
            self.send(f"{tag} {answer}".encode())
            if self.imap.ends(rest):
                return

    def capability(self, rest: str) -> None:
        self.say(f"CAPABILITY {self.imap.capabilities}".encode())

    def authenticate(self, rest: str) -> str | None:
        return self._check(base64.b64decode(self.ask()).decode().split("\0")[1:])

    def login(self, rest: str) -> str | None:
        return self._check(_words(rest))

    def _check(self, given: list[str]) -> str | None:
        return None if given == self.imap.account else "NO [AUTHENTICATIONFAILED] Authentication failed."

    def logout(self, rest: str) -> None:
        self.say(b"BYE")

    def noop(self, rest: str) -> None:
        pass

    def list(self, rest: str) -> None:
        self.say(*(f'LIST ({folder.use}) "/" "{name}"'.encode() for name, folder in self.imap.folders.items()))

    def examine(self, rest: str) -> None:
        self.folder = self.imap.folders[_words(rest)[0]]
        self.say(b"%d EXISTS" % len(self.folder.mails), *self.imap.told(self.folder))

    def search(self, rest: str) -> None:
        words, holds = iter(_words(rest)), {mail.uid for mail in self.folder.mails}
        for word in words:
            holds &= self._matching(word, words)
        self.say(" ".join(["SEARCH", *map(str, self.imap.found(sorted(holds)))]).encode())

    def _matching(self, word: str, words: Iterator[str]) -> set[int]:
        """The UIDs that a search key matches; what belongs to it is taken from ``words``."""
        key, mails = word.lower(), self.folder.mails
        if key == "or":
            return self._matching(next(words), words) | self._matching(next(words), words)
        if key == "uid":
            return self.folder.among(next(words))
        if key == "header":
            name, value = next(words), next(words)
            return {mail.uid for mail in mails if value in str(message_from_bytes(mail.head).get_all(name))}
        if key == "since":
            since = datetime.strptime(f"{next(words)} +0000", "%d-%b-%Y %z").timestamp()
            return {mail.uid for mail in mails if mail.received >= since}
        flag = LETTERS[next(words) if key == "keyword" else key.removeprefix("un")] if key != "all" else ""
        return {mail.uid for mail in mails if (flag in mail.flags) != key.startswith("un")}

    def fetch(self, rest: str) -> None:
        numbers, _, asked = rest.partition(" ")
        uids = self.folder.among(numbers)
        for number, mail in enumerate(self.folder.mails, start=1):
            if self.imap.fetches(mail.uid, uids):
                self.say(b"%d " % number + self.imap.fetched(mail, asked))

    def append(self, rest: str) -> None:
        self.send(b"+ go on")
        raw = self.file.read(int(rest.rpartition("{")[2].rstrip("}")))
        self.file.readline()
        flags = "".join(LETTERS[flag.lower()] for flag in re.findall(r"\\(\w+)", rest))
        self.imap.folders[_words(rest)[0]].add(raw, flags, time.time())

    def idle(self, rest: str) -> None:
        self.send(b"+ idling")
        known = self.folder.next_uid
        while not select.select([self.line], [], [], 0.02)[0]:
            if self.folder.next_uid != known:
                known = self.folder.next_uid
                self.say(b"%d EXISTS" % len(self.folder.mails))
        self.file.readline()


def _words(rest: str) -> list[str]:
    return [quoted.replace('\\"', '"').replace("\\\\", "\\") or plain for quoted, plain in WORD.findall(rest)]
