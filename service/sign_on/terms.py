"""The operator's file (PEARL_SIGN_ON): which issuers and proxies may say who a user is."""

from __future__ import annotations

import os
import re
import stat
import tomllib
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, IPvAnyNetwork, SecretStr, ValidationError

from pearl.errors import InputError
from pearl.text.shown_urls import is_loopback

MOST_USERS = 1_000  # an issuer that lets everybody in must not fill the database
OPEN = 0o027  # a group may read it: Kubernetes gives a secret to the group of a container's user
OURS = {"authorization", "cookie", "x-api-key", "x-pearl-user", "x-pearl-page"}
HEADER = re.compile(r"[a-z0-9][a-z0-9-]*")


def safe(address: str) -> str:
    """Return the address without a final slash. Raises ValueError unless it is https, or http on this machine."""
    parts = urlsplit(address)
    if not parts.hostname or parts.scheme not in (("https", "http") if is_loopback(parts.hostname) else ("https",)):
        raise ValueError("write https://HOST, or on this machine http://localhost:PORT")
    if parts.query or parts.fragment or parts.username is not None:
        raise ValueError("leave out queries, fragments and passwords")
    return address.rstrip("/")


def _issuer(address: str) -> str:
    safe(address)
    return address  # exactly as in the tokens' claim `iss`, a final slash included


def _header(name: str) -> str:
    name = name.lower()
    if not HEADER.fullmatch(name) or name in OURS:
        raise ValueError(f"no usable header; letters, digits and dashes, and none of {', '.join(sorted(OURS))}")
    return name


def _most_users(given: bool | int) -> int:
    if given < 0:
        raise ValueError("write true, or the number of users up to which a sign-on makes another")
    return MOST_USERS if given is True else int(given)


def _each_once(issuers: tuple[IssuerTerms, ...]) -> tuple[IssuerTerms, ...]:
    if len({each.issuer for each in issuers}) < len(issuers):
        raise ValueError("an issuer stands here twice; keep one")
    return issuers


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IssuerTerms(Table):
    """An accepted issuer of tokens, and how its users are named here."""

    issuer: Annotated[str, AfterValidator(_issuer)]  # as in the claim `iss`
    user_claim: str = Field(min_length=1)  # names the user
    prefix: str = ""  # goes before the name, so that two issuers' users of one name are two users
    audiences: tuple[str, ...] = ()  # of tokens for the API; by default this service's addresses
    scopes: tuple[str, ...] = ("openid", "email")  # to ask the issuer for
    name: str = ""  # on the page's button; by default the issuer's host
    client_id: str | None = None  # of the page, which offers no sign-on without it
    client_secret: SecretStr | None = None  # None: a public client


class ProxyTerms(Table):
    """A proxy that signs users on and passes their names in a header."""

    addresses: tuple[IPvAnyNetwork, ...] = Field(min_length=1)
    header: Annotated[str, AfterValidator(_header)]  # in lower case

    def is_at(self, address: str | None) -> bool:
        try:
            found = ip_address((address or "").partition("%")[0])
        except ValueError:  # a socket of the file system has none
            return False
        found = getattr(found, "ipv4_mapped", None) or found
        return any(found in network for network in self.addresses)


class Terms(Table):
    """The content of the operator's file."""

    address: Annotated[str, AfterValidator(safe)]  # of this service, as users and programs reach it
    # the number of users up to which another is made at the first sight of their name; true: MOST_USERS
    new_users: Annotated[bool | int, AfterValidator(_most_users)] = 0
    issuers: Annotated[tuple[IssuerTerms, ...], AfterValidator(_each_once)] = ()
    proxies: tuple[ProxyTerms, ...] = ()

    def audiences(self, issuer: IssuerTerms) -> tuple[str, ...]:
        return issuer.audiences or (self.address, f"{self.address}/", f"{self.address}/mcp")

    def resource(self, part: Literal["", "/mcp"]) -> dict[str, object]:
        """Return this service's metadata (RFC 9728), or its MCP endpoint's."""
        scopes = dict.fromkeys(scope for issuer in self.issuers for scope in issuer.scopes)
        return {
            "resource": f"{self.address}{part}",
            "authorization_servers": [issuer.issuer for issuer in self.issuers],
            "scopes_supported": list(scopes),
            "bearer_methods_supported": ["header"],
            "resource_name": "PEARL",
        }


def read_terms(path: Path) -> Terms:
    """Read the operator's file. Raises InputError; the message names the file and the field at fault."""
    where = f"PEARL_SIGN_ON={str(path)!r}"
    try:
        content, mode = tomllib.loads(path.read_text(encoding="utf-8")), stat.S_IMODE(path.stat().st_mode)
        terms = Terms.model_validate(content)
    except OSError as error:
        raise InputError(f"{where}: it cannot be read: {error.strerror}.", code="invalid_setting") from None
    except ValidationError as error:
        problem = error.errors(include_input=False)[0]
        field = ".".join(str(part) for part in problem["loc"])
        unknown = problem["type"] == "extra_forbidden"
        message = "there is no such field" if unknown else problem["msg"].removeprefix("Value error, ")
        raise InputError(f"{where}: '{field}': {message}.", code="invalid_setting") from None
    except ValueError as error:
        raise InputError(f"{where}: it is not TOML: {error}.", code="invalid_setting") from None
    if mode & OPEN and os.name != "nt" and any(issuer.client_secret for issuer in terms.issuers):
        raise InputError(
            f"{where}: others may read or write its client_secret (mode {mode:04o}); run: chmod 600 {path}",
            code="readable_secret",
        )
    return terms
