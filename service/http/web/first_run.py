"""The first run: while a service that listens on this machine alone has no user, its page makes one without a key.

Not everybody who can reach the service may do so: the request must come from this machine and name this machine, no
proxy may have passed it on, and its form must be the page's own.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request
from sqlalchemy import Connection

from pearl.errors import AccessError, Conflict, InputError
from pearl.text.shown_urls import is_loopback
from pearl.text.usable import check_id
from service.http.api.dependencies import sign_on_of
from service.http.api.sessions import from_elsewhere
from service.sample import USER as SAMPLE
from service.sample import load_sample
from service.services import Services
from service.store import keys, users
from service.store.keys import KeyTerms

OF_PROXIES = {"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"}
NOT_HERE = AccessError(
    "Only a browser on the service's own machine can begin without a key, at its own address; sign in with a key.",
    code="not_on_this_machine",
)


def is_here(request: Request) -> bool:
    """True if a browser on this machine asks, under an address of this machine, and no proxy stands between. A foreign
    host name that leads to this machine does not count. Always False if the operator's file (PEARL_SIGN_ON) says who
    users are."""
    hosts = request.headers.getlist("host")
    if not request.app.state.on_loopback or sign_on_of(request).terms is not None or len(hosts) != 1:
        return False
    try:
        host = urlsplit(f"//{hosts[0]}").hostname
    except ValueError:
        return False
    proxied = any(name in OF_PROXIES or name.startswith("x-forwarded") for name in request.headers)
    client = request.client.host if request.client else None
    modern = request.scope["http_version"] != "1.0"  # which proxies speak that are left as they come
    return is_loopback(client) and is_loopback(host) and modern and not proxied


def check_form(request: Request) -> None:
    """Raise AccessError unless the page's own form was sent from this machine."""
    origin = request.headers.get("origin", "")
    if not is_here(request) or from_elsewhere(request) or urlsplit(origin).netloc != request.headers["host"]:
        raise NOT_HERE


def is_first(services: Services) -> bool:
    """True if there is no user yet other than the sample user."""
    with services.database.read() as connection:
        return not users.has_other(connection, SAMPLE)


def begin(services: Services, name: str) -> tuple[str, str]:
    """Make the first user; return their key and its id. Raises InputError for a name that cannot be used, Conflict if
    there is a user already."""
    if check_id(name, param="name") == SAMPLE:
        raise InputError(f"'{SAMPLE}' is the invented user's name; choose another.", param="name")
    with services.database.write() as connection:
        _check_first(connection)
        key = keys.create_for_user(connection, name, terms=KeyTerms("page"))
        return key, keys.identify(connection, key).key_id


def begin_with_sample(services: Services) -> str:
    """Store the sample user; return their key's id. Raises Conflict if there is another user."""
    with services.database.write() as connection:
        _check_first(connection)
    key = load_sample(services.database, services.settings)
    with services.database.read() as connection:
        return keys.identify(connection, key).key_id


def _check_first(connection: Connection) -> None:
    users.keep_others_out(connection)
    if users.has_other(connection, SAMPLE):
        raise Conflict("Somebody has begun here already; sign in with a key.", code="user_exists")
