"""A database with something in every table, and everything that is in one."""

from __future__ import annotations

import json

import numpy as np
from sqlalchemy import select

from pearl.records import Document, Draft, Retrieval, Revision, ScoredDocument
from service.store import (
    calibrations,
    documents,
    drafts,
    embeddings,
    feedback,
    idempotency,
    imports,
    keys,
    profiles,
    users,
    voices,
)
from service.store.calibrations import CalibrationKey, StoredCalibration
from service.store.database import Database
from service.store.documents import Addition
from service.store.embeddings import text_key
from service.store.tables import metadata


def fill(database: Database) -> None:
    """Something in every table, with a gap in the numbers of users at the end."""
    with database.write() as connection:
        names = users.ensure(connection, {"ann", "bob", "gone"})
        ann = names["ann"].id
        additions = [
            Addition(ann, Document("a", "Grüße, 100% \U0001f600\r\n", 1.25, "What?", "email"), "import_1"),
            Addition(names["bob"].id, Document("a", "Milk.", 1_700_000_000.123456)),
        ]
        documents.add(connection, additions, template="message")
        documents.change_voice(connection, ann, "a", "letters")
        choice = profiles.LineChoice(profiles.CORRECTED, "Dashes, never semicolons.")
        profiles.put(connection, ann, profiles.StoredProfile("email", True, {"dashes": choice}))
        note = imports.ImportNote("import_1", ann, {"imported": 1})
        imports.record(connection, [note], importer="jsonl", source="/ä.jsonl")
        voices.put(connection, ann, "email", {"instructions": "Briefly.", "k": 3})
        embeddings.add(connection, ann, "words", {text_key("Grüße, 100% \U0001f600\r\n"): np.ones(3, np.float32)})
        retrieval = Retrieval((ScoredDocument(Document("d1", "a text", 1.0), 0.5),), 0.5)
        for name, request, voice in (("x", "q", "email"), ("y", "r", None)):
            revision = Revision(False, "no_threshold", "There is none.")
            draft = Draft(f"draft_{name}", "Dear Bo.", "draft", retrieval, revision)
            drafts.add(connection, ann, draft, request=request, instructions="", voice=voice, model="m")
        feedback.add(connection, ann, "draft_x", "accepted", None)
        keys.create_for_user(connection, "ann", terms=keys.KeyTerms("laptop", 2_000_000_000.0))
        keys.create_for_service(connection, ("ann", "bob"))
        idempotency.begin(connection, idempotency.Call(ann, "key", "print", 60, 60))
        combination = CalibrationKey("email", "bm25", "m")
        calibrations.put(connection, ann, StoredCalibration("c", combination, {"threshold": None}, {"texts": 30}))
        users.remove(connection, names["gone"].id)  # owes an erasure, too


def contents(database: Database) -> dict[str, list[str]]:
    """Every row of every table as text, so that NULL and a JSON null differ."""
    with database.read() as connection:
        return {
            table.name: sorted(
                json.dumps(
                    {
                        column.name: value.hex() if isinstance(value, bytes) else value
                        for column, value in zip(table.columns, row, strict=True)
                    }
                )
                for row in connection.execute(select(table))
            )
            for table in metadata.sorted_tables
        }
