from __future__ import annotations

from collections import Counter
from typing import Any

from pearl.settings import load_settings
from service.sample import REQUEST, USER, VOICES, load_sample, sample_documents
from service.store import keys, user_counts, users, voices


def test_the_sample_is_a_history_in_two_voices() -> None:
    found = sample_documents()
    assert len(found) >= 40
    assert set(Counter(document.voice for document in found)) == set(VOICES)
    assert len({document.id for document in found}) == len({document.text for document in found}) == len(found)
    assert all(document.request for document in found)
    assert REQUEST not in {document.request for document in found}


def test_loading_it_twice_is_loading_it_once(pearl: Any) -> None:
    first = load_sample(pearl.database, pearl.settings)
    again = load_sample(pearl.database, pearl.settings)
    assert first == again
    assert len(pearl.rows("documents")) == len(sample_documents())
    with pearl.database.read() as connection:
        sample = users.get(connection, USER)
        assert {voice.name: voice.template for voice in voices.list_all(connection, sample.id)} == VOICES
        assert keys.identify(connection, first).user == sample


def test_the_key_is_its_owners_alone_to_read(pearl: Any) -> None:
    load_sample(pearl.database, pearl.settings)
    assert (pearl.settings.home / "sample.key").stat().st_mode & 0o777 == 0o600


def test_a_key_that_was_revoked_is_made_anew(pearl: Any) -> None:
    first = load_sample(pearl.database, pearl.settings)
    with pearl.database.write() as connection:
        keys.revoke(connection, keys.list_all(connection)[0].id)
    assert load_sample(pearl.database, pearl.settings) != first


def test_what_the_user_changed_stays_changed(pearl: Any) -> None:
    load_sample(pearl.database, pearl.settings)
    with pearl.database.write() as connection:
        sample = users.get(connection, USER)
        voices.put(connection, sample.id, "email", {"template": "free", "instructions": "Briefly."})
    load_sample(pearl.database, load_settings(home=pearl.settings.home, database_url=None))
    with pearl.database.read() as connection:
        assert voices.get(connection, sample.id, "email").instructions == "Briefly."
        assert user_counts.count_documents(connection, sample.id) == len(sample_documents())
