"""The socket in PEARL_HOME, over which its owner's commands use the server that runs with this PEARL_HOME."""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

from sqlalchemy.engine import make_url

from pearl import __version__
from pearl.settings import PREFIX, Settings

log = logging.getLogger("pearl.service")

NAME = "pearl.sock"
BOUND_TO = "_PEARL_HOME_SOCKET"  # the variable by which `pearl serve` tells its workers the socket's address
CLOSED_TO_OTHERS = 0o177  # umask of a file of mode 0600
SILENCE_S = 60.0  # a server that lives says something every ten seconds
VERSION = "the version"
# settings that do not change what a draft is, and those that are compared in another form
BESIDE_DRAFTS = {
    *("home", "database_url", "llm", "llm_api_key", "rate_limit", "rate_limit_storage", "sign_on", "cors_origins"),
    *("log_format", "log_level", "drain_s", "drafts_at_once", "embed_in_background"),
}


@contextmanager
def listening(home: Path) -> Iterator[socket.socket | None]:
    """Listen on the socket in ``home`` while the block runs; yield it, or None if it cannot be made (the log says why).

    The server that was started last has the socket. A socket that a killed server left is replaced.
    """
    if not hasattr(socket, "AF_UNIX"):
        yield None
        return
    path, own = home / NAME, home / f"{NAME}.{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        umask = os.umask(CLOSED_TO_OTHERS)
        try:
            bound.bind(str(own))
            bound.listen()
            number = own.lstat().st_ino
            own.replace(path)
        except OSError as error:  # a path too long for a socket, or a file system without them
            log.warning("commands load their own models: %s cannot be made (%s)", path, error)
            number = None
        finally:
            os.umask(umask)
        try:
            yield None if number is None else bound
        finally:
            with suppress(OSError):
                if path.lstat().st_ino == number:
                    path.unlink()


def is_of_home(server: object) -> bool:
    """True if ``server``, the address that ASGI gives for a connection, is the socket in PEARL_HOME."""
    bound = os.environ.get(BOUND_TO)
    return bool(bound) and server == (bound, None)


def refusal(path: Path) -> str | None:
    """Return why the socket in PEARL_HOME must not be used: it is no socket, another user's, or open to other users.
    None if it may be used, or if there is none."""
    try:
        found = path.lstat()
    except OSError:
        return None
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISSOCK(found.st_mode):
        return f"{path} is no socket; delete it"
    if found.st_uid != os.geteuid():
        return f"{path} belongs to another user"
    return f"{path} is open to other users (mode {mode:o}); start the server again" if mode & 0o077 else None


class HomeConnection(HTTPConnection):
    """A connection to the server of a PEARL_HOME, over its socket. Raises OSError if no server answers."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=SILENCE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(SILENCE_S)
        self.sock.connect(str(self._path))


def traits(settings: Settings) -> dict[str, str]:
    """Return digests, by name, of PEARL's version and of each setting that a draft depends on. If a command and the
    server have equal digests, either can make the draft."""
    found = settings.model_dump(exclude=BESIDE_DRAFTS)
    database, key = make_url(settings.resolved_database_url), settings.llm_api_key
    if database.get_backend_name() == "sqlite":
        database = database.set(database=str(Path(database.database or "").resolve()))
    found |= {"llm": settings.engine, "llm_api_key": key and key.get_secret_value()}
    found |= {"database_url": database.render_as_string(hide_password=False)}
    named = {f"{PREFIX}{name}".upper(): value for name, value in found.items()} | {VERSION: __version__}
    return {name: hashlib.sha256(repr(value).encode()).hexdigest() for name, value in named.items()}
