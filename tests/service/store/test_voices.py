from __future__ import annotations

from dataclasses import replace

import pytest

from pearl.errors import NotFound
from pearl.records import Document
from service.store import documents, users, voices
from service.store.documents import Addition, AddOutcome


def put(person, name: str, **values) -> bool:
    with person.database.write() as connection:
        return voices.put(connection, person.id, name, values)


def get(person, name: str) -> voices.Voice:
    with person.database.read() as connection:
        return voices.get(connection, person.id, name)


def test_a_voice_that_an_import_made_keeps_its_instructions(ann):
    put(ann, "email", instructions="Be brief.")
    ann.add(Document("a", "a text", 1.0, voice="email"))
    assert get(ann, "email").instructions == "Be brief."


def test_each_user_has_their_own(ann, bob):
    put(ann, "email")
    with pytest.raises(NotFound) as caught:
        get(bob, "email")
    assert caught.value.code == "voice_not_found"


def test_a_removed_voice_leaves_its_documents_in_no_voice(ann):
    ann.add(Document("a", "a text", 1.0, voice="email"), Document("b", "a text", 2.0, voice="blog"))
    version = ann.version
    with ann.database.write() as connection:
        voices.remove(connection, ann.id, "email")
        with pytest.raises(NotFound):
            voices.remove(connection, ann.id, "email")
        assert [voice.name for voice in voices.list_all(connection, ann.id)] == ["blog"]
    assert ann.ids == ["a", "b"]
    assert ann.version > version


def test_imported_again_after_its_voice_was_removed(ann):
    """The person's word stands: the voice does not come back by itself."""
    document = Document("a", "a text", 1.0, voice="email")
    ann.add(document)
    with ann.database.write() as connection:
        voices.remove(connection, ann.id, "email")
    for again in (document, replace(document, voice=None)):
        assert ann.add(again) == [AddOutcome.EXISTS]
        for replaces in (False, True):
            imported = Addition(ann.id, again, "import_1", replaces)
            with ann.database.write() as connection:
                assert documents.add(connection, [imported]) == [AddOutcome.EXISTS]
    assert ann.add(replace(document, voice="blog")) == [AddOutcome.CONFLICT]
    with ann.database.read() as connection:
        assert voices.list_all(connection, ann.id) == []


def test_one_voice_made_by_many_threads(ann, at_once):
    results = at_once([lambda: put(ann, "email", k=3)] * 6)
    assert sorted(results) == [False] * 5 + [True]


def test_no_voice_is_made_for_a_user_who_is_gone(ann):
    with ann.database.write() as connection:
        users.remove(connection, ann.id)
    with pytest.raises(NotFound, match="was deleted"):
        put(ann, "email")
