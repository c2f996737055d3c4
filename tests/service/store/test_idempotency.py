from __future__ import annotations

import time

import pytest
from sqlalchemy import update

from pearl.errors import Conflict, NotFound
from service.store import idempotency, users
from service.store.idempotency import Call, StoredResponse
from service.store.tables import idempotency as table


def call(person, key: str = "k", fingerprint: str = "f", lifetime_s: float = 60, abandoned_s: float = 60) -> Call:
    return Call(person.id, key, fingerprint, lifetime_s, abandoned_s)


def begin(person, *words: str, **seconds: float):
    with person.database.write() as connection:
        return idempotency.begin(connection, call(person, *words, **seconds))


def finish(person, *words: str, body: str = "{}") -> None:
    with person.database.write() as connection:
        idempotency.finish(connection, call(person, *words), StoredResponse(201, body))


def test_a_call_whose_process_died_frees_its_key(ann):
    begin(ann)
    time.sleep(0.02)
    assert begin(ann, abandoned_s=0.01) is None
    finish(ann)
    time.sleep(0.02)
    assert begin(ann, abandoned_s=0.01) == StoredResponse(201, "{}")


def redate(person) -> None:
    with person.database.write() as connection:
        idempotency.redate(connection, call(person))


def test_a_claim_from_before_the_clock_was_set_back_comes_free_in_time(ann, rows):
    begin(ann)
    with ann.database.write() as connection:
        connection.execute(update(table).values(created_at=time.time() + 86_400))
    redate(ann)
    with pytest.raises(Conflict):  # who has it may still be at work
        begin(ann)
    assert rows("idempotency")[0].created_at < time.time() + 1
    time.sleep(0.02)
    assert begin(ann, abandoned_s=0.01) is None


def test_an_answer_from_before_the_clock_was_set_back_is_still_given(ann):
    begin(ann)
    finish(ann, body="first")
    with ann.database.write() as connection:
        connection.execute(update(table).values(created_at=time.time() + 86_400))
    redate(ann)
    assert begin(ann) == StoredResponse(201, "first")


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_clock_that_is_set_meanwhile_changes_nothing(ann, monkeypatch, jump):
    begin(ann)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + jump)
    redate(ann)
    with pytest.raises(Conflict):
        begin(ann)
    finish(ann, body="first")
    assert begin(ann) == StoredResponse(201, "first")


def test_of_several_at_once_one_goes_ahead(ann, at_once):
    results = at_once([lambda: begin(ann)] * 6)
    assert results.count(None) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 5


def test_one_that_is_renewed_is_not_taken_for_dead(ann):
    begin(ann)
    with ann.database.write() as connection:
        connection.execute(update(table).values(created_at=time.time() - 100))
        idempotency.renew(connection, call(ann))
    with pytest.raises(Conflict):
        begin(ann)


def test_of_two_that_think_the_key_is_theirs_one_finishes(ann):
    begin(ann)
    with ann.database.write() as connection:
        connection.execute(update(table).values(created_at=time.time() - 100))
    begin(ann)
    finish(ann, body="first")
    with pytest.raises(Conflict):
        finish(ann, body="second")
    assert begin(ann) == StoredResponse(201, "first")


def test_a_stored_answer_is_not_abandoned(ann):
    begin(ann)
    finish(ann)
    with ann.database.write() as connection:
        idempotency.abandon(connection, call(ann))
    assert begin(ann) == StoredResponse(201, "{}")


def test_a_call_in_one_transaction_is_waited_for(ann, at_once):
    def work(text: str):
        with ann.database.write() as connection:
            before = idempotency.begin(connection, call(ann))
            if before is None:
                idempotency.finish(connection, call(ann), StoredResponse(201, text))
            return before

    results = at_once([lambda text=text: work(text) for text in "abcdef"])
    assert results.count(None) == 1
    assert set(results) - {None} == {begin(ann)}


def test_a_user_who_is_gone(ann):
    with ann.database.write() as connection:
        users.remove(connection, ann.id)
    with pytest.raises(NotFound, match="deleted"):
        begin(ann)
