from __future__ import annotations

import time

from alembic import command

from service.store import keys, voices
from service.store.database import Database
from service.store.keys import KeyTerms
from service.store.schema import configuration
from service.store.users import get


def test_the_day_ends_at_midnight_utc(database: Database, monkeypatch):
    now = 20_000 * 86_400.0 - 1
    monkeypatch.setattr(time, "time", lambda: now)
    with database.write() as connection:
        key = keys.create_for_user(connection, "ann", terms=KeyTerms(tokens_per_day=100))
        key_id = keys.identify(connection, key).key_id
        for tokens in (60, 50):
            keys.spend(connection, key_id, tokens)
        assert keys.identify(connection, key).budget.spent == 110
        assert keys.until_tomorrow() == 1
        now += 1
        assert keys.identify(connection, key).budget.spent == 0
        keys.spend(connection, key_id, 7)
        assert keys.list_all(connection)[0].tokens_today == 7


def test_workers_count_together(database: Database, at_once):
    with database.write() as connection:
        key = keys.create_for_user(connection, "ann", terms=KeyTerms(tokens_per_day=100))
        key_id = keys.identify(connection, key).key_id

    def spend() -> None:
        for _ in range(10):
            with database.write() as connection:
                keys.spend(connection, key_id, 3)

    at_once([spend] * 4)
    with database.read() as connection:
        assert keys.identify(connection, key).budget.spent == 120


def test_an_earlier_database_keeps_its_keys_and_voices(database: Database):
    with database.write() as connection:
        key = keys.create_for_user(connection, "ann")
        ann = get(connection, "ann")
        voices.put(connection, ann.id, "email", {"instructions": "Short.", "k": 3})
        settings = configuration()
        settings.attributes["connection"] = connection
        command.downgrade(settings, "0010")
    database.migrate()
    with database.read() as connection:
        assert keys.identify(connection, key) == keys.Identity(ann, keys.list_all(connection)[0].id)
        (voice,) = voices.list_all(connection, ann.id)
        assert (voice.instructions, voice.k) == ("Short.", 3)
