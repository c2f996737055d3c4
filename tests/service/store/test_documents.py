from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest

from pearl.errors import NotFound, TooLarge
from pearl.records import Document
from service.store import documents, drafts, embeddings, feedback, user_counts, users, voices
from service.store.documents import Addition, AddOutcome
from service.store.paging import PageQuery
from service.store.samples import Sample, newest_samples
from service.store.tables import documents as documents_table

CREATED, EXISTS, CONFLICT = AddOutcome.CREATED, AddOutcome.EXISTS, AddOutcome.CONFLICT


def document(id: str, text: str = "a text", timestamp: float | None = 1000.0, **fields) -> Document:
    return Document(id, text, timestamp, **fields)


def test_what_was_added_comes_back_as_it_was(ann):
    given = document("m-1", "  Zwei Zeilen,\r\n\U0001f600 שלום  ", 1_700_000_000.123456, request="q?", voice="email")
    given = replace(given, recipient="nan@example.org", thread="rails")
    assert ann.add(given) == [CREATED]
    with ann.database.read() as connection:
        assert documents.get(connection, ann.id, "m-1") == given


def test_the_same_again_changes_nothing(ann):
    ann.add(document("a", request="q", voice="v"))
    version = ann.version
    assert ann.add(document("a", request="q", voice="v")) == [EXISTS]
    assert ann.version == version


def test_an_empty_request_is_none(ann):
    ann.add(document("a"))
    assert ann.add(document("a", request="")) == [EXISTS]


def test_the_time_is_not_content(ann):
    """A document sent twice without a time would be dated twice."""
    ann.add(document("a", timestamp=1000.0))
    assert ann.add(document("a", timestamp=None)) == [EXISTS]
    with ann.database.read() as connection:
        assert documents.get(connection, ann.id, "a").timestamp == 1000.0


def test_an_update_takes_over_recipient_and_thread_and_loses_neither(ann):
    def put(text: str = "a text", **fields: str) -> AddOutcome:
        with ann.database.write() as connection:
            return documents.add(connection, [Addition(ann.id, document("a", text, **fields), replaces=True)])[0]

    ann.add(document("a"))
    assert ann.add(document("a", recipient="nan")) == [EXISTS]
    assert [put(recipient="nan"), put(recipient="nan"), put(thread="rails"), put("new")] == [
        AddOutcome.REPLACED,
        EXISTS,
        AddOutcome.REPLACED,
        AddOutcome.REPLACED,
    ]
    with ann.database.read() as connection:
        assert documents.get(connection, ann.id, "a") == document("a", "new", recipient="nan", thread="rails")


@pytest.mark.parametrize("other", [{"text": "another"}, {"request": "asked"}, {"voice": "blog"}])
def test_the_same_id_with_other_content_is_a_conflict_and_the_first_stays(ann, other):
    ann.add(document("a"))
    assert ann.add(document("a", **other)) == [CONFLICT]
    with ann.database.read() as connection:
        assert documents.get(connection, ann.id, "a") == document("a")


def test_duplicates_within_one_call(ann):
    given = [document("a"), document("b"), document("a"), document("a", "another"), document("c")]
    assert ann.add(*given) == [CREATED, CREATED, EXISTS, CONFLICT, CREATED]
    assert ann.ids == ["a", "b", "c"]


def test_nothing_to_add(ann):
    assert ann.add() == []
    assert ann.version == 0


def test_ids_belong_to_their_user(ann, bob):
    assert ann.add(document("a")) == [CREATED]
    assert bob.add(document("a", "something else")) == [CREATED]
    with bob.database.read() as connection:
        assert documents.get(connection, bob.id, "a").text == "something else"
        assert documents.get(connection, ann.id, "a").text == "a text"


def test_without_a_time_it_is_dated_now(ann):
    before = time.time()
    ann.add(document("a", timestamp=None))
    with ann.database.read() as connection:
        assert before <= (documents.get(connection, ann.id, "a").timestamp or 0) <= time.time()


def test_many_users_in_one_call(database):
    names = {f"user{number}" for number in range(50)}
    with database.write() as connection:
        made = users.ensure(connection, names)
        given = [
            Addition(user.id, document(str(number), f"{name} {number}"))
            for number in range(4)
            for name, user in made.items()
        ]
        assert documents.add(connection, given) == [CREATED] * 200
        assert documents.add(connection, given) == [EXISTS] * 200
    with database.read() as connection:
        for name, user in made.items():
            assert user_counts.count_documents(connection, user.id) == 4
            assert users.history_version(connection, user.id) == 1
            assert documents.get(connection, user.id, "3").text == f"{name} 3"


def test_only_users_with_something_new_count_as_changed(ann, bob):
    bob.add(document("b"))
    with ann.database.write() as connection:
        given = [Addition(ann.id, document("a")), Addition(bob.id, document("b", "another", voice="new"))]
        assert documents.add(connection, given) == [CREATED, CONFLICT]
        assert voices.list_all(connection, bob.id) == []
    assert (ann.version, bob.version) == (1, 1)


# 40,000: more than either database allows variables
@pytest.mark.parametrize("size", [5_000, pytest.param(40_000, marks=pytest.mark.slow)])
def test_very_many_at_once(ann, size):
    given = [document(str(number), "short", float(number)) for number in range(size)]
    assert ann.add(*given) == [CREATED] * size
    assert ann.add(*given) == [EXISTS] * size
    assert ann.version == 1


def test_a_user_who_is_gone(ann):
    with ann.database.write() as connection:
        users.remove(connection, ann.id)
    with pytest.raises(NotFound, match="deleted"):
        ann.add(document("a"))


def test_the_same_documents_from_several_threads_are_there_once(ann, at_once):
    given = [document(str(number), f"text {number}") for number in range(50)]
    results = at_once([lambda: ann.add(*given)] * 6)
    assert sorted(results, key=str) == sorted([[CREATED] * 50, *[[EXISTS] * 50] * 5], key=str)
    assert len(ann.ids) == 50


@pytest.mark.slow
def test_threads_that_add_for_the_same_users_in_different_orders(database, person, at_once):
    owners = [person(name).id for name in ("ann", "bob", "cy", "dee")]

    def add(thread: int) -> list[AddOutcome]:
        order = owners if thread % 2 else owners[::-1]
        outcomes = []
        for number in range(5):
            with database.write() as connection:
                given = [Addition(owner, document(f"{thread}.{number}", voice=f"v{thread}")) for owner in order]
                outcomes += documents.add(connection, given)
        return outcomes

    assert at_once([lambda thread=thread: add(thread) for thread in range(6)]) == [[CREATED] * 20] * 6
    with database.read() as connection:
        assert [user_counts.count_documents(connection, owner) for owner in owners] == [30] * 4


def test_a_voice_that_a_document_names_is_made(ann):
    ann.add(document("a", voice="email"), document("b", voice="blog"), document("c"), document("d", voice="blog"))
    with ann.database.read() as connection:
        found = [(voice.name, voice.documents) for voice in voices.list_counted(connection, ann.id)]
        assert found == [("blog", 2), ("email", 1)]
        assert [found.id for found in documents.all_of_user(connection, ann.id, "blog")] == ["b", "d"]


def test_a_history_is_in_order_of_time_then_of_arrival(ann):
    ann.add(document("new", timestamp=30.5), document("old", timestamp=-5.0), document("x", timestamp=7.0))
    ann.add(document("y", timestamp=7.0), document("w", timestamp=7.0))
    assert ann.ids == ["old", "x", "y", "w", "new"]


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 3, 6, 100])
def test_pages_give_every_document_once(ann, limit, newest_first):
    times = [5.0, 1.0, 5.0, 5.0, 2.25, 1e9]
    ann.add(*(document(f"m{number}", timestamp=when) for number, when in enumerate(times)))
    found, more = [], True
    while more:
        after = found[-1] if found else None
        with ann.database.read() as connection:
            page = documents.page(connection, ann.id, PageQuery(limit, after, newest_first))
        assert len(page.documents) <= limit
        found += [document.id for document in page.documents]
        more = page.has_more
    expected = ["m1", "m4", "m0", "m2", "m3", "m5"]
    assert found == (expected[::-1] if newest_first else expected)


def test_a_stream_gives_the_whole_history(ann, bob):
    ann.add(*(document(str(number), timestamp=number // 3) for number in range(20)))
    bob.add(document("other"))
    with ann.database.read() as connection:
        found = list(documents.stream(connection, ann.id, batch=3))
        assert found == documents.all_of_user(connection, ann.id)
        assert len(found) == user_counts.count_documents(connection, ann.id) == 20


def embed(person, *texts: str, encoder: str = "words") -> None:
    with person.database.write() as connection:
        vectors = {embeddings.text_key(text): np.ones(3, np.float32) for text in texts}
        embeddings.add(connection, person.id, encoder, vectors)


def test_a_removed_document_takes_its_embeddings_along(ann, bob, rows):
    ann.add(document("a", "mine"), document("b", "yours"))
    bob.add(document("a", "mine"))
    for person in (ann, bob):
        embed(person, "mine", "yours")
    embed(ann, "mine", encoder="other")
    version = ann.version
    ann.remove("a")
    assert ann.ids == ["b"]
    assert ann.version > version
    keys = [embeddings.text_key(text) for text in ("mine", "yours")]
    with ann.database.read() as connection:
        assert list(embeddings.of_user(connection, ann.id, "words", keys)) == keys[1:]
        assert embeddings.of_user(connection, ann.id, "other", keys) == {}
        assert list(embeddings.of_user(connection, bob.id, "words", keys)) == keys[:1]
    assert len(rows("embeddings")) == 2


def test_an_embedding_stays_as_long_as_a_document_has_its_text(ann, rows):
    ann.add(document("a", "twice"), document("b", "twice", request="asked"))
    embed(ann, "twice")
    ann.remove("a")
    assert len(rows("embeddings")) == 1
    ann.remove("b")
    assert rows("embeddings") == []


def test_an_embedding_that_comes_while_its_document_goes(ann, rows, at_once):
    for attempt in range(10):
        text = f"text {attempt}"
        ann.add(document(str(attempt), text))
        assert at_once([lambda n=attempt: ann.remove(str(n)), lambda text=text: embed(ann, text)]) == [None, None]
    assert rows("embeddings") == []


def test_another_voice_by_hand(ann):
    ann.add(Document("a", "Tea.", 1.0, None, "blog"))
    version = ann.version
    with ann.database.write() as connection:
        assert documents.change_voice(connection, ann.id, "a", "diary").voice == "diary"
    assert ann.version > version
    with ann.database.read() as connection:
        assert documents.get(connection, ann.id, "a").voice == "diary"
        assert [voice.name for voice in voices.list_all(connection, ann.id)] == ["blog", "diary"]
    assert ann.add(Document("a", "Tea.", 1.0, None, "diary")) == [AddOutcome.EXISTS]
    version = ann.version
    with ann.database.write() as connection:
        documents.change_voice(connection, ann.id, "a", "diary")
        with pytest.raises(NotFound):
            documents.change_voice(connection, ann.id, "z", None)
    assert ann.version == version


def test_removing_several_take_their_drafts_along(ann, draft) -> None:
    with ann.database.write() as connection:
        drafts.add(connection, ann.id, draft("x"), request="write", instructions="", voice=None, model="m")
        feedback.add(connection, ann.id, "draft_x", "accepted", None)
    ann.add("Other.")
    with ann.database.write() as connection:
        assert documents.remove_all(connection, ann.id, documents_table.c.document_id == "draft_x") == 1
    with ann.database.read() as connection:
        assert list(drafts.lines_of_user(connection, ann.id)) == []
    assert ann.ids == ["d1"]


def test_the_newest_samples_are_the_end_of_all_samples(ann, draft):
    made = draft("sent")
    with ann.database.write() as connection:
        drafts.add(connection, ann.id, made, request="Answer Bo.", instructions="", voice="email", model="m")
        feedback.add(connection, ann.id, made.id, "accepted", None)  # a text that is the machine's
    now = time.time()
    copy = Document("copy", made.text, now + 100, voice="email")
    texts = [document(f"d{number}", timestamp=now + number // 2, voice="email") for number in range(250)]
    ann.add(*texts, copy, document("blog", timestamp=now + 200, voice="blog"))
    with ann.database.read() as connection:
        for voice in (None, "email"):
            samples = newest_samples(connection, ann.id, voice, Sample())
            assert len(samples) == (251 if voice is None else 250)
            for most in (1, 3, 250, 500):
                assert newest_samples(connection, ann.id, voice, Sample(most)) == samples[-most:]


def test_a_sample_ends_where_its_characters_do_and_has_one_text_at_least(ann):
    ann.add(*(document(f"d{number}", "x" * 10 * number, timestamp=float(number)) for number in range(1, 6)))

    def lengths(sample: Sample) -> list[int]:
        with ann.database.read() as connection:
            return [len(read.text) for read in newest_samples(connection, ann.id, None, sample)]

    assert lengths(Sample()) == [10, 20, 30, 40, 50]
    assert lengths(Sample(characters=95)) == [40, 50]
    assert lengths(Sample(characters=95, longest=25)) == [20, 25, 25, 25]
    assert lengths(Sample(characters=5)) == [50]
    assert lengths(Sample(2, longest=25)) == [25, 25]


def test_a_page_ends_where_it_is_long(ann, monkeypatch):
    monkeypatch.setattr("service.store.paging.PAGE", 1_000)
    ann.add(*(document(f"d{number}", f"word {number} " * 50, timestamp=float(number)) for number in range(1, 8)))
    with ann.database.read() as connection:
        for words in (None, "word"):
            found, after = [], None
            while True:
                page = documents.page(connection, ann.id, PageQuery(100, after, words=words))
                assert len(page.documents) <= 3
                found += page.documents
                if not page.has_more:
                    break
                after = found[-1].id
            assert [each.id for each in found] == ann.ids
        assert len(list(documents.stream(connection, ann.id))) == 7


def test_a_history_has_a_most_of_bytes(ann, bob, monkeypatch):
    bob.add(document("z", "ü" * 80))
    monkeypatch.setattr("service.store.documents.USER_BYTES", 100)
    ann.add(document("a", "ü" * 20, request="é" * 20))
    with pytest.raises(TooLarge, match="would have 104 bytes; the limit for a user is 100") as caught:
        ann.add(document("b", "c" * 24))
    assert caught.value.code == "history_full"
    assert ann.ids == ["a"]
