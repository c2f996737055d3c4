"""The ASGI application, made by ``create_app(settings)``."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType

import anyio.to_thread
from fastapi import Depends, FastAPI
from fastapi.responses import Response
from fastapi.telemetry import TelemetryConfig

from pearl import __version__
from pearl.models.chat.base import ChatModel
from pearl.settings import Settings, load_settings
from pearl.style.editing.best_of import Rewards
from retriever.models.encoder import ReadingEncoder
from service.http.api import (
    account,
    blind_pairs,
    chat_completions,
    documents,
    drafts,
    feedback,
    health,
    imports,
    likeness,
    messages,
    ollama,
    profile,
    rerank,
    responses,
    site,
    voices,
)
from service.http.api.bodies import LargeBodies, refuse_other_encodings, refuse_unknown_parameters
from service.http.api.command_line import CommandLine
from service.http.api.errors import ErrorBody, install_error_handlers
from service.http.api.sessions import Cors, Sessions
from service.http.api.streaming import ClientLeft
from service.http.mcp import route
from service.http.web import page, repairs, sign_on
from service.importing.upload import Uploads
from service.process.connections import ON_LOOPBACK
from service.process.logs import configure_logging
from service.process.observe import Observe
from service.process.rate_limits import Admission
from service.services import THREADS, Services
from service.sign_on.accepted import SignOn


def drain_at_signal(seconds: float, stopping: threading.Event) -> None:
    """Delay the stop at SIGTERM: set ``stopping`` at once, and call the earlier handler after ``seconds`` or at a
    second SIGTERM. Must be called in the main thread's event loop, after the server has set its handler."""
    before = signal.getsignal(signal.SIGTERM)
    assert callable(before)
    loop = asyncio.get_running_loop()

    def begin(number: int, frame: FrameType | None) -> None:
        if stopping.is_set():
            before(number, frame)
            return
        stopping.set()
        loop.call_soon_threadsafe(loop.call_later, seconds, before, number, None)

    signal.signal(signal.SIGTERM, begin)


DESCRIPTION = """Drafts text the way *you* would have written it, from your own past writing.

The key says who you are: nothing in a body or a header does, except a service key's `X-Pearl-User`.
Errors have one shape on every route: `{"error": {"message", "type", "param", "code"}}`. One with
`retry-after` (429, 503, or 409 while the first call under an Idempotency-Key is under way) says after how many seconds
to call again. `x-ratelimit-remaining-requests` says how many calls the key has left."""

# FastAPI's traces, where OTEL_EXPORTER_OTLP_ENDPOINT names a collector. Its logs may hold texts, and so may a query.
TELEMETRY: TelemetryConfig = {
    "auto_configure": True,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "exclude": lambda scope: bool(scope.get("query_string")),
}

EXPOSED_HEADERS = [
    "x-request-id",
    "retry-after",
    "www-authenticate",
    "idempotent-replayed",
    "x-pearl-ignored",
    "x-pearl-model",
    *(f"x-ratelimit-{part}-requests" for part in ("limit", "remaining", "reset")),
]


def create_app(
    settings: Settings,
    *,
    model: ChatModel | None = None,
    encoder: ReadingEncoder | None = None,
    rewards: Rewards | None = None,
) -> FastAPI:
    """Make the ASGI application. The schema must be up to date (``pearl serve`` migrates it).

    ``model``, ``encoder`` and the scores of ``rewards`` replace what the settings name. Raises InputError for unusable
    settings.
    """
    services = Services(settings, model=model, encoder=encoder, rewards=rewards)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = THREADS
        if settings.drain_s:
            drain_at_signal(settings.drain_s, services.stopping)
        async with services.running():
            yield

    app = FastAPI(
        title="PEARL",
        version=__version__,
        description=DESCRIPTION,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        docs_url=None,  # our page brings its assets
        redoc_url=None,
        lifespan=lifespan,
        telemetry=TELEMETRY,
        redirect_slashes=False,  # a redirect has not the shape of errors, and behind a proxy it has a wrong address
        responses={"default": {"model": ErrorBody, "description": "Any error."}},
        dependencies=[Depends(refuse_other_encodings), Depends(refuse_unknown_parameters)],
    )
    app.state.services = services
    _ = services.rate_limits  # now, so that an unusable storage is an error at the start
    app.state.admission = Admission(settings.drafts_at_once)
    app.state.large_bodies = LargeBodies()
    app.state.forms = set[int]()  # that are being read
    app.state.uploads = Uploads()
    app.state.on_loopback = False  # where it listens is known to `pearl serve` alone
    app.state.sign_on = SignOn(settings)
    app.state.sessions = Sessions(settings.home, signed_on=bool(app.state.sign_on.offered))
    install_error_handlers(app)
    app.add_exception_handler(ClientLeft, _nobody_there)
    routers = [
        module.router
        for module in (
            *(drafts, documents, imports, feedback, voices, profile, likeness, blind_pairs),
            *(chat_completions, responses, messages, ollama, rerank, route, account),
        )
    ]
    pages = (site.router, page.router, repairs.router, sign_on.router)
    app.state.routers = (*routers, health.router, health.operator_router, *pages)
    for router in app.state.routers:
        app.include_router(router)
    app.state.routes = site.names_of((*routers, health.router, health.operator_router))
    app.routes.append(site.assets())
    if settings.cors_origin_list:
        app.add_middleware(
            Cors,
            allow_origins=settings.cors_origin_list,
            allow_methods=["*"],
            allow_headers=["*"],
            allow_private_network=True,  # the usual service runs on the page's own machine
            expose_headers=EXPOSED_HEADERS,
        )
    app.add_middleware(CommandLine, services=services, admission=app.state.admission)
    app.add_middleware(Observe, metrics=services.metrics)
    return app


async def _nobody_there(request: object, error: Exception) -> Response:
    return Response(status_code=499)


def app_from_environment() -> FastAPI:
    """Make the app of a worker process, with settings and logs as the environment says."""
    settings = load_settings()
    configure_logging(settings)
    app = create_app(settings)
    app.state.on_loopback = bool(os.environ.get(ON_LOOPBACK))
    return app
