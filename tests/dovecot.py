"""A real Dovecot (Debian: dovecot-imapd) as an ordinary process with a configuration of its own, on a free port; and an
account on it that `pearl mail watch` looks at."""

from __future__ import annotations

import email
import email.policy
import getpass
import grp
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any
from uuid import uuid4

from keyring.backend import KeyringBackend

from service.store import documents, feedback, users
from service.store import drafts as stored_drafts
from service.store.database import Database
from service.store.paging import PageQuery
from tests.imap_server import ImapServer
from tests.issuer import certificate

DOVECOT = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
if os.environ.get("PEARL_TEST_IMAP"):
    DOVECOT = None
MISSING = "no Dovecot on this machine: apt-get install dovecot-imapd"
ADDRESS, PASSWORD = "ann@example.org", "pass wörd"
SPECIAL = {"Sent": r"\Sent", "Drafts": r"\Drafts"}
MAILBOX = """
  mailbox "{}" {{
    auto = create
    {}
  }}
"""
# as root its own accounts, which it wants apart; else whoever runs the tests
CONFIG = """
protocols = imap
base_dir = {base}/run
state_dir = {base}/state
log_path = {base}/log
listen = 127.0.0.1
ssl = required
ssl_cert = <{base}/cert.pem
ssl_key = <{base}/cert.pem
auth_mechanisms = plain login {mechanisms}
mail_location = maildir:{base}/mail
mailbox_list_index = no
first_valid_uid = 1
mail_max_userip_connections = 100
{accounts}
passdb {{
  driver = passwd-file
  args = {base}/users
}}
{passdb}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={base}/home
}}
namespace inbox {{
  inbox = yes
  {mailboxes}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {starttls_port}
  }}
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
}}
{more}
"""

NO_IDLE = "imap_capability = IMAP4rev1 SASL-IR SPECIAL-USE LITERAL+"
OAUTH = """
passdb {{
  driver = oauth2
  mechanisms = xoauth2
  args = {base}/oauth
}}
"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Dovecot:
    """A running server with one account."""

    def __init__(self, base: Path, mailboxes: Mapping[str, str], more: str, oauth: str) -> None:
        self.base, self.port, self.starttls_port = base, free_port(), free_port()
        self.ca = certificate(base / "cert.pem", timedelta(days=2))
        root = os.geteuid() == 0
        self._uid, self._gid = (65534, 65534) if root else (os.geteuid(), os.getegid())
        me, group = getpass.getuser(), grp.getgrgid(os.getegid()).gr_name
        own = {"internal_user": me, "login_user": me, "internal_group": group}
        accounts = "" if root else "".join(f"default_{what} = {name}\n" for what, name in own.items())
        for folder in ("home", "mail"):
            (base / folder).mkdir()
        (base / "users").write_text(f"{ADDRESS}:{{PLAIN}}{PASSWORD}\n")
        (base / "oauth").write_text(oauth)
        values: dict[str, Any] = {"uid": self._uid, "gid": self._gid, "port": self.port}
        values["starttls_port"] = self.starttls_port
        values |= {"mechanisms": "xoauth2" if oauth else "", "passdb": OAUTH.format(base=base) if oauth else ""}
        made = "".join(MAILBOX.format(name, use and f"special_use = {use}") for name, use in mailboxes.items())
        (base / "dovecot.conf").write_text(
            CONFIG.format(base=base, mailboxes=made, more=more, accounts=accounts, **values)
        )
        self._owned()

    def _owned(self) -> None:
        if os.geteuid() == 0:
            for path in (self.base / "home", self.base / "mail", *(self.base / "mail").rglob("*")):
                with suppress(FileNotFoundError):  # a lock of the server's
                    os.chown(path, self._uid, self._gid)

    @contextmanager
    def running(self) -> Iterator[None]:
        assert DOVECOT is not None
        process = subprocess.Popen(
            [DOVECOT, "-F", "-c", self.base / "dovecot.conf"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            trusted = ssl.create_default_context(cafile=self.ca)
            deadline = time.monotonic() + 120
            while True:
                try:
                    with socket.create_connection(("127.0.0.1", self.port), 5) as plain:
                        with trusted.wrap_socket(plain, server_hostname="localhost") as line:
                            assert line.recv(100).startswith(b"* OK")
                        break
                except OSError:
                    log = self.base / "log"
                    assert process.poll() is None, log.read_text() if log.exists() else "Dovecot ended"
                    assert time.monotonic() < deadline, log.read_text() if log.exists() else "Dovecot does not answer"
                    time.sleep(0.05)
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # its children too; an orderly end takes it a second
            process.wait()

    def put(self, folder: str, *mails: bytes, flags: str = "S", received: float | None = None) -> None:
        """Put mails into a folder past IMAP; those for INBOX into "". Made as another program would, they appear
        whole."""
        place = self.base / "mail" / (f".{folder}" if folder else "")
        for part in ("tmp", "new", "cur"):
            (place / part).mkdir(parents=True, exist_ok=True)
        if "a" in flags:
            (place / "dovecot-keywords").write_text("0 $todo\n")
        self._owned()
        for mail in mails:
            path = place / "tmp" / uuid4().hex
            path.write_bytes(mail.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
            if os.geteuid() == 0:
                os.chown(path, self._uid, self._gid)
            when = time.time() if received is None else received
            os.utime(path, (when, when))
            path.rename(place / "cur" / f"{time.time_ns()}.{path.name}.test:2,{flags}")

    def mails(self, folder: str) -> list[bytes]:
        """The mails that lie in a folder."""
        place = self.base / "mail" / (f".{folder}" if folder else "")
        return [path.read_bytes() for part in ("cur", "new") for path in sorted((place / part).glob("*"))]

    def flags(self, folder: str) -> list[str]:
        """The flags of the mails that programs have seen, as letters."""
        return [path.name.rpartition(",")[2] for path in (self.base / "mail" / f".{folder}" / "cur").iterdir()]

    def empty(self, folder: str) -> None:
        for path in (self.base / "mail" / f".{folder}" / "cur").iterdir():
            path.unlink()

    def renumber(self, folder: str, validity: int) -> None:
        """Give all mails of a folder other UIDs, and tell so."""
        self._admin("mailbox", "update", "--uid-validity", str(validity), folder, "-u", ADDRESS)

    def kick(self) -> None:
        """Cut all lines."""
        self._admin("kick", ADDRESS)

    def _admin(self, *words: str) -> None:
        subprocess.run(
            ["doveadm", "-c", str(self.base / "dovecot.conf"), *words], check=True, capture_output=True, timeout=60
        )


@contextmanager
def mail_server(
    mailboxes: Mapping[str, str] = SPECIAL, *, idle: bool = True, oauth: str = ""
) -> Iterator[Dovecot | ImapServer]:
    """Start a Dovecot with these folders and their special use, which checks tokens as ``oauth`` says; where there is
    none, or PEARL_TEST_IMAP is set, a server of ours. End it.

    Its folder lies where its own account may reach it."""
    base = Path(tempfile.mkdtemp(prefix="pearl-imap-"))
    base.chmod(0o755)
    try:
        if DOVECOT is None:
            ca = certificate(base / "cert.pem", timedelta(days=2))
            server: Dovecot | ImapServer = ImapServer(ca, mailboxes, (ADDRESS, PASSWORD), idle)
        else:
            server = Dovecot(base, mailboxes, "" if idle else NO_IDLE, oauth)
        with server.running():
            yield server
    finally:
        shutil.rmtree(base, ignore_errors=True)


RAILS = "How many costume rails do you need for Saturday, and who fetches them?"


def sent(
    number: int, text: str = "Kettle's on, Nan. {number} rails are plenty for Saturday.", quote: str = ""
) -> bytes:
    head = f"From: Ann Lee <{ADDRESS}>\nTo: Nan <Nan@example.net>\nDate: Mon, 2 Mar 2026 09:{number % 60:02}:00 +0000\n"
    head += (
        f"Message-ID: <sent-{number}@example.org>\nIn-Reply-To: <asked-{number}@example.net>\nSubject: Re: Rails\n\n"
    )
    return f"{head}{text.format(number=number)}\n{quote}".encode()


def waiting(number: int, text: str = RAILS, more: str = "") -> bytes:
    head = f"From: Nan <nan@example.net>\nTo: {ADDRESS}\nDate: Tue, 3 Mar 2026 10:00:00 +0000\nSubject: Rails, again\n"
    head += f"Message-ID: <waiting-{number}@example.net>\n{more}\n"
    return f"{head}{text}\n".encode()


class Ann:
    """Her account, and the history that comes of it."""

    def __init__(self, server: Dovecot | ImapServer, home: Path, run: Callable[..., Any], folder: Path) -> None:
        self.server, self.home, self.run = server, home, run
        self.secret = folder / "secret"
        self.secret.write_text(f"{PASSWORD}\n")
        self.secret.chmod(0o600)

    @property
    def state(self) -> Path:
        return self.home / "mail" / f"1.{ADDRESS}.json"

    def words(self, *more: str) -> list[str]:
        host = ["--host", f"localhost:{self.server.port}", "--ca-file", str(self.server.ca)]
        secret = [] if "--secret-file" in more else ["--secret-file", str(self.secret)]
        return ["mail", "watch", ADDRESS, *host, "--user", "ann", *secret, *more]

    def look(self, *more: str, status: int = 0) -> str:
        done = self.run(*self.words("--once", *more))
        assert done.status == status, done.err
        return str(done.err)

    def history(self) -> dict[str, Any]:
        with self.database() as database, database.read() as connection:
            owner = users.get(connection, "ann").id
            page = documents.page(connection, owner, PageQuery(limit=1000))
            return {document.id: document for document in page.documents}

    def drafted(self) -> int:
        with self.database() as database, database.read() as connection:
            return len(stored_drafts.page(connection, users.get(connection, "ann").id, PageQuery(limit=1000)).drafts)

    def outcomes(self) -> list[tuple[str, str | None]]:
        with self.database() as database, database.read() as connection:
            given = feedback.all_of_user(connection, users.get(connection, "ann").id)
            return [(each.outcome, each.mark.reason) for each in given]

    def laid(self) -> list[EmailMessage]:
        mails = self.server.mails("Drafts")
        return [email.message_from_bytes(raw, policy=email.policy.default) for raw in mails]  # type: ignore[misc]

    def database(self) -> Any:
        return closing(Database(f"sqlite:///{self.home / 'pearl.db'}"))


class RememberingKeyring(KeyringBackend):
    priority = 1  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password
