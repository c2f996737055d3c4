"""URLs: whether one is of this machine, how one is shown without secrets, and why one cannot be used."""

from __future__ import annotations

import re
import ssl
from ipaddress import IPv6Address, ip_address

# to the last @, for a password may have one, too
USER = re.compile(r"(?<![^\s'\"=(])((?:[a-z][a-z\d+.-]*://)?)[^\s'\"]+@", re.IGNORECASE)
KEY = re.compile(r"(?<=[?&])([\w-]*(?:key|token|secret|password|sig)[\w-]*=)[^&\s'\"]+", re.IGNORECASE)
HIDDEN = "***"


def is_loopback(host: str | None) -> bool:
    """True if a URL's host, or a connection's address, is this machine itself; the only such name is localhost."""
    try:
        address = ip_address(host or "")
    except ValueError:
        return host == "localhost"
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def without_secrets(text: str) -> str:
    """Hide the user and password in each URL of a text, and keys and tokens among its parameters."""
    return KEY.sub(rf"\1{HIDDEN}", USER.sub(rf"\1{HIDDEN}@", text))


def why(error: Exception, url: str) -> str:
    """Return why a URL cannot be used, without quoting a part of its password."""
    if isinstance(error, ValueError) and "@" in url:
        return "check its parts, and write %40 for @, %2F for / and %3A for : in its user and password"
    return without_secrets(str(error))


def distrusted(error: BaseException | None) -> str | None:
    """Return why a server's certificate is not trusted, such as "expired"; None if that is not the error's cause."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return None if error is None else error.verify_message.rstrip(".")
