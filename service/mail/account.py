"""A mail account: its server, and its password or OAuth grant, kept in the system's keyring or in a private file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pearl.cli.options import writing
from pearl.errors import InputError
from pearl.text.files.whole import OTHERS, opened
from pearl.text.recipients import ADDRESS
from service.mail.oauth import Client, Grant

KEYRING = "pearl mail"  # the name of our entries
PORT, STARTTLS_PORT = 993, 143
MICROSOFT = "https://login.microsoftonline.com/common/oauth2/v2.0"


@dataclass(frozen=True, slots=True)
class Provider:
    """A large mail provider. ``host``: its IMAP server; ``domains``: the domains of its addresses."""

    host: str
    domains: tuple[str, ...]
    client: Client  # without an id, which is the user's own


PROVIDERS = {
    "gmail": Provider(
        "imap.gmail.com",
        ("gmail.com", "googlemail.com"),
        # Google gives no mail to its device flow
        Client(
            "https://oauth2.googleapis.com/token",
            "https://mail.google.com/",
            auth_uri="https://accounts.google.com/o/oauth2/v2/auth",
        ),
    ),
    "outlook": Provider(
        "outlook.office365.com",
        ("outlook.com", "hotmail.com", "live.com", "msn.com"),
        Client(
            f"{MICROSOFT}/token",
            "https://outlook.office.com/IMAP.AccessAsUser.All offline_access",
            device_uri=f"{MICROSOFT}/devicecode",
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Account:
    """An account on a mail server."""

    address: str
    host: str
    port: int = PORT
    starttls: bool = False
    ca_file: Path | None = None  # certificates to trust instead of the system's
    login: str = ""  # the name to log in with; empty: the address


def check_address(address: str) -> str:
    """Return the address if it is a mail address. Raises InputError for anything else."""
    if not ADDRESS.fullmatch(address) or not address.isascii():
        raise InputError(f"{address}: is not a mail address such as ann@example.org.")
    return address


def provider_of(address: str, name: str | None) -> Provider | None:
    """Return the provider called ``name``; without a name the provider of the address's domain, None if unknown. Raises
    InputError for an unknown name."""
    if name is not None:
        if name not in PROVIDERS:
            raise InputError(f"--provider {name}: there are {', '.join(PROVIDERS)}.")
        return PROVIDERS[name]
    domain = address.rpartition("@")[2].lower()
    return next((provider for provider in PROVIDERS.values() if domain in provider.domains), None)


def account_of(address: str, host: str | None, *, starttls: bool, ca_file: Path | None, login: str | None) -> Account:
    """Make the account of an address. ``host``: its server, HOST or HOST:PORT; None: its provider's. Raises InputError
    if the server is unknown or an option is malformed."""
    known = provider_of(check_address(address), None)
    if host is None and known is None:
        raise InputError(
            f"The mail server of {address} is not known; name it, as in --host imap.{address.rpartition('@')[2]}."
        )
    named = host if host is not None else known.host if known else ""
    try:
        parts = urlsplit(f"//{named}")
        port = parts.port or (STARTTLS_PORT if starttls else PORT)
    except ValueError:
        parts, port = urlsplit(""), 0
    if not parts.hostname or parts.netloc != named:
        raise InputError(f"--host {named}: write it as HOST or HOST:PORT.")
    if ca_file is not None and not ca_file.is_file():
        raise InputError(f"--ca-file {ca_file}: there is no such file.")
    return Account(address, parts.hostname, port, starttls, ca_file, login or address)


@dataclass(slots=True)
class Secret:
    """An account's password or OAuth grant. ``keep``: stores the grant again after the issuer renewed it."""

    password: str
    grant: Grant | None = None
    keep: Callable[[str], None] = lambda text: None


def load_secret(address: str, file: Path | None) -> Secret:
    """Read the password or grant of an account from the keyring or from ``file``. Raises InputError if there is none,
    or if others may read the file."""
    if file is None:
        text = _keyring("get_password", address)
        missing = f"There is no password of {address} in the keyring; store it: pearl mail sign-in {address}"
    else:
        text = _private_text(file)
        missing = f"--secret-file {file}: is empty; write the password into it."
    if not text:
        raise InputError(missing)
    return Secret(text, Grant.from_text(text), lambda renewed: store_secret(address, file, renewed))


def store_secret(address: str, file: Path | None, text: str) -> None:
    """Store a password or grant in the keyring, or in ``file``, which only the owner may read. Raises InputError on
    failure."""
    if file is None:
        _keyring("set_password", address, text)
        return
    with writing(f"--secret-file {file}"), opened(file, private=True) as target:
        target.write(f"{text}\n".encode())


def _private_text(file: Path) -> str:
    with writing(f"--secret-file {file}"):
        mode = stat.S_IMODE(file.stat().st_mode)
        if mode & OTHERS and os.name != "nt":
            raise InputError(
                f"--secret-file {file}: others may read or write it (mode {mode:04o}); run: chmod 600 {file}"
            )
        content = file.read_bytes()
    try:
        return content.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise InputError(f"--secret-file {file}: is not UTF-8 text.") from None


def _keyring(function: str, *arguments: str) -> str | None:
    import keyring
    from keyring.errors import KeyringError

    try:
        answer: str | None = getattr(keyring, function)(KEYRING, *arguments)
    except KeyringError as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(
            f"The system's keyring cannot be used ({why}); name a file instead, as in --secret-file ~/.pearl-mail"
        ) from error
    return answer
