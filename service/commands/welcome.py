"""The welcome of ``pearl serve``: its address, what it serves, and how to get a key."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from sqlalchemy.engine import make_url

from pearl import __version__
from pearl.chat.choose import local_names, unnamed_weights
from pearl.settings import Settings
from pearl.weights.table import DEFAULT, TABLE, Weights
from service.store.user_counts import Overview


def facts(address: str, settings: Settings, held: Overview) -> dict[str, object]:
    """The facts of the welcome as fields of a log."""
    return {
        "address": address,
        "version": __version__,
        "llm": _model(settings),
        "retriever": settings.retriever,
        "database": _database(settings),
        "users": held.users,
        "documents": held.documents,
        "voices": held.voices,
        "embedding": held.embedding,
    }


def welcome(address: str, settings: Settings, held: Overview, sample_key: str | None, *, here: bool = False) -> str:
    """A few lines for a person. ``sample_key`` is the sample user's, if there is one; ``here``: only this machine
    reaches the address."""
    waiting = f"; documents of {_count(held.embedding, 'user')} are still to be embedded" if held.embedding else ""
    lines = [
        f"PEARL {__version__} is starting on {address} (API documentation: {address}/docs)",
        f"  chat model  {_model(settings)}",
        *(f"              {line}" for line in _other_model(settings)),
        f"  retriever   {settings.retriever}",
        f"  database    {_database(settings)}: {_count(held.users, 'user')}, {_count(held.documents, 'document')}, "
        f"{_count(held.voices, 'voice')}{waiting}",
        "",
    ]
    if sample_key is not None:
        lines += _try_it(address, sample_key)
    if here and held.users <= (sample_key is not None):
        lines += [f"Without a terminal: open {address} in a browser and begin there.", ""]
    lines += _next_steps(held, sample_key)
    return "\n".join(["", *lines, ""])


def _try_it(address: str, key: str) -> list[str]:
    from service.sample import REQUEST

    body = json.dumps({"request": REQUEST, "voice": "email"})
    headers = f"-H 'Authorization: Bearer {key}' -H 'Content-Type: application/json'"
    return [
        f"The sample user's key: {key}",
        "",
        f"Write in a browser: open {address} and sign in with it. Or try:",
        f"  curl -s {address}/v1/drafts {headers} -d '{body}'",
        "",
    ]


def _next_steps(held: Overview, sample_key: str | None) -> list[str]:
    pearl = _program()
    if sample_key is None and held.documents:
        known = f" ({_count(held.keys, 'key')} so far: {pearl} keys list)" if held.keys else ""
        return [f"A key for a user: {pearl} keys create --user NAME{known}"]
    return [
        "With your own history:",
        f"  {pearl} import ~/mail/sent.mbox --user me --me me@example.org --voice email",
        f"  {pearl} keys create --user me",
        f'  {pearl} draft "Ask Nan for the costume rails again" --user me --voice email',
        f"Other sources: {pearl} import --help."
        + ("" if sample_key else f" An invented user to try it on: {pearl} serve --sample."),
    ]


def _program() -> str:
    """The command line that starts this program from the current folder."""
    called, on_path = Path(sys.argv[0]), shutil.which("pearl")
    if called.name != "pearl" or "/" not in sys.argv[0] or (on_path and Path(on_path).absolute() == called.absolute()):
        return "pearl"
    return os.path.relpath(called)


def _model(settings: Settings) -> str:
    if not settings.uses_endpoint:
        return f"{settings.engine} ({local_names(settings)[0]})"
    from pearl.chat.endpoint import address

    return f"{settings.llm_model} at {address(settings)}"


def _other_model(settings: Settings) -> list[str]:
    """Lines that name a better model, if there is one and no model was chosen."""
    weights = unnamed_weights(settings)
    if weights is None:
        return []
    if weights.name != DEFAULT:
        return [f"{DEFAULT} writes better and is not on this machine; fetch it with: {_fetch(DEFAULT)}"]
    larger = TABLE[TABLE.index(weights) + 1 :][:1]  # the table is by size
    return [
        f"has {_megabytes(weights)} of weights; a larger one, {_megabytes(other)}: {_fetch(other.name)}, then set "
        f"PEARL_LLM_MODEL={other.name}"
        for other in larger
    ]


def _fetch(name: str) -> str:
    return f"{_program()} models get {name}"


def _megabytes(weights: Weights) -> str:
    return f"{(weights.bytes or 0) / 1e6:,.0f} MB"


def _database(settings: Settings) -> str:
    url = make_url(settings.resolved_database_url)
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return f"{url.database} on {url.host or url.query.get('host', 'this machine')} (PostgreSQL)"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
