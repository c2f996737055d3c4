"""Recognizing users without a key of PEARL's, as the operator's file allows: by issuers' tokens or proxies' headers."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pearl.errors import AccessError, InputError
from pearl.extras import missing_extra
from pearl.settings import Settings
from pearl.text.usable import check_id
from service.sign_on.terms import Terms, read_terms
from service.store.keys import KEY_PREFIX, UserName

if TYPE_CHECKING:
    from service.sign_on.issuers import Issuer

log = logging.getLogger("pearl.service")

METADATA = "/.well-known/oauth-protected-resource"


class SignOn:
    """Finds the user of a request by an issuer's token or a proxy's header, if the operator's file names issuers or
    proxies."""

    def __init__(self, settings: Settings) -> None:
        """Read the operator's file that the settings name. Raises InputError if it is unusable."""
        self.terms: Terms | None = read_terms(Path(settings.sign_on).expanduser()) if settings.sign_on else None
        self.issuers: dict[str, Issuer] = {}
        self._proxies = self.terms.proxies if self.terms else ()
        if self.terms is not None and self.terms.issuers:
            try:
                from service.sign_on.issuers import Issuer
            except ModuleNotFoundError as error:
                raise missing_extra(str(error.name)) or error from None
            self.issuers = {each.issuer: Issuer(each, self.terms.audiences(each)) for each in self.terms.issuers}

    @property
    def offered(self) -> list[Issuer]:
        """The issuers that the page offers for signing in."""
        return [issuer for issuer in self.issuers.values() if issuer.terms.client_id]

    @property
    def new_users(self) -> int:
        """A limit: the sign-on of an unknown person creates a user only while there are fewer users than this."""
        return 0 if self.terms is None else self.terms.new_users

    async def bearer(self, key: str) -> str | UserName:
        """Return the user whom an issuer's token names; return a key of PEARL's unchanged. Raises Unauthenticated,
        AccessError or IssuerDown."""
        if not self.issuers or key.startswith(KEY_PREFIX) or key.count(".") != 2:
            return key
        from service.sign_on.issuers import issuer_of, refused

        issuer = self.issuers.get(issuer_of(key))
        if issuer is None:
            raise refused("its issuer is not one that this service accepts")
        return await issuer.user(key)

    def proxied(self, headers: Iterable[tuple[bytes, bytes]], address: str | None) -> UserName | None:
        """Return the user whom a trusted proxy names in a header; None without such a header. ``address``: the
        client's, None for a local socket. Raises AccessError if anybody else sends the header."""
        if not self._proxies:
            return None
        wanted = {proxy.header for proxy in self._proxies}
        given = [(name.decode("latin-1").lower(), value) for name, value in headers]
        given = [(name, value) for name, value in given if name in wanted]
        if not given:
            return None
        for header, _ in given:
            if not any(proxy.header == header and proxy.is_at(address) for proxy in self._proxies):
                log.warning("sign-on: refused the header %s from %s: no proxy of the file sends it", header, address)
                raise AccessError(
                    f"The header '{header}' is only for this service's own proxies; leave it out.",
                    param=header,
                    code="not_a_trusted_proxy",
                )
        header, value = given[0]
        if len(given) > 1 or b"," in value:
            raise AccessError(
                f"'{header}' must come once, with one name; let the proxy replace the header, not add to it.",
                param=header,
                code="ambiguous_user",
            )
        if not value.strip():  # the proxy lets the request in without a user
            return None
        try:
            return UserName(check_id(value.decode(), param=header))
        except (InputError, UnicodeDecodeError):
            raise AccessError(f"'{header}' holds no name of a user.", param=header, code="no_user_claim") from None

    def challenge(self, path: str, code: str) -> str:
        """Return the header WWW-Authenticate, which tells a client where to sign on (RFC 6750, RFC 9728)."""
        if self.terms is None or not self.issuers:
            return "Bearer"
        part = "/mcp" if path == "/mcp" else ""
        error = ', error="invalid_token"' if code == "invalid_token" else ""
        return f'Bearer resource_metadata="{self.terms.address}{METADATA}{part}"{error}'
