from __future__ import annotations

import pytest

from service.store import jobs
from service.store.jobs import LEASE_S, MAX_ATTEMPTS, Job


@pytest.fixture
def do(database):
    """Call a function of the module in a transaction of its own."""

    def call(function, *args, **options):
        with database.write() as connection:
            return function(connection, *args, **options)

    return call


@pytest.fixture
def claim(do):
    def claim_one(now: float | None = None) -> Job | None:
        return do(jobs.claim, jobs.EMBED, now)

    return claim_one


def states(rows) -> list[tuple[str, int]]:
    return [(row.state, row.attempts) for row in rows("jobs")]


def test_an_import_queues_one_job_per_user(ann, bob, rows):
    ann.add("one", "two")
    ann.add("one", "two", "three")
    bob.add("four")
    assert states(rows) == [("queued", 0)] * 2


def test_taken_and_finished(ann, do, claim, rows):
    assert claim() is None
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    job = claim()
    assert (job.user_id, job.kind) == (ann.id, jobs.EMBED)
    assert states(rows) == [("running", 1)]
    assert claim() is None
    do(jobs.finish, job)
    assert rows("jobs") == []


def test_the_oldest_comes_first(ann, bob, do, claim):
    do(jobs.enqueue, jobs.EMBED, {bob.id})
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    assert [claim().user_id, claim().user_id] == [bob.id, ann.id]


def test_only_the_kind_that_is_asked_for(ann, do):
    do(jobs.enqueue, "other", {ann.id})
    assert do(jobs.claim, jobs.EMBED) is None
    assert do(jobs.claim, "other").user_id == ann.id


def test_of_several_who_claim_at_once_one_wins(ann, do, claim, at_once):
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    won = [job for job in at_once([claim] * 6) if job is not None]
    assert [job.user_id for job in won] == [ann.id]


def test_several_jobs_go_to_several_workers(person, do, claim, at_once):
    owners = {person(f"user{number}").id for number in range(5)}
    do(jobs.enqueue, jobs.EMBED, owners)
    found = []
    while len(found) < 5:  # one that was being taken is passed over, so a worker may go away empty-handed
        found += [job for job in at_once([claim] * 4) if job is not None]
    assert {job.user_id for job in found} == owners
    assert len(found) == 5


def test_a_job_whose_process_died_is_taken_over(ann, do, claim):
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    first = claim(now=1000.0)
    assert claim(now=1000.0 + LEASE_S) is None
    second = claim(now=1000.0 + LEASE_S + 1)
    assert (second.id, second.claimed_at) == (first.id, 1000.0 + LEASE_S + 1)
    do(jobs.finish, first)  # it was not dead after all: too late
    assert do(jobs.renew, first, now=1400.0) is None
    assert do(jobs.renew, second, now=1400.0) is not None


def test_a_job_that_is_renewed_is_not_taken_over(ann, do, claim):
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    job = do(jobs.renew, claim(now=1000.0), now=1000.0 + LEASE_S)
    assert claim(now=1000.0 + LEASE_S + 1) is None
    assert job.claimed_at == 1000.0 + LEASE_S


def test_queued_again_while_it_runs_it_runs_again(ann, do, claim, rows):
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    job = claim()
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    do(jobs.finish, job)
    assert states(rows) == [("queued", 0)]
    assert do(jobs.renew, job) is None
    assert claim().user_id == ann.id


def test_released_it_waits_for_the_next_and_no_attempt_is_lost(ann, do, claim, rows):
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    do(jobs.release, claim())
    assert states(rows) == [("queued", 0)]
    assert claim() is not None


def test_after_the_last_attempt_it_stays_failed(ann, do, claim, rows):
    do(jobs.enqueue, jobs.EMBED, {ann.id})
    for attempt in range(1, MAX_ATTEMPTS + 1):
        do(jobs.fail, claim(), f"error {attempt}")
        assert states(rows) == [("queued" if attempt < MAX_ATTEMPTS else "failed", attempt)]
    assert claim() is None
    assert rows("jobs")[0].error == f"error {MAX_ATTEMPTS}"
    ann.add("something new")  # which may be what was missing
    assert claim() is not None


def test_nobody_to_queue_for(do, rows):
    do(jobs.enqueue, jobs.EMBED, set())
    assert rows("jobs") == []
