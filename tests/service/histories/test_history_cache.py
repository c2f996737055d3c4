from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from pearl.clock import Clock
from pearl.errors import NotFound, StoreError
from pearl.records import Document, Request
from retriever.base import Index, Retriever
from retriever.baselines.bm25 import BM25Retriever
from retriever.calibrated.artifact import artifact_retriever
from service.histories.embedding import Precedence, StoredEncoder
from service.histories.history_cache import BYTES_OF_DOCUMENT, HistoryCache
from service.store import documents, users
from service.store.database import Database
from service.store.documents import Addition


class CountingRetriever(BM25Retriever):
    """Notes every history it prepares, and may be made to wait before."""

    def __init__(self) -> None:
        self.built: list[int] = []
        self.updated: list[Index] = []
        self.before: Callable[[], None] = lambda: None

    def index(self, documents: Sequence[Document]) -> Index:
        self.before()
        self.built.append(len(documents))
        return super().index(documents)

    def update(self, previous: Index, documents: Sequence[Document]) -> Index:
        self.updated.append(previous)
        return super().update(previous, documents)


@pytest.fixture
def retriever() -> CountingRetriever:
    return CountingRetriever()


@pytest.fixture
def cache(pearl: Any, retriever: CountingRetriever) -> HistoryCache:
    return HistoryCache(pearl.database, lambda *_: retriever, max_bytes=7 * (BYTES_OF_DOCUMENT + 100))


def texts(cache: HistoryCache, user_id: int, voice: str | None = None) -> list[str]:
    return [document.text for document in cache.get(user_id, voice).documents]


def test_a_history_is_prepared_once(pearl: Any, cache: HistoryCache, retriever: CountingRetriever) -> None:
    pearl.add("ann", "One.", "Two.")
    ann = pearl.user("ann").id
    assert cache.get(ann, None) is cache.get(ann, None)
    assert retriever.built == [2]
    assert cache.get(ann, None).rank(Request("two"))[0].document.text == "Two."


def test_an_empty_history_ranks_nothing(pearl: Any, cache: HistoryCache) -> None:
    assert cache.get(pearl.user("ann").id, None).rank(Request("a")) == []


def test_a_voice_has_its_own(pearl: Any, cache: HistoryCache) -> None:
    pearl.add("ann", Document("a", "Mail.", 1.0, voice="email"), Document("b", "Post.", 2.0))
    ann = pearl.user("ann").id
    assert texts(cache, ann, "email") == ["Mail."]
    assert texts(cache, ann) == ["Mail.", "Post."]


def test_changes_count_at_once_whoever_makes_them(pearl: Any, cache: HistoryCache) -> None:
    pearl.add("ann", "One.")
    ann = pearl.user("ann").id
    assert texts(cache, ann) == ["One."]
    pearl.add("ann", Document("d2", "Two.", 2000.0))
    assert texts(cache, ann) == ["One.", "Two."]
    with pearl.database.write() as connection:
        documents.remove(connection, ann, "d1")
    assert texts(cache, ann) == ["Two."]


def test_a_deleted_user_is_not_found(pearl: Any, cache: HistoryCache) -> None:
    pearl.add("ann", "One.")
    ann = pearl.user("ann").id
    cache.get(ann, None)
    with pearl.database.write() as connection:
        users.remove(connection, ann)
    with pytest.raises(NotFound):
        cache.get(ann, None)


def test_the_least_recently_used_make_room(pearl: Any, cache: HistoryCache, retriever: CountingRetriever) -> None:
    for name, count in (("ann", 2), ("ben", 3), ("cem", 2)):
        pearl.add(name, *(f"{name} {number}" for number in range(count)))
    ann, ben, cem = (pearl.user(name).id for name in ("ann", "ben", "cem"))
    for user in (ann, ben, ann, cem):  # ben's is the oldest when cem's comes
        cache.get(user, None)
    assert retriever.built == [2, 3, 2]
    cache.get(ann, None)
    cache.get(cem, None)
    assert retriever.built == [2, 3, 2]
    cache.get(ben, None)
    assert retriever.built == [2, 3, 2, 3]


def test_any_number_of_users_takes_no_more_memory(pearl: Any, retriever: CountingRetriever) -> None:
    built: list[None] = []
    most = 7 * (BYTES_OF_DOCUMENT + 100)
    cache = HistoryCache(pearl.database, lambda *_: retriever, max_bytes=most, built=lambda: built.append(None))
    for number in range(30):
        pearl.add(f"user{number}", "One.", "Two.")
        for _ in range(2):
            cache.get(pearl.user(f"user{number}").id, None)
        assert sum(history.size for history in cache._kept.values()) <= most
    assert len(cache._kept) == len(cache._building) == 2
    assert len(built) == 30


def test_a_history_larger_than_the_cache_still_works(
    pearl: Any, cache: HistoryCache, retriever: CountingRetriever
) -> None:
    pearl.add("ann", *(f"Text {number}." for number in range(9)))
    ann = pearl.user("ann").id
    assert len(texts(cache, ann)) == len(texts(cache, ann)) == 9
    assert retriever.built == [9]


def test_of_many_at_once_one_prepares_it(pearl: Any, cache: HistoryCache, retriever: CountingRetriever) -> None:
    pearl.add("ann", "One.")
    ann = pearl.user("ann").id
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: cache.get(ann, None), range(40)))
    assert retriever.built == [1]
    assert len({id(history) for history in found}) == 1


def test_readers_and_writers_at_once(pearl: Any, cache: HistoryCache) -> None:
    ann = pearl.user("ann")

    def write(number: int) -> None:
        with pearl.database.write() as connection:
            documents.add(connection, [Addition(ann.id, Document(f"d{number}", f"Text {number}.", float(number)))])
            before.append(number)

    def read(_: int) -> None:
        known = len(before)
        assert len(texts(cache, ann.id)) >= known - 8  # those committed before it began, give or take the writers

    before: list[int] = []
    with ThreadPoolExecutor(8) as pool:
        results = [pool.submit(write if number % 2 else read, number) for number in range(60)]
    for result in results:
        result.result()
    assert len(texts(cache, ann.id)) == 30


def test_forgotten_while_it_is_prepared_it_is_not_kept(
    pearl: Any, cache: HistoryCache, retriever: CountingRetriever
) -> None:
    """A deletion during the preparation: what was read before it must not stay in memory."""
    pearl.add("ann", "A secret.")
    ann = pearl.user("ann").id
    at_work, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        at_work.set()
        assert go_on.wait(60)

    retriever.before = wait
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(cache.get, ann, None)
        assert at_work.wait(60)
        with pearl.database.write() as connection:
            documents.remove(connection, ann, "d1")
        cache.forget_deleted(ann)
        go_on.set()
        assert [document.text for document in reading.result().documents] == ["A secret."]
    assert cache._kept == {}
    assert texts(cache, ann) == []


def remove(pearl: Any, user_id: int, *ids: str) -> None:
    for name in ids:
        with pearl.database.write() as connection:
            documents.remove(connection, user_id, name)


def test_a_newer_one_is_made_from_the_one_that_is_kept(
    pearl: Any, cache: HistoryCache, retriever: CountingRetriever
) -> None:
    pearl.add("ann", "One.")
    ann = pearl.user("ann").id
    first = cache.get(ann, None)
    pearl.add("ann", Document("d2", "Two.", 2000.0))
    second = cache.get(ann, None)
    remove(pearl, ann, "d1")
    cache.get(ann, None)
    assert retriever.updated == [first.index, second.index]


def test_of_what_is_deleted_nothing_stays_and_the_rest_does(
    pearl: Any, cache: HistoryCache, retriever: CountingRetriever
) -> None:
    pearl.add(
        "ann", Document("a", "Mail.", 1.0, voice="email"), Document("b", "Post.", 2.0), Document("c", "Note.", 3.0)
    )
    ann = pearl.user("ann").id
    for voice in (None, "email"):
        cache.get(ann, voice)

    remove(pearl, ann, "a")
    cache.forget_deleted(ann)

    assert {key: [each.id for each in kept.documents] for key, kept in cache._kept.items()} == {(ann, None): ["b", "c"]}
    assert texts(cache, ann) == ["Post.", "Note."]
    assert texts(cache, ann, "email") == []


def test_a_document_that_came_meanwhile_is_not_forgotten(
    pearl: Any, cache: HistoryCache, retriever: CountingRetriever
) -> None:
    pearl.add("ann", "One.", "Two.")
    ann = pearl.user("ann").id
    cache.get(ann, None)
    remove(pearl, ann, "d1")

    def add() -> None:  # while the deleted one is being forgotten
        retriever.before = lambda: None
        pearl.add("ann", Document("d3", "Three.", 3000.0))
        assert texts(cache, ann) == ["Two.", "Three."]

    retriever.before = add
    cache.forget_deleted(ann)
    assert texts(cache, ann) == ["Two.", "Three."]


def test_when_the_store_does_not_answer_nothing_stays(pearl: Any, cache: HistoryCache) -> None:
    pearl.add("ann", "One.")
    ann = pearl.user("ann").id
    cache.get(ann, None)
    with pearl.database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE documents RENAME TO away")
    with pytest.raises(StoreError):
        cache.forget_deleted(ann)
    assert cache._kept == {}


def test_what_another_process_deleted_does_not_stay_in_memory(
    pearl: Any, cache: HistoryCache, retriever: CountingRetriever
) -> None:
    pearl.add("ann", "One.")
    pearl.add("ben", "Two.")
    pearl.add("cem", "Three.", "Four.")
    ann, ben, cem = (pearl.user(name).id for name in ("ann", "ben", "cem"))
    for user in (ann, ben, cem):
        cache.get(user, None)
    kept = cache.get(ben, None)
    with pearl.database.write() as connection:
        users.remove(connection, ann)
    remove(pearl, cem, "d1")
    pearl.add("cem", Document("d3", "Five.", 3000.0))

    cache.sweep()

    assert list(cache._kept) == [(cem, None), (ben, None)]  # as recently used as before
    assert [document.text for document in cache._kept[cem, None].documents] == ["Four."]
    assert cache.get(ben, None) is kept
    swept = cache._kept[cem, None]
    cache.sweep()
    assert cache._kept[cem, None] is swept  # nothing changed since it was looked at
    assert texts(cache, cem) == ["Four.", "Five."]


def test_what_only_grew_stays(pearl: Any, cache: HistoryCache) -> None:
    pearl.add("ann", "One.")
    ann = pearl.user("ann").id
    first = cache.get(ann, None)
    pearl.add("ann", Document("d2", "Two.", 2000.0))
    cache.sweep()
    assert cache._kept[ann, None].index is first.index
    assert texts(cache, ann) == ["One.", "Two."]


def test_of_empty_histories_only_so_many_are_kept(pearl: Any, cache: HistoryCache) -> None:
    for number in range(9):
        cache.get(pearl.user(f"user{number}").id, None)
    assert len(cache._kept) == 7


def test_a_long_text_takes_the_room_of_many(pearl: Any, cache: HistoryCache, retriever: CountingRetriever) -> None:
    pearl.add("ann", "One.")
    pearl.add("ben", "long " * 400)
    ann, ben = (pearl.user(name).id for name in ("ann", "ben"))
    for user in (ann, ben, ann):
        cache.get(user, None)
    assert retriever.built == [1, 1, 1]


class Writer:
    """Adds documents and removes some, and notes what is committed."""

    def __init__(self, name: str, database: Database, user_id: int, forget: Callable[[int], None]) -> None:
        self.name, self.database, self.user_id, self.forget = name, database, user_id, forget
        self.added: set[str] = set()
        self.removing: set[str] = set()
        self.removed: set[str] = set()

    def work(self, rounds: int) -> None:
        draw = random.Random(self.name)
        for number in range(rounds):
            there = sorted(self.added - self.removing)
            if there and draw.random() < 0.4:
                chosen = draw.choice(there)
                self.removing.add(chosen)
                with self.database.write() as connection:
                    documents.remove(connection, self.user_id, chosen)
                self.removed.add(chosen)
                if draw.random() < 0.5:  # else it was another process
                    self.forget(self.user_id)
            else:
                made = Document(
                    f"{self.name}{number}",
                    f"text {number} of {self.name}, {draw.choice(['one', 'two'])}",
                    draw.random() * 1e6,
                    draw.choice([None, f"wheel: number {number}"]),
                )
                with self.database.write() as connection:
                    documents.add(connection, [Addition(self.user_id, made)])
                self.added.add(made.id)


@pytest.mark.slow
def test_what_is_committed_counts_at_once_whoever_else_writes(
    database: Database, word_encoder: Any, make_artifact: Any
) -> None:
    """On both databases: rankings during writes have no deleted document and lack none that is there."""
    folder = make_artifact({"cosine_text": 1.0, "similar_copies": 1.0, "bm25_request": 1.0})

    def retriever_of(user_id: int, clock: Clock) -> Retriever:
        return artifact_retriever(folder, StoredEncoder(database, word_encoder(), user_id, Precedence()))

    cache = HistoryCache(database, retriever_of, max_bytes=10**9)
    with database.write() as connection:
        ann = users.ensure(connection, {"ann"})["ann"].id
    writers = [Writer(name, database, ann, cache.forget_deleted) for name in "abc"]
    done = threading.Event()

    def rank() -> int:
        times = 0
        while not done.is_set() or times == 0:
            there = [each.added - each.removing for each in writers]
            removed = set().union(*(each.removed for each in writers))
            found = {each.document.id for each in cache.get(ann, None).rank(Request("wheel: number one", 1e6))}
            removing = set().union(*(each.removing for each in writers))
            assert not removed & found
            assert set().union(*there) - removing <= found
            times += 1
        return times

    def sweep() -> None:
        while not done.wait(0.01):
            cache.sweep()

    with ThreadPoolExecutor(7) as pool:
        ranking = [pool.submit(rank) for _ in range(3)]
        sweeping = pool.submit(sweep)
        try:
            for written in [pool.submit(each.work, 25) for each in writers]:
                written.result()
        finally:
            done.set()
        assert min(result.result() for result in ranking) > 0
        sweeping.result()

    history = cache.get(ann, None)
    with database.read() as connection:
        stored = documents.all_of_user(connection, ann)
    assert list(history.documents) == stored
    assert {each.id for each in stored} == set().union(*(each.added - each.removed for each in writers))
    asked = Request("wheel: number 7", 1e6)
    fresh = retriever_of(ann, Clock()).index(stored)
    assert np.array_equal(history.index.scores(asked), fresh.scores(asked))
