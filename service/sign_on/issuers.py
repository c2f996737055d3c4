"""An issuer of tokens (OpenID Connect): fetching its keys, checking its tokens, and signing on from the page."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx2
import jwt

from pearl.errors import AccessError, InputError, PearlError, Unauthenticated
from pearl.text.shown_urls import distrusted
from pearl.text.usable import check_id
from service.sign_on.terms import IssuerTerms, safe
from service.store.keys import UserName

log = logging.getLogger("pearl.service")

# with a public key only: one for HMAC would be known to everybody
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_S = 60  # between the clocks of two machines
TIMEOUT_S = 5.0  # for an issuer to answer
WHOLE_S = 2 * TIMEOUT_S  # for all of its answers
FRESH_S = 300.0  # keys are asked for again after this
AGAIN_S = 10.0  # between two questions because of an unknown key, or of an issuer that is down
LAST_S = 86_400.0  # keys serve this long while the issuer is down
BASIC = "client_secret_basic"  # RFC 8414: the default
UNUSABLE = (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError, LookupError, TypeError, AttributeError)


class IssuerDown(PearlError):
    http_status = 503
    type = "upstream_error"
    default_code = "issuer_unavailable"


@dataclass(frozen=True, slots=True)
class Published:
    """An issuer's published metadata and keys."""

    metadata: Mapping[str, Any]  # by OpenID Connect Discovery, or RFC 8414
    keys: Mapping[str | None, dict[str, Any]]  # JSON Web Keys by their id
    since: float  # monotonic

    def key(self, key_id: str | None) -> dict[str, Any] | None:
        """Return the key with this id; None if there is none. Without an id, an only key is returned."""
        if key_id is None and len(self.keys) == 1:
            return next(iter(self.keys.values()))
        return self.keys.get(key_id)


class Issuer:
    """Checks the tokens of one issuer. Its keys are fetched when needed, and again every FRESH_S seconds or when a
    token names an unknown key. If the issuer is down, keys are used for up to a day."""

    def __init__(self, terms: IssuerTerms, audiences: tuple[str, ...]) -> None:
        self.terms = terms
        self.name = terms.name or str(urlsplit(terms.issuer).hostname)
        self._audiences = audiences
        self._published: Published | None = None
        self._tried = -math.inf
        self._asking: asyncio.Task[None] | None = None
        self._distrusted: str | None = None  # why its certificate is not trusted

    async def user(self, token: str) -> UserName:
        """Check a token and return the user whom it names. Raises Unauthenticated, AccessError or IssuerDown."""
        return self._named(await self._claims(token, self._audiences))

    async def begin(self, state: str, nonce: str, verifier: str, back: str) -> str:
        """Return the address at the issuer to which the page sends a browser to sign on. ``back``: the address to
        return to. Raises IssuerDown."""
        published = await self._current()
        query = {
            "response_type": "code",
            "client_id": self.terms.client_id,
            "redirect_uri": back,
            "scope": " ".join(self.terms.scopes),
            "state": state,
            "nonce": nonce,
            "code_challenge": urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
        }
        address = str(published.metadata["authorization_endpoint"])
        return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"

    async def redeem(self, code: str, nonce: str, verifier: str, back: str) -> UserName:
        """Exchange the code of a finished sign-on for its user. Raises Unauthenticated, AccessError or IssuerDown."""
        published, terms = await self._current(), self.terms
        client, secret = str(terms.client_id), terms.client_secret
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": back, "code_verifier": verifier}
        basic: dict[str, str] = {}
        if secret is None or BASIC not in published.metadata.get("token_endpoint_auth_methods_supported", [BASIC]):
            form |= {"client_id": client} | ({} if secret is None else {"client_secret": secret.get_secret_value()})
        else:
            pair = f"{quote(client, safe='')}:{quote(secret.get_secret_value(), safe='')}"
            basic = {"authorization": f"Basic {b64encode(pair.encode()).decode()}"}
        try:
            async with asyncio.timeout(WHOLE_S), httpx2.AsyncClient(timeout=TIMEOUT_S) as web:
                answer = await web.post(str(published.metadata["token_endpoint"]), data=form, headers=basic)
            token = answer.json().get("id_token") if answer.status_code == 200 else None
        except UNUSABLE as error:
            raise self._down(error) from None
        if answer.status_code >= 500:
            raise self._down(ValueError(f"status {answer.status_code}"))
        if not isinstance(token, str):
            raise AccessError(f"{self.name} did not confirm the sign-on (status {answer.status_code}); sign in again.")
        claims = await self._claims(token, (client,))
        if claims.get("nonce") != nonce or claims.get("azp", client) != client:
            raise AccessError(f"The answer of {self.name} belongs to another sign-on; sign in again.")
        return self._named(claims)

    def _named(self, claims: Mapping[str, Any]) -> UserName:
        claim = self.terms.user_claim
        given = claims.get(claim)
        try:
            if not isinstance(given, str):
                raise InputError(f"it has no claim '{claim}' with a name.")
            if claim == "email" and claims.get("email_verified") not in (True, "true"):  # in the absence of it, too
                raise InputError(
                    f"{self.name} does not say in 'email_verified' that the address in 'email' is theirs; the operator "
                    "may name another 'user_claim', such as 'sub'."
                )
            return UserName(check_id(self.terms.prefix + given, param=claim))
        except InputError as error:
            raise AccessError(f"The token names no user: {error.message}", code="no_user_claim") from None

    async def _claims(self, token: str, audiences: tuple[str, ...]) -> Mapping[str, Any]:
        """Check a token of this issuer for any of the audiences, and return its claims."""
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key_id = header.get("alg"), header.get("kid")
            if algorithm not in ALGORITHMS:
                raise refused(f"its algorithm is {str(algorithm)[:20]!r}; there are {', '.join(ALGORITHMS)}")
            key = (await self._current(key_id)).key(key_id)
            if key is None:
                raise refused(f"{self.name} has no key {str(key_id)[:100]!r}")
            if key.get("alg", algorithm) != algorithm:
                raise refused(f"its algorithm is {algorithm}, its key is for {str(key['alg'])[:20]}")
            claims: dict[str, Any] = jwt.decode(
                token,
                jwt.PyJWK(key, algorithm),
                algorithms=[algorithm],
                audience=audiences,
                issuer=self.terms.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, RecursionError) as error:
            raise refused(str(error).rstrip(".")) from None
        return claims

    async def _current(self, key_id: str | None = None) -> Published:
        """Return what the issuer publishes, fetched again if the key is not in it. Raises IssuerDown."""
        now, known = time.monotonic(), self._published
        needed = known is None or now - known.since > LAST_S or (key_id is not None and known.key(key_id) is None)
        if self._asking is None and now - self._tried > (AGAIN_S if needed else FRESH_S):
            self._tried = now
            self._asking = asyncio.create_task(self._ask())
        if needed and self._asking is not None:
            await asyncio.shield(self._asking)
        if self._published is None or now - self._published.since > LAST_S:
            raise self._down(None)
        return self._published

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(WHOLE_S), httpx2.AsyncClient(timeout=TIMEOUT_S) as web:
                metadata = await self._discover(web)
                keys = await _json(web, metadata["jwks_uri"])
            usable = [key for key in keys["keys"] if key["kty"] != "oct" and key.get("use", "sig") == "sig"]
            self._published = Published(metadata, {key.get("kid"): key for key in usable}, time.monotonic())
        except UNUSABLE as error:
            self._down(error)
        finally:
            self._asking = None

    async def _discover(self, web: httpx2.AsyncClient) -> dict[str, Any]:
        parts, plain = urlsplit(self.terms.issuer), self.terms.issuer.rstrip("/")
        try:
            metadata = await _json(web, f"{plain}/.well-known/openid-configuration")
        except httpx2.HTTPStatusError:
            host = f"{parts.scheme}://{parts.netloc}"
            metadata = await _json(web, f"{host}/.well-known/oauth-authorization-server{parts.path.rstrip('/')}")
        if metadata["issuer"] != self.terms.issuer:
            raise ValueError(f"it calls itself {metadata['issuer']!r}")
        for name in ("jwks_uri", *(("authorization_endpoint", "token_endpoint") if self.terms.client_id else ())):
            safe(metadata[name].partition("?")[0])
        return metadata

    def _down(self, error: Exception | None) -> IssuerDown:
        if error is not None:
            log.warning("sign-on: %s does not answer as it should: %s: %s", self.name, type(error).__name__, error)
            self._distrusted = distrusted(error)
        reason = (
            f"has a certificate that is not trusted ({self._distrusted})" if self._distrusted else "does not answer"
        )
        return IssuerDown(
            f"{self.name}, which signs users on, {reason}; try again a little later, or use a key of PEARL's.",
            retry_after=AGAIN_S,
        )


def issuer_of(token: str) -> str:
    """Return the issuer that a token names; nothing in the token is checked yet. Raises Unauthenticated."""
    try:
        return str(jwt.decode(token, options={"verify_signature": False}).get("iss"))
    except (jwt.PyJWTError, RecursionError):
        raise refused("it is no JSON Web Token") from None


def refused(why: str) -> Unauthenticated:
    return Unauthenticated(f"The token is not accepted: {why}.", code="invalid_token")


async def _json(web: httpx2.AsyncClient, address: str) -> dict[str, Any]:
    answer = await web.get(address)
    answer.raise_for_status()
    found = answer.json()
    if not isinstance(found, dict):
        raise ValueError(f"no JSON object at {address}")
    return found
