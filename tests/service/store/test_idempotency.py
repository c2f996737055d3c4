from __future__ import annotations

import time

import pytest

from pearl.errors import Conflict, InputError
from service.store import idempotency
from service.store.idempotency import Answer


def begin(person, key: str = "k", fingerprint: str = "f", lifetime_s: float = 60, abandoned_s: float = 60):
    with person.database.write() as connection:
        return idempotency.begin(
            connection, person.id, key, fingerprint, lifetime_s=lifetime_s, abandoned_s=abandoned_s
        )


def finish(person, key: str = "k", body: str = "{}") -> None:
    with person.database.write() as connection:
        idempotency.finish(connection, person.id, key, Answer(201, body))


def test_the_second_call_gets_the_first_ones_answer(ann):
    assert begin(ann) is None
    finish(ann, body='{"id": 1}')
    assert begin(ann) == begin(ann) == Answer(201, '{"id": 1}')


def test_a_key_belongs_to_its_user(ann, bob):
    begin(ann)
    assert begin(bob) is None
    assert begin(ann, "other") is None


def test_while_the_first_is_under_way_the_second_comes_back_later(ann):
    begin(ann)
    with pytest.raises(Conflict) as caught:
        begin(ann)
    assert (caught.value.code, caught.value.retry_after) == ("idempotency_in_progress", 1.0)


@pytest.mark.parametrize("finished", [False, True])
def test_another_call_under_the_same_key(ann, finished):
    begin(ann)
    if finished:
        finish(ann)
    with pytest.raises(InputError) as caught:
        begin(ann, fingerprint="g")
    assert caught.value.code == "idempotency_key_reused"


def test_a_failed_call_frees_its_key(ann):
    begin(ann)
    with ann.database.write() as connection:
        idempotency.abandon(connection, ann.id, "k")
    assert begin(ann, fingerprint="g") is None


def test_an_answer_is_forgotten_after_its_time(ann, rows):
    begin(ann)
    finish(ann)
    time.sleep(0.02)
    assert begin(ann, "other", lifetime_s=0.01) is None
    assert [row.key for row in rows("idempotency")] == ["other"]


def test_a_call_whose_process_died_frees_its_key(ann):
    begin(ann)
    time.sleep(0.02)
    assert begin(ann, abandoned_s=0.01) is None
    finish(ann)
    time.sleep(0.02)
    assert begin(ann, abandoned_s=0.01) == Answer(201, "{}")


def test_of_several_at_once_one_goes_ahead(ann, at_once):
    results = at_once([lambda: begin(ann)] * 6)
    assert results.count(None) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 5
