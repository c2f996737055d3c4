"""``pearl doctor``"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import typer
from sqlalchemy import func, select, text
from sqlalchemy.engine import make_url

from pearl import __version__
from pearl.cli.options import JSON_OPTION, check_writable, write_json
from pearl.errors import PearlError
from pearl.models.chat.base import Decoding, Message, complete
from pearl.models.chat.choose import local_names, make_chat_model, writer_of
from pearl.models.prompts import usual_beginning
from pearl.settings import Settings, load_settings
from pearl.text.shown_urls import HIDDEN, without_secrets
from pearl.text.usable import counted, printable
from service.process.threads import in_thread
from service.store import schema, tables
from service.store.database import Database
from service.store.jobs import FAILED as GIVEN_UP
from service.store.sqlite_files import LEAST_ROOM
from service.store.user_counts import overview

EXAMPLES = """
  pearl doctor
  pearl doctor --json -
"""
State = Literal["ok", "warning", "failed"]
Finding = tuple[State, str]
MB = 1_000_000
LITTLE_ROOM = 500 * MB
OWED_S = 600.0  # an erasure that is older is stuck
QUESTION = (Message("user", "Answer with one word: is water wet?"),)
HOME_FOLDER = re.compile(r"/(?:home|Users)/[^/\s'\"]+")
SECRETS = ("PGPASSWORD", "OPENAI_API_KEY")  # variables of libraries


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check. ``name``: what was checked; ``message``: what was found."""

    name: str
    state: State
    message: str


@dataclass
class DoctorContext:
    """The settings and the database, which several checks need."""

    settings: Settings
    usable: Database | None = None  # if its schema is this version's

    @cached_property
    def database(self) -> Database | None:
        """The database; None if its file does not exist yet, because opening would create the file."""
        url = make_url(self.settings.resolved_database_url)
        missing = url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists()
        return None if missing else Database(self.settings.resolved_database_url, pool_size=1)


def since(began: float) -> str:
    """Format the time since ``began``, a value of time.perf_counter, in s or ms."""
    seconds = time.perf_counter() - began
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.0f} ms"


def program(examined: DoctorContext) -> Finding:
    return "ok", (
        f"PEARL {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}, "
        f"{counted(os.cpu_count() or 1, 'processor')}"
    )


def settings(examined: DoctorContext) -> Finding:
    """Say where each setting comes from. The values are not shown, because they may be secret."""
    origins = [f"{name} by {origin}" for name, origin in examined.settings.origins.items()]
    return "ok", f"{', '.join(origins)}; all others by default" if origins else "all by default"


def home(examined: DoctorContext) -> Finding:
    folder = examined.settings.home
    if not folder.exists():
        return "warning", f"{folder} is not there yet; `pearl serve` makes it."
    if not folder.is_dir():
        return "failed", f"{folder} is no folder; name another with PEARL_HOME."
    began = time.perf_counter()
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix="pearl.") as file:
            file.write(b"written by pearl doctor")
            file.flush()
            os.fsync(file.fileno())
            wrote = since(began)
    except OSError as error:
        return "failed", f"{folder} cannot be written: {error.strerror}. Make it writable for PEARL's user."
    found = folder.stat()
    if os.name != "nt" and found.st_uid != os.geteuid():
        return "warning", f"{folder} belongs to another user; what PEARL writes there may not be readable by that one."
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "warning", f"{folder} can be written by others (mode {stat.S_IMODE(found.st_mode):o}): chmod go-w"
    return "ok", f"{folder}, mode {stat.S_IMODE(found.st_mode):o}, written in {wrote}"


def disk(examined: DoctorContext) -> Finding:
    folder = next(
        path for path in (examined.settings.home, *examined.settings.home.absolute().parents) if path.exists()
    )
    free = {
        "PEARL_HOME": shutil.disk_usage(folder).free,
        "temporary files": shutil.disk_usage(tempfile.gettempdir()).free,
    }
    least = min(free.values())
    state: State = "failed" if least < LEAST_ROOM else "warning" if least < LITTLE_ROOM else "ok"
    return state, "free: " + ", ".join(f"{size / MB:,.0f} MB for {what}" for what, size in free.items())


def schema_(examined: DoctorContext) -> Finding:
    if examined.database is None:
        return "warning", "There is no database yet; `pearl serve` makes it."
    revision, newest = examined.database.schema_version(to_write=True)
    trouble = schema.trouble(revision)
    if trouble is None:
        examined.usable = examined.database
        return "ok", newest
    return "warning" if trouble.code == "schema_missing" else "failed", trouble.message


def database(examined: DoctorContext) -> Finding:
    if examined.usable is None:
        return "warning", "It was not looked at: see 'schema'."
    began = time.perf_counter()
    with examined.usable.read() as connection:
        held = overview(connection)
        took = since(began)
        given_up = connection.scalar(select(func.count()).where(tables.jobs.c.state == GIVEN_UP)) or 0
        owed_since = connection.scalar(select(func.min(tables.erasures.c.requested_at)))
        version = ".".join(map(str, connection.dialect.server_version_info or ()))
        if examined.usable.is_sqlite and connection.scalar(text("PRAGMA quick_check(1)")) != "ok":
            return "failed", "The database is damaged. Stop PEARL, move the file away, and restore a backup."
    if owed_since is not None and owed_since < time.time() - OWED_S:
        return "warning", "Deleted texts are still in its files, because another program reads them; stop that one."
    if given_up:
        return "warning", f"The texts of {counted(given_up, 'user')} could not be embedded; the log says why."
    kind = "SQLite" if examined.usable.is_sqlite else "PostgreSQL"
    return "ok", (
        f"{kind} {version}: {counted(held.users, 'user')}, {counted(held.documents, 'document')}, counted in {took}"
    )


def model(examined: DoctorContext) -> Finding:
    """Ask the chat model a question; report its name, the time taken, the tokens and, if known, its speed."""
    began = time.perf_counter()

    async def ask() -> tuple[int, str]:
        asked = make_chat_model(examined.settings)
        try:
            tokens = (await complete(asked, QUESTION, Decoding(max_tokens=16))).usage.completion_tokens
            speed = getattr(asked, "speed", None)
            if speed is not None and not speed.is_known:
                with suppress(PearlError):  # a context may be too small for any draft
                    speed = await in_thread(getattr(asked, "read_ahead"), usual_beginning())  # noqa: B009
            return tokens, f"; it {speed.words(examined.settings.first_word_s)}" if speed and speed.is_known else ""
        finally:
            await asked.close()

    tokens, speed = asyncio.run(ask())
    settings = examined.settings
    name = writer_of(settings) if settings.uses_endpoint else local_names(settings)[0]
    return "ok", f"{name} answered in {since(began)}, {counted(tokens, 'token')}{speed}"


def retriever(examined: DoctorContext) -> Finding:
    from retriever.models.encoder import SentenceEncoder
    from service.services import check_retriever, retriever_entry

    settings = examined.settings
    encoder = SentenceEncoder(settings.encoder)
    check_retriever(settings, encoder)
    if not retriever_entry(settings).needs_encoder:
        return "ok", f"{settings.retriever}, which needs no encoder"
    encoder.load()
    began = time.perf_counter()
    encoder.encode_request("Is water wet?")
    return "ok", f"{settings.retriever} with the encoder {encoder.name}; a request is encoded in {since(began)}"


CHECKS: dict[str, Callable[[DoctorContext], Finding]] = {
    "program": program,
    "settings": settings,
    "home": home,
    "disk": disk,
    "schema": schema_,
    "database": database,
    "model": model,
    "retriever": retriever,
}


def doctor(json: str | None = JSON_OPTION) -> None:
    """Check everything that PEARL needs to run: folder, disk, database, model, retriever.

    The model is asked one question. What is shown holds no key, no password, no text of anybody and no home folder's
    name, so it can go into an issue as it is. Exit status 1 if a check failed.
    """
    check_writable("--json", json)
    checks = list(examine())
    if json:
        write_json(json, {"checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            typer.echo(f"{check.state:<8} {check.name:<10} {check.message}")
    if any(check.state == "failed" for check in checks):
        raise typer.Exit(1)


def examine() -> Iterator[Check]:
    """Run the checks; yield each outcome as soon as it is known."""
    try:
        settings = load_settings()
    except PearlError as error:
        yield Check("settings", "failed", without_names(error.message, ()))
        return
    secrets, examined = secrets_of(settings), DoctorContext(settings)
    try:
        for name, check in CHECKS.items():
            try:
                state, message = check(examined)
            except PearlError as error:
                state, message = "failed", error.message
            except OSError as error:
                state, message = "failed", f"{error.filename or 'The system'}: {error.strerror}"
            except Exception as error:  # its words may quote anything
                state, message = (
                    "failed",
                    f"It could not be checked ({type(error).__name__}): please tell PEARL's makers.",
                )
            message = message.replace(str(settings.home), "PEARL_HOME")
            yield Check(name, state, without_names(message, secrets))
    finally:
        if examined.__dict__.get("database") is not None:
            examined.__dict__["database"].close()


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Return all passwords and keys in the settings, the longest first."""
    urls = (settings.resolved_database_url, settings.llm_base_url or "", settings.rate_limit_storage)
    found = {os.environ.get(name, "") for name in SECRETS} | {urlsplit(url).password or "" for url in urls}
    if settings.llm_api_key is not None:
        found.add(settings.llm_api_key.get_secret_value())
    return tuple(sorted(filter(None, found), key=len, reverse=True))


def without_names(message: str, secrets: tuple[str, ...]) -> str:
    """Return the message without secrets and names of home folders, which may be people's names."""
    for secret in secrets:
        message = message.replace(secret, HIDDEN)
    message = without_secrets(message).replace(str(Path.home()), "~") if str(Path.home()) != "/" else message
    return printable(HOME_FOLDER.sub("~", message))
