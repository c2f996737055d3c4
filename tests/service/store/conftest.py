from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

from pearl.records import Document, Draft, Retrieval, Revision, ScoredDocument
from service.store import documents, users
from service.store.database import Database
from service.store.documents import Addition, AddOutcome
from service.store.users import User


class Person:
    """A user of a database, and what tests do with them."""

    def __init__(self, database: Database, name: str) -> None:
        self.database = database
        with database.write() as connection:
            self.user: User = users.ensure(connection, {name})[name]
        self.id = self.user.id

    def add(self, *given: Document | str) -> list[AddOutcome]:
        """Texts get the ids d1, d2, ... and are a second apart."""
        made = [
            item if isinstance(item, Document) else Document(f"d{number}", item, 1000.0 + number)
            for number, item in enumerate(given, start=1)
        ]
        with self.database.write() as connection:
            return documents.add(connection, [Addition(self.id, document) for document in made])

    def remove(self, document_id: str) -> None:
        with self.database.write() as connection:
            documents.remove(connection, self.id, document_id)

    @property
    def ids(self) -> list[str]:
        with self.database.read() as connection:
            return [document.id for document in documents.all_of_user(connection, self.id)]

    @property
    def version(self) -> int:
        with self.database.read() as connection:
            return users.history_version(connection, self.id)


@pytest.fixture
def person(database: Database) -> Callable[[str], Person]:
    return lambda name: Person(database, name)


@pytest.fixture
def ann(person: Callable[[str], Person]) -> Person:
    return person("ann")


@pytest.fixture
def bob(person: Callable[[str], Person]) -> Person:
    return person("bob")


@pytest.fixture
def rows(database: Database) -> Callable[[str], list[Any]]:
    def of_table(table: str) -> list[Any]:
        with database.read() as connection:
            return list(connection.exec_driver_sql(f"SELECT * FROM {table}"))

    return of_table


@pytest.fixture
def at_once() -> Callable[[Sequence[Callable[[], Any]]], list[Any]]:
    """Call functions in as many threads, all let go at the same moment; their results or exceptions."""

    def run(functions: Sequence[Callable[[], Any]]) -> list[Any]:
        gate = Barrier(len(functions))

        def call(function: Callable[[], Any]) -> Any:
            gate.wait(timeout=60)
            try:
                return function()
            except Exception as error:
                return error

        with ThreadPoolExecutor(len(functions)) as pool:
            return list(pool.map(call, functions))

    return run


@pytest.fixture
def draft() -> Callable[..., Draft]:
    def make(name: str, **fields: Any) -> Draft:
        retrieval = Retrieval((ScoredDocument(Document("d1", "a text", 1.0), 0.5),), 0.5)
        made = Draft(f"draft_{name}", "Dear Bo.", "draft", retrieval, Revision(False, "no_threshold", "There is none."))
        return replace(made, **fields)

    return make
