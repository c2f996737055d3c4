from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pearl.errors import NotFound
from pearl.records import Document, Request
from retriever.base import Index
from retriever.lexical import BM25Retriever
from service.history_cache import HistoryCache
from service.store import documents, users
from service.store.documents import Addition


class CountingRetriever(BM25Retriever):
    """Notes every history it prepares, and may be made to wait before."""

    def __init__(self) -> None:
        self.built: list[int] = []
        self.before: Callable[[], None] = lambda: None

    def index(self, documents: Sequence[Document]) -> Index:
        self.before()
        self.built.append(len(documents))
        return super().index(documents)


@pytest.fixture
def retriever() -> CountingRetriever:
    return CountingRetriever()


@pytest.fixture
def cache(pearl: Any, retriever: CountingRetriever) -> HistoryCache:
    return HistoryCache(pearl.database, lambda user_id: retriever, max_documents=5)


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
        assert go_on.wait(5)

    retriever.before = wait
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(cache.get, ann, None)
        assert at_work.wait(5)
        with pearl.database.write() as connection:
            documents.remove(connection, ann, "d1")
        cache.forget(ann)
        go_on.set()
        assert [document.text for document in reading.result().documents] == ["A secret."]
    assert cache._kept == {}
    assert texts(cache, ann) == []


def test_what_another_process_changed_or_deleted_does_not_stay_in_memory(
    pearl: Any, cache: HistoryCache, retriever: CountingRetriever
) -> None:
    pearl.add("ann", "One.")
    pearl.add("ben", "Two.")
    ann, ben = pearl.user("ann").id, pearl.user("ben").id
    kept = cache.get(ben, None)
    cache.get(ann, None)
    with pearl.database.write() as connection:
        users.remove(connection, ann)

    cache.drop_stale()

    assert list(cache._kept) == [(ben, None)]
    assert cache.get(ben, None) is kept
