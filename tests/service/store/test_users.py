"""Users by name, however its letters are composed."""

from __future__ import annotations

from sqlalchemy import insert

from service.store import users
from service.store.database import Database
from service.store.tables import users as users_table

DECOMPOSED = "Ju\u0308rgen"


def test_a_decomposed_name_is_the_composed_ones(database: Database) -> None:
    with database.write() as connection:
        made = users.ensure(connection, {DECOMPOSED, "Jürgen", "ann"})
        assert made[DECOMPOSED] == made["Jürgen"] == users.find(connection, DECOMPOSED)
        assert made["Jürgen"].name == "Jürgen"
        assert users.ensure(connection, {DECOMPOSED}) == {DECOMPOSED: made["Jürgen"]}


def test_a_name_that_is_stored_decomposed_keeps_its_user(database: Database) -> None:
    with database.write() as connection:
        row = {"tenant_id": users.tenant_id(connection), "name": DECOMPOSED, "created_at": 0.0}
        connection.execute(insert(users_table), [row])
        old = users.get(connection, DECOMPOSED)
        assert old.name == DECOMPOSED
        assert users.ensure(connection, {DECOMPOSED}) == {DECOMPOSED: old}
