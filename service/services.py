"""The parts of a process of the service (database, models, retriever, caches), made once from the settings."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from pearl.clock import Clock
from pearl.errors import InputError, NotFound, PearlError, StoreError
from pearl.models.chat.base import ChatModel
from pearl.models.chat.choose import make_chat_model, writes_here
from pearl.models.prompts import usual_beginning
from pearl.records import Claim
from pearl.settings import Settings
from pearl.style.claims import languages as spoken
from pearl.style.claims.claims import Sample
from pearl.style.claims.known_text import forget_samples
from pearl.style.editing.best_of import Rewards
from pearl.style.manner.edges import forget_parts
from pearl.text import language
from pearl.theta import read_theta
from retriever.base import Retriever
from retriever.models.encoder import Encoder, ReadingEncoder, SentenceEncoder
from retriever.registry import SERVED, RetrieverEntry, find_entry, make_retriever
from service.drafting.drafter import Drafter, DraftJob, Embedding, Event
from service.drafting.polishing import make_polisher
from service.histories.embedding import BATCH, BackgroundEmbedder, Precedence, StoredEncoder
from service.histories.history_cache import HistoryCache
from service.histories.likeness import LikenessCache
from service.histories.profile import ProfileCache
from service.process.logs import code_lines
from service.process.masked_model import masked
from service.process.model_watch import WatchedModel
from service.process.threads import WRITERS, FairThreads, in_thread
from service.store import embeddings, users, voices
from service.store.database import Database
from service.store.keys import KeyUses
from service.store.replies import empty_replies
from service.store.users import User

if TYPE_CHECKING:
    from service.process.metrics import Metrics
    from service.process.rate_limits import RateLimits

log = logging.getLogger("pearl.service")

THREADS = 16  # for reading the store and for ranking, per process; each holds at most one connection
LOADING_ENDS_S = 10.0  # wait at a stop for the part that is being loaded; weights of a hub may take minutes
SWEEP_S = 10.0  # between sweeps
M_ARENA_MAX = -8  # of malloc.h
WAITING = 128  # requests for retrieval; more are answered 503 at once
ALL = 10_000_000  # texts; no history has more


class Services:
    """The parts of the service in one process; starts and stops them. ``model``, ``encoder`` and ``rewards`` replace
    what the settings name, in tests."""

    def __init__(
        self,
        settings: Settings,
        *,
        model: ChatModel | None = None,
        encoder: ReadingEncoder | None = None,
        rewards: Rewards | None = None,
    ) -> None:
        """Make the parts. Raises InputError for settings that cannot be used."""
        self.settings = settings
        forget = partial(empty_replies, settings.home)
        self.database = Database(settings.resolved_database_url, pool_size=THREADS + WRITERS, forget=forget)
        self.encoder: ReadingEncoder = encoder or SentenceEncoder(settings.encoder)
        check_retriever(settings, self.encoder)
        self._precedence = Precedence()
        self._embedder = BackgroundEmbedder(self.database, self.encoder, self._precedence)
        self.histories = HistoryCache(
            self.database, self._retriever_of, incomplete=self._embedder.prefer, built=self._count_index
        )
        self.likenesses = LikenessCache(self.database)
        self.profiles = ProfileCache(self.database)
        self.ranking = FairThreads(WAITING)
        chosen = model or make_chat_model(settings, self._precedence.of_request)
        self._read_ahead, in_time = getattr(chosen, "read_ahead", None), getattr(chosen, "tokens_in_time", None)
        self.model = WatchedModel(masked(settings, chosen), self._count_failure)
        self.polisher = make_polisher(settings, rewards)
        self.drafter = Drafter(
            self.database,
            self.histories,
            self.model,
            self.ranking,
            retrieval_budget_ms=settings.retrieval_budget_ms,
            revise_below=settings.revise_below,
            polisher=self.polisher,
            likenesses=self.likenesses,
            tells_likeness=settings.likeness,
            reads=self.encoder.reads if self.needs_encoder else None,
            here=writes_here(settings),
            in_time=partial(in_time, seconds=settings.first_word_s) if in_time and settings.first_word_s else None,
        )
        self.key_uses = KeyUses(self.database)
        self.loaded = threading.Event()
        self.stopping = threading.Event()  # a signal to end came, and calls are still answered for a while
        self.load_error: str | None = None
        self._ended = False
        self._loader = threading.Thread(target=self._load, name="loader", daemon=True)
        self._ending = threading.Lock()  # held by the end, and by starts that must not come after it

    def _count_failure(self, code: str) -> None:
        self.metrics.failures.labels(code).inc()

    def _count_index(self) -> None:
        if "metrics" in vars(self):  # a command has none
            self.metrics.indexes_built.inc()

    # made when first used: a draft on the command line needs neither, and their libraries take long to load

    @cached_property
    def metrics(self) -> Metrics:
        from service.process.metrics import Metrics

        return Metrics()

    @cached_property
    def rate_limits(self) -> RateLimits:
        """The counts of requests by key. Raises InputError if their storage cannot be used."""
        from service.process.rate_limits import RateLimits

        return RateLimits(self.settings)

    @property
    def needs_encoder(self) -> bool:
        return retriever_entry(self.settings).needs_encoder

    def retriever(self, name: str | None = None, encoder: Encoder | None = None) -> Retriever:
        """A retriever for documents that are not in the store, by default with the service's encoder. Raises NotFound
        for a name that callers may not use: only the operator may name an artifact's folder."""
        if name is not None and name not in SERVED:
            raise NotFound(
                f"There is no model '{name}'; there are {', '.join(SERVED)}.", param="model", code="model_not_found"
            )
        return make_retriever(name or self.settings.retriever, encoder or self.encoder)

    def retriever_of(self, user_id: int) -> Retriever:
        """Make the settings' retriever with this user's embeddings; missing ones are computed, without a time limit."""
        return self._retriever_of(user_id, Clock())

    async def draft_for(self, user: str | None, job: DraftJob) -> AsyncGenerator[Embedding | Event, None]:
        """Write a draft for a command, as the user of this name; None: the only user. Yield the progress of embedding
        the user's texts, then the draft's events. Raises what :meth:`Drafter.draft` raises."""
        author = await in_thread(self._chosen, user, job.voice)
        if self.needs_encoder and isinstance(self.encoder, SentenceEncoder):
            # Its weights are compiled without the interpreter's lock, while a thread imports an endpoint's library.
            loader = ThreadPoolExecutor(1, thread_name_prefix="loader")
            loader.submit(self.encoder.load)  # a failure is raised again where the encoder is needed
            loader.shutdown(wait=False)
        await in_thread(self.drafter.check, author, job)
        steps = self._embedding(author.id)
        while (step := await in_thread(next, steps, None)) is not None:
            yield step
        async with aclosing(self.drafter.draft(author, job)) as events:
            async for event in events:
                yield event

    async def claims_for(self, user: str | None, job: DraftJob, text: str, samples: Sequence[Sample]) -> list[Claim]:
        """Find the claims of a text for a command, as the user of this name; None: the only user. Raises what
        :meth:`Drafter.claims` raises."""
        author = await in_thread(self._chosen, user, job.voice)
        await in_thread(self.embed, author.id)
        return await self.drafter.claims(author, job, text, samples)

    def _chosen(self, user: str | None, voice: str | None) -> User:
        with self.database.read() as connection:
            author = users.chosen(connection, user)
            voices.chosen_there(connection, author.id, voice)
        return author

    def embed(self, user_id: int) -> None:
        """Embed all of the user's texts, however long it takes: for commands, which have no background work."""
        for _ in self._embedding(user_id):
            pass

    def _embedding(self, user_id: int) -> Iterator[Embedding]:
        if not self.needs_encoder:
            return
        with self.database.read() as connection:
            texts = sorted(embeddings.missing(connection, user_id, self.encoder.name, ALL), key=len)
        encoder = StoredEncoder(self.database, self.encoder, user_id, self._precedence)
        for start in range(0, len(texts), BATCH):
            yield Embedding(start, len(texts))
            encoder.encode_documents(texts[start : start + BATCH])
        yield Embedding(len(texts), len(texts))

    def forget_deleted(self, user_id: int) -> bool:
        """Remove deleted data of the user from memory and from the database's files. Return False if the files still
        hold them, such as while another program reads the files; :meth:`sweep` tries again."""
        try:
            self.likenesses.forget_deleted(user_id)
            self.profiles.forget_deleted(user_id)
            self.histories.forget_deleted(user_id)
            return self.database.forget_deleted()
        except StoreError as error:  # it is deleted, but its traces are not overwritten
            log.warning("erasing: %s It is tried again.", error.message)
            return False
        finally:
            forget_texts()

    def forget(self, user_id: int) -> None:
        """Drop from memory everything that is made of the user's texts."""
        for kept in (self.likenesses, self.profiles):
            kept.forget_deleted(user_id)
        self.histories.forget(user_id)
        forget_texts()
        give_back()

    def sweep(self) -> None:
        """Clean up: store uses of keys, drop from memory what other processes deleted, return free memory to the
        system, and erase from the files what earlier deletions left there."""
        self.key_uses.flush()
        self.histories.sweep()
        self.likenesses.sweep()
        self.profiles.sweep()
        forget_texts()
        give_back()
        if not self.database.erase_owed():
            log.info("erasing: the database's files are being read; it is tried again.")
        self.database.clean_indexes()
        self.database.keep_room()

    async def keep_swept(self) -> None:
        """Run :meth:`sweep` now and every SWEEP_S seconds; when cancelled, wait for the end of the running sweep."""
        while True:
            sweep = asyncio.create_task(in_thread(self.sweep))
            try:
                await asyncio.shield(sweep)
            except asyncio.CancelledError:
                await asyncio.gather(sweep, return_exceptions=True)  # its thread uses a database that will be closed
                raise
            except PearlError as error:  # the store is busy or away: next time
                log.warning("sweeping: %s", error.message)
            except Exception as error:  # it must go on: nothing else erases what a deletion left behind
                log.error("sweeping failed: %s\n%s", type(error).__name__, code_lines(error))
            await asyncio.sleep(SWEEP_S)

    def _retriever_of(self, user_id: int, clock: Clock) -> Retriever:
        encoder = StoredEncoder(self.database, self.encoder, user_id, self._precedence, clock)
        return make_retriever(self.settings.retriever, encoder)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the service while the block runs: start its parts, sweep regularly, and stop them at the end."""
        share_heaps()
        with self.database.served():
            self.start()
            sweeping = asyncio.create_task(self.keep_swept())
            try:
                yield
            finally:
                sweeping.cancel()
                await asyncio.wait((sweeping,))
                await self.stop()

    def start(self) -> None:
        """Start a thread that loads the models and then starts the background work."""
        self._loader.start()

    def _load(self) -> None:
        try:
            encoders = (self.encoder,) if self.needs_encoder else ()
            for part in (self.model, self.retriever(), language, spoken, *encoders):
                load = getattr(part, "load", None)
                if load is not None and not self._ended:
                    load()
        except PearlError as error:
            self.load_error = error.message
        except Exception as error:  # whatever a library raises for a broken file: the service must say so
            self.load_error = f"The models could not be loaded ({type(error).__name__})."
        with self._ending:
            if not self._ended:
                self._begin()
        if self._read_ahead is not None and self.loaded.is_set():
            with suppress(PearlError):  # a draft says what is wrong
                speed = self._read_ahead(usual_beginning(), lambda: self._ended)
                if speed.is_known:
                    log.info("the model %s %s", self.model.name, speed.words(self.settings.first_word_s))

    def _begin(self) -> None:
        """Log how the loading ended, and start the work that waited for it."""
        if self.load_error is not None:
            log.error("%s", self.load_error)
            return
        self._say_retriever()
        self.loaded.set()
        log.info("the models are loaded: drafts can be written")
        if self.needs_encoder and self.settings.embed_in_background:
            self._embedder.start()

    def _say_retriever(self) -> None:
        """Log what a trained retriever decides."""
        retriever, theta = self.retriever(), self.settings.revise_below
        if retriever.do_not_use:
            log.warning("do not use the retriever '%s': %s", retriever.name, "; ".join(retriever.do_not_use))
        if retriever.origin:
            calibration = retriever.calibration.with_model(self.model.name)
            if theta is not None:
                calibration = replace(calibration, threshold=read_theta(theta))
            log.info("the retriever '%s' with '%s': %s", retriever.name, self.model.name, calibration.words())

    async def stop(self) -> None:
        await in_thread(self._end)
        await in_thread(self._embedder.stop)
        await in_thread(self._flush_uses)
        await self.model.close()
        self.database.close()

    def _end(self) -> None:
        with self._ending:
            self._ended = True
        if self._loader.is_alive():  # native code that returns to an ended interpreter crashes
            self._loader.join(LOADING_ENDS_S)

    def _flush_uses(self) -> None:
        try:
            self.key_uses.flush()
        except StoreError as error:  # no caller waits for it
            log.warning("the last uses of keys are not written: %s", error.message)


def retriever_entry(settings: Settings) -> RetrieverEntry:
    """Return the registry's entry of the settings' retriever. Raises InputError if it cannot be served."""
    name = settings.retriever
    try:
        entry = find_entry(name)
    except NotFound as error:
        raise InputError(
            f"PEARL_RETRIEVER={name!r}: there is no such retriever; there are {', '.join(SERVED)} and folders of "
            "artifacts.",
            code="invalid_setting",
        ) from error
    if not entry.served:
        raise InputError(
            f"PEARL_RETRIEVER={name!r}: it reads for seconds on all cores; use it with 'pearl rank' and 'pearl eval'.",
            code="invalid_setting",
        )
    return entry


def check_retriever(settings: Settings, encoder: Encoder) -> None:
    """Check that the retriever of the settings can be served. Raises InputError if it cannot."""
    name, entry = settings.retriever, retriever_entry(settings)
    try:
        retriever = entry.make(encoder)
    except InputError as error:
        raise InputError(f"PEARL_RETRIEVER={name!r}: {error.message}", code="invalid_setting") from error
    if retriever.do_not_use and not settings.retriever_force:
        raise InputError(
            f"PEARL_RETRIEVER={name!r}: its training says not to use it ({'; '.join(retriever.do_not_use)}); train on "
            "more, or set PEARL_RETRIEVER_FORCE=1.",
            code="do_not_use",
        )


def forget_texts() -> None:
    """Forget what is kept of single texts: one may have been deleted."""
    forget_samples()
    forget_parts()


def share_heaps() -> None:
    """Make all threads allocate memory from two heaps. By default glibc, the C library, gives each thread its own heap,
    and no thread can use what another has freed."""
    if sys.platform == "linux" and (limit := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        limit(M_ARENA_MAX, 2)


def give_back() -> None:
    """Make the C library (glibc) return free memory to the system; by itself it keeps gigabytes after one long
    history."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
