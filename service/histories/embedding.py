"""Embeddings of stored documents and their requests: look them up, and compute and store missing ones, also in the
background while no request waits for the encoder."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from sqlalchemy import Connection

from pearl.clock import Clock
from pearl.errors import PearlError, StoreError
from retriever.models.encoder import Encoder, Vectors
from service.process.logs import code_lines
from service.store import embeddings, jobs
from service.store.database import Database

if TYPE_CHECKING:
    from service.store.embeddings import Vector

log = logging.getLogger("pearl.embedding")

BATCH = 64  # texts of one commit
LOOKED_UP = 1024  # texts looked up at once: among 60,000 documents that takes half as long as encoding 64
AT_ONCE = 8  # texts encoded at a time: a request that needs the encoder waits for these at most
IN_HASTE = 2  # the same while a request waits and its time is limited
IDLE_S = 1.0


class Precedence:
    """Puts requests first: background work waits while a request needs the encoder."""

    def __init__(self) -> None:
        self._requests = 0
        self._changed = threading.Condition()

    @contextmanager
    def of_request(self) -> Iterator[None]:
        with self._changed:
            self._requests += 1
        try:
            yield
        finally:
            with self._changed:
                self._requests -= 1
                self._changed.notify_all()

    def wait_for_requests(self) -> None:
        """Wait until no request needs the encoder, but at most IDLE_S: the caller may have to stop."""
        with self._changed:
            self._changed.wait_for(lambda: self._requests == 0, timeout=IDLE_S)


class StoredEncoder:
    """An encoder that uses one user's stored embeddings: it computes and stores only the missing ones.

    With a time limit it begins with the newest texts and uses half of the time left; the ranking needs some, too.
    """

    def __init__(
        self, database: Database, encoder: Encoder, user_id: int, precedence: Precedence, clock: Clock | None = None
    ) -> None:
        self.name = encoder.name
        self._database = database
        self._encoder = encoder
        self._user_id = user_id
        self._precedence = precedence
        self._clock = clock or Clock()

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        keys = [embeddings.text_key(text) for text in texts]
        with self._database.read() as connection:
            known = embeddings.of_user(connection, self._user_id, self.name, set(keys))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if self._clock.limit_ms is not None:
            known |= self._encode_in_time(list(missing.values())[::-1], known)
            return self._rows(keys, known)
        # texts of similar length in a batch: none is padded to the length of a much longer one
        wanted = sorted(missing.values(), key=len)
        for start in range(0, len(wanted), BATCH):
            with self._precedence.of_request():
                fresh = encode(self._encoder, wanted[start : start + BATCH])
            with self._database.write() as connection:
                embeddings.add(connection, self._user_id, self.name, fresh)
            known.update(fresh)
        return np.stack([known[key] for key in keys])

    def _encode_in_time(self, texts: Sequence[str], known: Mapping[bytes, Vector]) -> dict[bytes, Vector]:
        """Encode the texts that there is time for; at least some if no vector is known, to learn their length."""
        fresh: dict[bytes, Vector] = {}
        reserve_s, took_s = self._clock.left_s / 2, 0.0
        with self._precedence.of_request():
            for start in range(0, len(texts), IN_HASTE):
                started = time.perf_counter()
                if (known or fresh) and self._clock.left_s - took_s <= reserve_s:
                    break
                fresh |= encode(self._encoder, texts[start : start + IN_HASTE])
                took_s = time.perf_counter() - started
        if fresh:
            self._keep_in_time(fresh, max(0.0, self._clock.left_s - reserve_s))
        return fresh

    def _keep_in_time(self, vectors: Mapping[bytes, Vector], within_s: float) -> None:
        """Store the vectors unless the wait for the lock takes longer: then the background computes them again."""
        try:
            with self._database.write(within_s) as connection:
                embeddings.add(connection, self._user_id, self.name, vectors)
        except StoreError as error:
            if error.code != "store_locked":
                raise

    def _rows(self, keys: Sequence[bytes], known: Mapping[bytes, Vector]) -> Vectors:
        """Return the vectors of the keys by row, NaN for missing ones; count the missing ones on the clock."""
        self._clock.not_embedded += len(set(keys) - known.keys())
        unknown = np.full_like(next(iter(known.values())), np.nan)
        return np.stack([known.get(key, unknown) for key in keys])

    def encode_request(self, text: str) -> Vectors:
        with self._precedence.of_request():
            return self._encoder.encode_request(text)


def encode(encoder: Encoder, texts: Sequence[str], go_on: Callable[[], bool] = lambda: True) -> dict[bytes, Vector]:
    """Encode the texts, a few at a time, until ``go_on`` returns False; return the embeddings by text key."""
    encoded: dict[bytes, Vector] = {}
    for start in range(0, len(texts), AT_ONCE):
        if not go_on():
            break
        some = texts[start : start + AT_ONCE]
        encoded.update(zip(map(embeddings.text_key, some), encoder.encode_documents(some), strict=True))
    return encoded


class WantedEncoder:
    """An encoder for one answer; :meth:`give_up` stops it when nobody waits for the answer any more."""

    def __init__(self, encoder: Encoder) -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._given_up = threading.Event()

    def give_up(self) -> None:
        """Stop encoding: calls that encode raise CancelledError."""
        self._given_up.set()

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        encoded = encode(self._encoder, sorted(set(texts), key=len), lambda: not self._given_up.is_set())
        if self._given_up.is_set():
            raise CancelledError
        return np.stack([encoded[embeddings.text_key(text)] for text in texts])

    def encode_request(self, text: str) -> Vectors:
        return self._encoder.encode_request(text)


class BackgroundEmbedder:
    """A thread that carries out the queued embedding jobs, a few texts at a time."""

    def __init__(self, database: Database, encoder: Encoder, precedence: Precedence) -> None:
        self._database = database
        self._encoder = encoder
        self._precedence = precedence
        self._stopping = threading.Event()
        self._job: jobs.Job | None = None  # the one in work; kept when the store fails, to be renewed later
        self._waiting: dict[int, None] = {}  # users whose answers lacked embeddings, in the order of the answers
        self._thread = threading.Thread(target=self._run, name="embedder", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def prefer(self, user_id: int) -> None:
        """Embed the texts of this user first: an answer lacked some of their embeddings."""
        self._waiting[user_id] = None

    def stop(self) -> None:
        """Stop the thread and wait for its end; the next embedder continues an unfinished job."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        trouble = ""
        while not self._stopping.is_set():
            try:
                worked, trouble = self.work_once(), ""
            except PearlError as error:  # the store is busy or away: later
                if error.message != trouble:  # a full disk is said once, not each second
                    log.warning("embedding: %s", error.message)
                worked, trouble = False, error.message
            except Exception as error:  # the thread must live on: nothing else works the jobs off
                log.error("embedding failed: %s\n%s", type(error).__name__, code_lines(error))
                worked = False
            if not worked:
                self._stopping.wait(IDLE_S)

    def work_once(self) -> bool:
        """Carry out one job; return False if there was none."""
        with self._database.write() as connection:
            job = None if self._job is None else jobs.renew(connection, self._job)
            job = job or jobs.claim(connection, jobs.EMBED, first=list(self._waiting))
        self._job = job
        if job is None:
            self._waiting.clear()  # another process finished their jobs, or they are deleted
            return False
        try:
            self._embed(job)
        except PearlError:
            raise
        except Exception as error:
            log.error("embedding failed: %s\n%s", type(error).__name__, code_lines(error))
            with self._database.write() as connection:
                jobs.fail(connection, self._job or job, type(error).__name__)  # it was renewed with each batch
        self._job = None
        return True

    def _embed(self, job: jobs.Job) -> None:
        pending: list[str] = []
        while True:
            if not pending:
                with self._database.read() as connection:
                    pending = embeddings.missing(connection, job.user_id, self._encoder.name, LOOKED_UP)
            texts, pending = pending[:BATCH], pending[BATCH:]
            vectors = encode(self._encoder, sorted(texts, key=len), self._may_go_on)
            with self._database.write() as connection:
                embeddings.add(connection, job.user_id, self._encoder.name, vectors)
                if self._stopping.is_set() or (texts and self._others_wait(connection, job)):
                    return jobs.release(connection, job)
                if not texts:
                    self._waiting.pop(job.user_id, None)
                    return jobs.finish(connection, job)
                renewed = jobs.renew(connection, job)
            if renewed is None:
                return None
            self._job = job = renewed

    def _others_wait(self, connection: Connection, job: jobs.Job) -> bool:
        """True if an answer lacked embeddings of other users whose jobs are queued, but none of this job's user."""
        return job.user_id not in self._waiting and bool(jobs.queued(connection, jobs.EMBED, list(self._waiting)))

    def _may_go_on(self) -> bool:
        self._precedence.wait_for_requests()
        return not self._stopping.is_set()
