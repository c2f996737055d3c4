"""A whole service on a real store in a temporary folder; only the chat model and the encoder are small stand-ins."""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.routing import BaseRoute, Mount, Route
from starlette.testclient import TestClient

from pearl.clock import Clock
from pearl.models.chat.base import ChatModel, Chunk, Decoding, Message
from pearl.records import Document, Request
from pearl.settings import Settings, load_settings
from retriever.base import Calibration, Index, Retriever
from retriever.models.encoder import Encoder
from service.drafting.drafter import Drafter
from service.histories.history_cache import HistoryCache
from service.http.app import create_app
from service.process.connections import TimedProtocol
from service.services import Services
from service.store import documents, keys, users, voices
from service.store.database import Database
from service.store.documents import Addition
from service.store.users import User
from tests.fake_chat import FakeChatModel
from tests.real_redis import RealRedis

# what ships is trained, so its scores change with every training
UNTRAINED = {"database_url": None, "embed_in_background": False, "log_level": "error", "retriever": "fusion"}


class FixedRetriever(Retriever):
    """Scores that a test sets, by document id, with whatever calibration it wants."""

    name = "fixed"

    def __init__(self, scores: dict[str, float], calibration: Calibration) -> None:
        self.wanted = scores
        self.calibration = calibration

    def index(self, documents: Sequence[Document]) -> Index:
        return FixedIndex(np.array([self.wanted.get(document.id, 0.0) for document in documents], np.float32))


class FixedIndex:
    def __init__(self, scores: Any) -> None:
        self._scores = scores

    def scores(self, request: Request, clock: Clock | None = None) -> Any:
        return self._scores


class SilentModel:
    """Says a few words, then nothing until it is let go on; notes whether its reader went away."""

    name = "silent"
    context_tokens = 2000
    continues = False

    def __init__(self, words: Sequence[str] = ()) -> None:
        self.words = words
        self.asked = threading.Event()
        self.stopped = threading.Event()
        self.go_on = threading.Event()

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        self.asked.set()
        try:
            for word in self.words:
                yield Chunk(word)
            while not self.go_on.is_set():  # noqa: ASYNC110 - the test sets it in another thread
                await asyncio.sleep(0.005)
            yield Chunk("the end", "stop")
        except (GeneratorExit, asyncio.CancelledError):
            self.stopped.set()
            raise

    async def check(self) -> None:
        pass

    async def close(self) -> None:
        pass


class CutOffModel(FakeChatModel):
    """Each answer ends at its limit of tokens."""

    async def stream(self, messages: Sequence[Message], decoding: Decoding) -> AsyncGenerator[Chunk, None]:
        async with aclosing(super().stream(messages, decoding)) as chunks:
            async for chunk in chunks:
                yield replace(chunk, finish_reason=chunk.finish_reason and "length")


@dataclass
class House:
    """A service with its parts within reach."""

    app: FastAPI
    settings: Settings
    services: Services
    model: Any
    encoder: Any
    client: TestClient  # without a key

    @property
    def database(self) -> Database:
        return self.services.database

    def key(self, user: str) -> str:
        with self.database.write() as connection:
            return keys.create_for_user(connection, user)

    def service_key(self, *granted: str, all_users: bool = False) -> str:
        with self.database.write() as connection:
            users.ensure(connection, set(granted))
            return keys.create_for_service(connection, granted, all_users=all_users)

    def user(self, name: str) -> User:
        with self.database.write() as connection:
            return users.ensure(connection, {name})[name]

    def add(self, user: str, *given: Document | str) -> list[Document]:
        """Put documents into the store past the API; texts are numbered d1, d2, ..."""
        owner = self.user(user)
        made = [
            item if isinstance(item, Document) else Document(f"d{number}", item, 1000.0 + number)
            for number, item in enumerate(given, start=1)
        ]
        with self.database.write() as connection:
            documents.add(connection, [Addition(owner.id, document) for document in made])
        return made

    def voice(self, user: str, name: str, **values: Any) -> None:
        owner = self.user(user)
        with self.database.write() as connection:
            voices.put(connection, owner.id, name, values)

    def as_user(self, user: str, **headers: str) -> Caller:
        return Caller(self.client, {"Authorization": f"Bearer {self.key(user)}", **headers})

    def rows(self, table: str) -> list[Any]:
        with self.database.read() as connection:
            return list(connection.exec_driver_sql(f"SELECT * FROM {table}"))

    def on_disk(self, text: str) -> bool:
        """Whether the bytes are in any file of the database."""
        return any(text.encode() in path.read_bytes() for path in self.settings.home.glob("pearl.db*"))

    def retrieve_with(self, retriever: Retriever, budget_ms: float | None = None) -> None:
        """Draft with another retriever than the settings can name."""
        self.services.histories = HistoryCache(self.database, lambda *_: retriever, max_bytes=10**9)
        self.services.drafter = Drafter(
            self.database, self.services.histories, self.model, self.services.ranking, retrieval_budget_ms=budget_ms
        )


@dataclass
class Caller:
    """A client with a key."""

    client: TestClient
    headers: dict[str, str]

    def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        options["headers"] = {**self.headers, **options.pop("headers", {})}
        if body is not None:
            options["json"] = body
        return self.client.request(method, path, **options)

    def get(self, path: str, **options: Any) -> Any:
        return self("GET", path, **options)

    def post(self, path: str, body: Any = None, **options: Any) -> Any:
        return self("POST", path, body, **options)

    def put(self, path: str, body: Any = None, **options: Any) -> Any:
        return self("PUT", path, body, **options)

    def delete(self, path: str, **options: Any) -> Any:
        return self("DELETE", path, **options)


KNOWN_ROUTES: list[BaseRoute] = []


def make_app(settings: Settings, **parts: Any) -> FastAPI:
    """Make an app whose API's routes are those of the first one.

    FastAPI reads what each route takes and gives when an app gets its first request, 65 ms, and our routes are the same
    in every app. Its own routes, as that of the schema, stay the app's.
    """
    app = create_app(settings, **parts)
    routes = app.router.routes
    if not KNOWN_ROUTES:
        KNOWN_ROUTES.extend(routes)
    shared = zip(routes, KNOWN_ROUTES, strict=True)
    routes[:] = [own if isinstance(own, Route | Mount) else known for own, known in shared]
    return app


@pytest.fixture
def house(tmp_path: Path, sqlite_template: Path, word_encoder: type[Encoder]) -> Iterator[Callable[..., House]]:
    """Make a running service; keyword arguments are settings, UNTRAINED where they do not say otherwise."""
    with ExitStack() as stack:

        def make(
            model: ChatModel | None = None, encoder: Encoder | None = None, rewards: Any = None, **options: Any
        ) -> House:
            home = tmp_path / f"home{len(list(tmp_path.iterdir()))}"
            home.mkdir()
            shutil.copy(sqlite_template, home / "pearl.db")
            options = {**UNTRAINED, **options}
            settings = load_settings(home=home, **options)
            chat, words = model or FakeChatModel(), encoder or word_encoder()
            app = make_app(settings, model=chat, encoder=words, rewards=rewards)
            client = stack.enter_context(TestClient(app))
            return House(app, settings, app.state.services, chat, words, client)

        yield make


@pytest.fixture
def pearl(house: Callable[..., House]) -> House:
    """A running service with everything as it comes."""
    return house()


@contextmanager
def _listening(app: FastAPI, port: int = 0) -> Iterator[str]:
    config = uvicorn.Config(
        app, port=port, http=TimedProtocol, log_config=None, log_level="critical", ws="none", lifespan="on"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        deadline = time.monotonic() + 60
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert server.started, "the server did not start"
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@dataclass
class Listening:
    """A service behind a real server."""

    house: House
    address: str


@pytest.fixture
def listen(tmp_path: Path, sqlite_template: Path, word_encoder: type[Encoder]) -> Iterator[Callable[..., Listening]]:
    """Make a service that listens on a port of the system's choosing; keyword arguments are settings."""
    with ExitStack() as stack:

        def make(model: ChatModel | None = None, port: int = 0, **options: Any) -> Listening:
            home = tmp_path / f"served{len(list(tmp_path.iterdir()))}"
            home.mkdir()
            shutil.copy(sqlite_template, home / "pearl.db")
            options = {**UNTRAINED, **options}
            settings = load_settings(home=home, **options)
            chat, words = model or FakeChatModel(), word_encoder()
            app = make_app(settings, model=chat, encoder=words)
            address = stack.enter_context(_listening(app, port))
            unused = TestClient(app)
            return Listening(House(app, settings, app.state.services, chat, words, unused), address)

        yield make


@pytest.fixture
def silent_model() -> type[SilentModel]:
    return SilentModel


@pytest.fixture
def cut_off_model() -> type[CutOffModel]:
    return CutOffModel


@pytest.fixture
def fixed_retriever() -> type[FixedRetriever]:
    return FixedRetriever


@pytest.fixture
def theirs() -> Iterator[Any]:
    """An issuer that signs users on."""
    from tests.issuer import issuer

    with issuer() as made:
        yield made


@pytest.fixture
def redis() -> Iterator[RealRedis]:
    server = RealRedis()
    yield server
    server.stop()


@pytest.fixture
def logs_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Without what another test's server may have set, and without a trace of this one."""
    for name in ("pearl", "pearl.access", "uvicorn", "uvicorn.error"):
        for attribute, value in (("propagate", True), ("handlers", []), ("disabled", False)):
            monkeypatch.setattr(logging.getLogger(name), attribute, value)
        logging.getLogger(name).setLevel(logging.NOTSET)
    root = logging.getLogger()
    before, level = root.handlers, root.level
    yield
    root.handlers = before
    root.setLevel(level)
    for name in ("pearl", "uvicorn"):
        logging.getLogger(name).setLevel(logging.NOTSET)
