"""A connection to an IMAP server, with the few commands that PEARL needs. Failures become MailError."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from imapclient import IMAPClient, SocketTimeout
from imapclient.exceptions import IMAPClientAbortError, IMAPClientError, LoginError, ProtocolError
from imapclient.imap4 import IMAP4WithTimeout
from imapclient.tls import IMAP4_TLS

from pearl.errors import AccessError, InputError, MailError
from pearl.text.usable import printable
from service.importing.sources.mails.boxes import MESSAGE_BYTES
from service.importing.sources.mails.headers import HEADER_BYTES
from service.mail.account import Account, Secret
from service.mail.oauth import Tokens

CONNECT_S, ANSWER_S = 20.0, 90.0
ANSWER_BYTES = 100_000_000  # of all mails or headers that one command asks for
NOT_NOW = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]")  # of a login that may succeed later (RFC 5530)
SHOWN = 10  # folders in an error


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail on the server."""

    uid: int
    raw: bytes  # at most MESSAGE_BYTES and one more
    received: float  # when the server got it, Unix seconds


@dataclass(frozen=True, slots=True)
class Opened:
    """The server's information about an opened folder."""

    validity: int  # UIDs of another validity name other mails
    next_uid: int | None


class _Bounded:
    """Refuses data from a server that is longer than the longest mail asked for, or that does not fit into memory."""

    left = ANSWER_BYTES  # of the answer to the command that runs

    def read(self, size: int) -> bytes:
        self.left -= size
        if size > MESSAGE_BYTES + 1 or self.left < 0:
            self.shutdown()  # type: ignore[attr-defined]
            raise IMAPClientAbortError(f"it announced {size:,} bytes, more than were asked for")
        return super().read(size)  # type: ignore[misc, no-any-return]

    def readline(self) -> bytes:
        line: bytes = super().readline()  # type: ignore[misc]
        self.left -= len(line)
        if self.left < 0:
            self.shutdown()  # type: ignore[attr-defined]
            raise IMAPClientAbortError("its answer does not end")
        return line


class _Tls(_Bounded, IMAP4_TLS):  # type: ignore[misc]
    pass


class _Plain(_Bounded, IMAP4WithTimeout):  # type: ignore[misc]
    pass


class _Client(IMAPClient):  # type: ignore[misc]
    def _create_IMAP4(self) -> _Bounded:
        if self.ssl:
            return _Tls(self.host, self.port, self.ssl_context, CONNECT_S)
        return _Plain(self.host, self.port, CONNECT_S)


class Mailbox:
    """A logged-in session at the IMAP server of an account."""

    def __init__(self, client: IMAPClient, host: str) -> None:
        self._client, self._host = client, host
        client.normalise_times = False
        self._folders: list[tuple[tuple[bytes, ...], bytes | None, str]] = [
            (tuple(flag.lower() for flag in flags), delimiter, str(name))
            for flags, delimiter, name in self._call("list_folders")
            if rb"\noselect" not in (flag.lower() for flag in flags)
        ]

    def folder(self, given: str | None, option: str, special: bytes, named: Callable[[str], bool]) -> str:
        """Find a folder: ``given`` if it is named; else the folder with the special use (RFC 6154); else the folder
        with the shortest path whose lower-case name satisfies ``named``. Raises InputError if there is none."""
        listed = [name for _, _, name in self._folders]
        shown = ", ".join(map(printable, listed[:SHOWN])) + (
            f" and {len(listed) - SHOWN:,} more" if len(listed) > SHOWN else ""
        )
        if given is not None:
            if given.upper() == "INBOX" or given in listed:
                return given
            raise InputError(f"{option} {given}: there is no such folder; there are {shown}.")
        found = [name for flags, _, name in self._folders if special.lower() in flags]
        found = found or sorted((name for _, by, name in self._folders if named(_last(name, by))), key=len)
        if not found:
            raise InputError(
                f"{self._host} does not say which folder {option} is; name it, as in {option} NAME. There are {shown}."
            )
        return found[0]

    def special(self, use: bytes) -> str | None:
        """Return the folder with this special use (RFC 6154); None if there is none."""
        return next((name for flags, _, name in self._folders if use.lower() in flags), None)

    def open(self, folder: str) -> Opened:
        """Open a folder for reading; this changes nothing in it."""
        told = self._call("select_folder", folder, True)
        return Opened(int(told.get(b"UIDVALIDITY", 0)), told.get(b"UIDNEXT"))

    def search(self, criteria: Sequence[Any]) -> list[int]:
        """Return the UIDs of the open folder's mails that match the criteria, sorted and without duplicates."""
        return sorted({int(uid) for uid in self._call("search", list(criteria))})

    def find(self, message_id: str, *fields: str) -> list[int]:
        """Return the UIDs of the open folder's mails with this Message-ID, or with it in one of ``fields``."""
        names = fields or ("Message-ID",)
        each = [word for name in names for word in ("HEADER", name, f"<{message_id}>")]
        return self.search([*["OR"] * (len(names) - 1), *each]) if message_id.isascii() else []

    def sizes(self, uids: Sequence[int]) -> dict[int, int]:
        """Return the sizes of mails in the open folder, in bytes, by UID."""
        told = self._call("fetch", list(uids), ["RFC822.SIZE"]) if uids else {}
        return {uid: int(told[uid].get(b"RFC822.SIZE", 0)) for uid in uids if uid in told}

    def heads(self, uids: Sequence[int]) -> dict[int, bytes]:
        """Return the headers of mails in the open folder by UID, each cut at HEADER_BYTES."""
        told = self._call("fetch", list(uids), [f"BODY.PEEK[HEADER]<0.{HEADER_BYTES}>"]) if uids else {}
        found = {uid: told[uid] for uid in uids if uid in told}
        return {uid: each.get(b"BODY[HEADER]<0>") or each.get(b"BODY[HEADER]") or b"" for uid, each in found.items()}

    def mails(self, uids: Sequence[int]) -> list[Mail]:
        """Return the open folder's mails with these UIDs, each cut at 4 MB; mails that are gone are left out."""
        most = MESSAGE_BYTES + 1
        told = self._call("fetch", list(uids), ["INTERNALDATE", f"BODY.PEEK[]<0.{most}>"]) if uids else {}
        found = []
        for uid in uids:  # a server may answer with others than it was asked for
            values = told.get(uid, {})
            raw = values.get(b"BODY[]<0>") or values.get(b"BODY[]")
            if raw:
                received = values.get(b"INTERNALDATE")
                found.append(Mail(uid, raw[:most], received.timestamp() if received else time.time()))
        return found

    def append(self, folder: str, raw: bytes) -> None:
        """Store a mail in a folder, with the flags of a draft and of a read mail."""
        self._call("append", folder, raw, (rb"\Draft", rb"\Seen"))

    def wait(self, seconds: float) -> None:
        """Wait until the open folder changes, at most ``seconds``; always ``seconds`` if the server lacks IDLE."""
        if not self._call("has_capability", "IDLE"):
            time.sleep(seconds)
            self._call("noop")
            return
        self._call("idle")
        self._call("idle_check", seconds)
        self._call("idle_done")

    def _call(self, name: str, *arguments: Any) -> Any:
        self._client._imap.left = ANSWER_BYTES
        try:
            return getattr(self._client, name)(*arguments)
        except (OSError, IMAPClientAbortError) as error:
            raise MailError(f"The connection to {self._host} ended ({_said(error)}).") from error
        except IMAPClientError as error:
            what = "gave an answer that cannot be read" if isinstance(error, ProtocolError) else "refused"
            raise MailError(f"{self._host} {what}: {_said(error)}.") from error
        except Exception as error:  # an answer that is no IMAP breaks its parser in many ways
            said = f"{self._host} gave an answer that cannot be read ({type(error).__name__})."
            raise MailError(said) from error


@contextmanager
def connected(account: Account, secret: Secret, tokens: Tokens | None) -> Iterator[Mailbox]:
    """Connect to the server over TLS, log in, and yield the session. Raises InputError if the certificate is not
    trusted, AccessError if the login is refused, MailError for failures that may pass."""
    where = f"{account.host}:{account.port}"
    try:
        trusted = ssl.create_default_context(cafile=account.ca_file)
        client = _Client(
            account.host,
            account.port,
            ssl=not account.starttls,
            ssl_context=None if account.starttls else trusted,
            timeout=SocketTimeout(CONNECT_S, ANSWER_S),
        )
        if account.starttls:
            client.starttls(trusted)
    except ssl.SSLCertVerificationError as error:
        raise InputError(
            f"{where}: its certificate is not trusted ({error.verify_message}); if the server is your own, name its "
            "certificate with --ca-file."
        ) from error
    except ssl.SSLError as error:
        said = "give --starttls, or another port with --host HOST:PORT"
        raise MailError(f"{where}: there is no TLS ({_said(error)}); {said}.") from error
    except (OSError, IMAPClientError) as error:
        raise MailError(f"{where} cannot be reached ({_said(error)}).") from error
    with client:
        try:
            _log_in(client, account, secret, tokens)
        except LoginError as error:
            said = _said(error)
            outdated = tokens is not None and tokens.worked
            if tokens is not None:
                tokens.drop()
            if outdated or any(code in said.upper() for code in NOT_NOW):
                raise MailError(f"{where} cannot log in now: {said}.") from error
            raise AccessError(
                f"{where} refused the {'token' if tokens else 'password'} of {account.login}: {said}. Store it anew: "
                f"pearl mail sign-in {account.address}",
                code="login_refused",
            ) from error
        except UnicodeEncodeError as error:
            said = "takes no password with letters beyond ASCII; choose another, or an app password"
            raise AccessError(f"{where} {said}.", code="login_refused") from error
        except (OSError, IMAPClientError) as error:
            raise MailError(f"The connection to {where} ended ({_said(error)}).") from error
        yield Mailbox(client, where)


def _log_in(client: IMAPClient, account: Account, secret: Secret, tokens: Tokens | None) -> None:
    if tokens is not None:
        client.oauth2_login(account.login, tokens.get())
        tokens.worked = True
    elif client.has_capability("AUTH=PLAIN"):  # it takes letters of every language
        client.plain_login(account.login, secret.password)
    else:
        client.login(account.login, secret.password)


def _last(name: str, delimiter: bytes | None) -> str:
    """Return a folder's own name, without its path, in lower case."""
    return name.rpartition(delimiter.decode(errors="replace") if delimiter else "/")[2].casefold()


def _said(error: BaseException) -> str:
    """Return the first line of an error's message, made printable."""
    first = (str(error).splitlines() or [type(error).__name__])[0].strip().rstrip(".")
    return printable(first.removeprefix("b'").removesuffix("'"))[:300]
