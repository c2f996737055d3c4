"""No call with one user's key tells of another user or changes what is theirs: every route of the app, with every id
and name that the other has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import select

from service.store.tables import metadata

SECRET = "quaggamire"  # in every text of the other user, and in no answer to anybody else
OTHERS = ("GET", "PUT", "POST", "PATCH", "DELETE")
NOT_OF_USERS = {"alembic_version"}
NEW = {"text": "A new text.", "request": "Write something.", "kind": "own"}


def moved_in(pearl: Any) -> None:
    """Give the other user something in every table that a route reads."""
    ada = pearl.as_user("ada")
    for number in range(3):
        body = {"id": f"own{number}", "text": f"The {SECRET} of {number}.", "request": SECRET, "voice": "letters"}
        assert ada.post("/v1/documents", {"documents": [body]}).status_code < 300
    assert ada.put("/v1/voices/letters", {"instructions": SECRET}).status_code < 300
    draft = ada.post("/v1/drafts", {"request": f"Tell of the {SECRET}."}).json()
    sent = {"draft_id": draft["id"], "outcome": "edited", "final_text": f"The {SECRET}."}
    assert ada.post("/v1/feedback", sent).status_code < 300


def theirs(pearl: Any, user_id: int) -> dict[str, list[Any]]:
    """All rows of a user, by table, but for the time of a key's last use, which is written from time to time."""
    with pearl.database.read() as connection:
        rows = {
            table.name: connection.execute(
                select(*(column for column in table.c if column.name != "last_used_at")).where(
                    table.c.user_id == user_id
                )
            ).all()
            for table in metadata.sorted_tables
            if "user_id" in table.c
        }
    return {name: sorted(map(repr, found)) for name, found in rows.items()}


def handles(pearl: Any, user_id: int) -> list[str]:
    """All ids and names of a user's things: short texts of the rows, without spaces."""
    found = set()
    with pearl.database.read() as connection:
        for table in metadata.sorted_tables:
            if "user_id" in table.c:
                for row in connection.execute(select(table).where(table.c.user_id == user_id)):
                    found |= {value for value in row if isinstance(value, str) and re.fullmatch(r"[\w.-]{3,60}", value)}
    return sorted(found - {SECRET})  # an answer may repeat what was asked for


def calls(pearl: Any, names: list[str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Each route with each of the names in its path, its query and each text field of its body."""
    document = pearl.app.openapi()
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if method.upper() not in OTHERS:
                continue
            places = re.findall(r"\{(\w+)\}", path)
            queries = [part["name"] for part in operation.get("parameters", []) if part["in"] == "query"]
            content = operation.get("requestBody", {}).get("content", {})
            schema = next((kind["schema"] for kind in content.values() if "$ref" in kind.get("schema", {})), None)
            fields = list(schemas[schema["$ref"].rpartition("/")[2]]["properties"]) if schema else []
            for name in names:
                filled = re.sub(r"\{\w+\}", name, path)
                if places:
                    yield method, filled, {"json": NEW} if schema else {}
                for query in queries:
                    yield method, filled, {"params": {query: name}}
                for field in fields:
                    yield method, filled, {"json": {**NEW, field: name}}


@pytest.fixture
def pearl(house: Callable[..., Any], database_url: str) -> Any:
    return house(database_url=database_url, rate_limit="")


@pytest.mark.slow
def test_no_call_tells_of_another_user_or_changes_what_is_theirs(pearl: Any) -> None:
    moved_in(pearl)
    ada, ben = pearl.user("ada"), pearl.as_user("ben")
    before, names = theirs(pearl, ada.id), handles(pearl, ada.id)
    assert sum(map(bool, before.values())) >= 5
    tried = 0
    for method, path, options in calls(pearl, names):
        answer = ben(method.upper(), path, **options)
        tried += 1
        assert SECRET not in answer.text, (method, path, options)
        assert answer.status_code < 500, (method, path, options, answer.text)
    assert tried > 500
    assert theirs(pearl, ada.id) == before
