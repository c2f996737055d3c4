"""Users, keys, grants."""

from __future__ import annotations

import re
import time

import pytest

from pearl.errors import AccessError, InputError, NotFound, Unauthenticated
from pearl.records import Document
from service.store import drafts, feedback, idempotency, keys, users
from service.store.database import Database


@pytest.fixture
def make_key(database: Database):
    def make(*names: str, service: bool = False, all_users: bool = False) -> str:
        with database.write() as connection:
            if service:
                return keys.create_for_service(connection, names, all_users=all_users)
            return keys.create_for_user(connection, *names)

    return make


@pytest.fixture
def identify(database: Database):
    def who(key: str, acting_for: str | None = None) -> str:
        with database.read() as connection:
            return keys.identify(connection, key, acting_for).user.name

    return who


def test_users_are_made_once(database):
    with database.write() as connection:
        first = users.ensure(connection, {"ann", "bob"})
        second = users.ensure(connection, {"bob", "cy"})
        assert users.ensure(connection, set()) == {}
    assert second["bob"] == first["bob"]
    assert len({user.id for user in (*first.values(), *second.values())}) == 3


def test_the_first_users_made_by_many_threads(database, at_once):
    def make() -> dict[str, users.User]:
        with database.write() as connection:
            return users.ensure(connection, {"ann", "bob"})

    made = at_once([make] * 6)
    assert all(result == made[0] for result in made)
    assert set(made[0]) == {"ann", "bob"}


def test_finding_a_user(database):
    with database.write() as connection:
        ann = users.ensure(connection, {"ann"})["ann"]
        assert users.find(connection, "ann") == users.get(connection, "ann") == ann
        assert users.find(connection, "bob") is None
        with pytest.raises(NotFound, match="pearl keys create --user bob"):
            users.get(connection, "bob")


def test_the_user_who_is_not_named_is_the_only_one(database):
    with database.write() as connection, pytest.raises(NotFound, match="no user yet"):
        users.chosen(connection, None)
    with database.write() as connection:
        made = users.ensure(connection, {"ann"})
        assert users.chosen(connection, None) == made["ann"]
        users.ensure(connection, {"bob"})
        assert users.chosen(connection, "bob").name == "bob"
        with pytest.raises(InputError, match=r"2 users \(ann, bob\).*--user"):
            users.chosen(connection, None)


def test_a_user_goes_with_everything_theirs(ann, bob, rows, draft):
    for person in (ann, bob):
        person.add(Document("a", "a text", 1.0, voice="email"))
        with person.database.write() as connection:
            made = draft(person.user.name)
            drafts.add(connection, person.id, made, request="q", instructions="", voice=None, model="m")
            feedback.add(connection, person.id, made.id, "accepted", None)
            keys.create_for_user(connection, person.user.name)
            keys.create_for_service(connection, (person.user.name,))
            idempotency.begin(connection, idempotency.Call(person.id, "key", "print", 60, 60))
    before = {table: len(rows(table)) for table in ("documents", "drafts", "feedback", "jobs", "voices", "idempotency")}
    with ann.database.write() as connection:
        users.remove(connection, ann.id)
    for table, count in before.items():
        assert len(rows(table)) == count // 2, table
    assert len(rows("keys")) == 3  # bob's own, and two service keys
    assert len(rows("grants")) == 1
    assert bob.ids == ["a", "draft_bob"]
    with pytest.raises(NotFound), ann.database.read() as connection:
        users.history_version(connection, ann.id)


def test_a_row_id_never_comes_back(database):
    with database.write() as connection:
        gone = users.ensure(connection, {"ann"})["ann"]
        users.remove(connection, gone.id)
        assert users.ensure(connection, {"ann"})["ann"].id != gone.id


def test_a_key_says_who_its_user_is(make_key, identify):
    ann, bob = make_key("ann"), make_key("bob")
    assert re.fullmatch(r"pearl_[\w-]{43}", ann)
    assert (identify(ann), identify(bob)) == ("ann", "bob")
    assert identify(ann, "ann") == "ann"


def test_only_a_digest_of_a_key_is_kept(make_key, rows):
    key = make_key("ann")
    assert key not in str(rows("keys"))
    assert key[6:20] not in str(rows("keys"))


@pytest.mark.parametrize("key", ["", "pearl_", "pearl_wrong", "x" * 5000, "' OR 1=1 --", "käse"])
def test_a_key_that_is_not_valid(make_key, identify, database, key):
    make_key("ann")
    with pytest.raises(Unauthenticated, match="pearl keys create"):
        identify(key)
    with database.read() as connection:
        assert not keys.is_valid(connection, key)


def test_a_users_key_cannot_act_for_another(make_key, identify):
    key = make_key("ann")
    make_key("bob")
    with pytest.raises(AccessError, match="service key") as caught:
        identify(key, "bob")
    assert caught.value.http_status == 403


def test_a_service_key_acts_for_those_it_was_granted(make_key, identify):
    for name in ("ann", "bob", "cy"):
        make_key(name)
    key = make_key("ann", "bob", service=True)
    assert [identify(key, name) for name in ("ann", "bob")] == ["ann", "bob"]
    with pytest.raises(AccessError) as refused:
        identify(key, "cy")
    with pytest.raises(AccessError) as unknown:
        identify(key, "nobody")
    assert refused.value.message == unknown.value.message  # names cannot be probed
    with pytest.raises(AccessError, match="X-Pearl-User"):
        identify(key)


def test_a_service_key_for_everybody(make_key, identify):
    make_key("ann")
    key = make_key(service=True, all_users=True)
    assert identify(key, "ann") == "ann"
    with pytest.raises(AccessError):
        identify(key, "eve")


def test_a_key_expires(database):
    with database.write() as connection:
        terms = keys.KeyTerms("laptop", time.time() + 60)
        key = keys.create_for_user(connection, "ann", terms=terms)
        service = keys.create_for_service(connection, ("ann",), terms=keys.KeyTerms(expires_at=time.time() - 1))
        assert keys.identify(connection, key).user.name == "ann"
        assert keys.is_valid(connection, key)
        assert not keys.is_valid(connection, service)
        with pytest.raises(Unauthenticated, match="This API key expired at 2") as refused:
            keys.identify(connection, service, "ann")
        named, unnamed = keys.list_all(connection)
    assert refused.value.code == "expired_api_key"
    assert (named.name, named.expires_at, named.last_used_at) == ("laptop", terms.expires_at, None)
    assert unnamed.name is None
