from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection, text

from pearl.errors import NotFound
from pearl.records import Document, Draft, Retrieval, Revision
from service.store import documents, drafts, imports, users, voices
from service.store.documents import Addition, AddOutcome


def brought(person: Any, id: str, *texts: Document, replaces: bool = False) -> list[AddOutcome]:
    with person.database.write() as connection:
        outcomes = documents.add(connection, [Addition(person.id, text, id, replaces) for text in texts])
        note = imports.ImportNote(id, person.id, {"imported": len(texts)})
        imports.record(connection, [note], importer="fake", source="/vault")
    return outcomes


def undo(person: Any, id: str) -> imports.Undone:
    with person.database.write() as connection:
        return imports.undo(connection, person.id, id)


def change_voice(person: Any, document_id: str, voice: str | None) -> Document:
    with person.database.write() as connection:
        return documents.change_voice(connection, person.id, document_id, voice)


def test_an_import_and_its_counts(ann: Any) -> None:
    brought(ann, "import_1", Document("a", "Tea.", 1.0), Document("b", "Milk.", 2.0))
    brought(ann, "import_1", Document("c", "Sugar.", 3.0))
    with ann.database.read() as connection:
        (found,) = imports.list_all(connection, ann.id)
    assert (found.id, found.importer, found.source, found.counts) == ("import_1", "fake", "/vault", {"imported": 1})
    assert (found.documents, found.undone_at) == (3, None)


def test_undo_removes_what_one_import_brought(ann: Any) -> None:
    ann.add("By hand.")
    brought(ann, "import_1", Document("a", "Tea.", 1.0))
    brought(ann, "import_2", Document("b", "Milk.", 2.0))
    version = ann.version
    assert undo(ann, "import_1") == imports.Undone(removed=1, kept=0)
    assert ann.ids == ["b", "d1"]
    assert ann.version > version


def test_undo_keeps_what_its_owner_changed_since(ann: Any) -> None:
    brought(ann, "import_1", Document("a", "Tea.", 1.0), Document("b", "Milk.", 2.0))
    change_voice(ann, "b", "blog")
    assert undo(ann, "import_1") == imports.Undone(removed=1, kept=1)
    assert ann.ids == ["b"]


def test_undo_removes_the_voices_that_it_made_unless_they_are_used_or_changed(ann: Any) -> None:
    with ann.database.write() as connection:
        voices.ensure(connection, {ann.id: {"before"}})
    made = ("before", "gone", "moved into", "put", "drafted in", "kept")
    brought(ann, "import_1", *(Document(name, f"Tea of {name}.", 1.0, voice=name) for name in made))
    brought(ann, "import_2", Document("later", "Milk.", 2.0, voice="kept"))
    ann.add(Document("own", "By hand.", 3.0))
    change_voice(ann, "own", "moved into")
    with ann.database.write() as connection:
        voices.put(connection, ann.id, "put", {"instructions": "Sign as Ann."})
        draft = Draft("draft_1", "Hello.", "draft", Retrieval(), Revision(False, "", ""))
        drafts.add(connection, ann.id, draft, request="x", instructions="", voice="drafted in", model="fake")
    assert undo(ann, "import_1").removed == len(made)
    with ann.database.read() as connection:
        left = [voice.name for voice in voices.list_all(connection, ann.id)]
    assert left == ["before", "drafted in", "kept", "moved into", "put"]
    assert ann.ids == ["later", "own"]


def test_an_import_that_was_undone_while_it_ran_is_undone_again(ann: Any) -> None:
    brought(ann, "import_1", Document("a", "Tea.", 1.0))
    undo(ann, "import_1")
    brought(ann, "import_1", Document("b", "Milk.", 2.0))
    assert undo(ann, "import_1") == imports.Undone(removed=1, kept=0)
    assert ann.ids == []


def test_another_users_import_is_not_there(ann: Any, bob: Any) -> None:
    brought(ann, "import_1", Document("a", "Tea.", 1.0))
    for id in ("import_1", "import_9"):
        with pytest.raises(NotFound, match="pearl imports list"):
            undo(bob, id)
    assert ann.ids == ["a"]


def test_the_embeddings_go_with_the_documents(ann: Any, rows: Any) -> None:
    from service.store import embeddings
    from service.store.embeddings import text_key

    brought(ann, "import_1", Document("a", "Tea.", 1.0, "What?"), Document("b", "Both.", 2.0))
    ann.add(Document("c", "Both.", 3.0))
    import numpy as np

    vectors = {text_key(text): np.ones(2, np.float32) for text in ("Tea.", "What?", "Both.")}
    with ann.database.write() as connection:
        embeddings.add(connection, ann.id, "words", vectors)
    undo(ann, "import_1")
    assert [bytes(row[2]) for row in rows("embeddings")] == [text_key("Both.")]


def test_a_changed_document_takes_the_place_of_its_earlier_version(ann: Any) -> None:
    brought(ann, "import_1", Document("a", "Tea.", 1.0, "What?", "blog"), Document("b", "Milk.", 2.0))
    changed = Document("a", "Green tea.", 3.0, "What then?", "blog")
    assert brought(ann, "import_2", changed, Document("b", "Milk."), replaces=True) == [
        AddOutcome.REPLACED,
        AddOutcome.EXISTS,
    ]
    with ann.database.read() as connection:
        assert documents.get(connection, ann.id, "a") == changed
    assert undo(ann, "import_2").removed == 1
    assert ann.ids == ["b"]


def test_a_voice_chosen_by_hand_stays_and_is_no_conflict(ann: Any) -> None:
    first = Document("a", "Tea.", 1.0, None, "blog")
    brought(ann, "import_1", first)
    change_voice(ann, "a", "diary")
    assert brought(ann, "import_2", first) == [AddOutcome.EXISTS]
    assert brought(ann, "import_3", Document("a", "Green tea.", 1.0, None, "blog"), replaces=True) == [
        AddOutcome.REPLACED
    ]
    with ann.database.read() as connection:
        assert documents.get(connection, ann.id, "a") == Document("a", "Green tea.", 1.0, None, "diary")


def test_ids_of_a_source(ann: Any, bob: Any) -> None:
    brought(ann, "import_1", Document("a", "Tea.", 1.0), Document("b", "Milk.", 2.0))
    brought(bob, "import_2", Document("c", "Sugar.", 2.0))
    change_voice(ann, "b", "diary")
    with ann.database.read() as connection:
        assert imports.ids_of_source(connection, ann.id, importer="fake", source="/vault") == {"a"}
        assert imports.ids_of_source(connection, ann.id, importer="fake", source="/other") == set()
    with ann.database.write() as connection:
        assert imports.remove_documents(connection, ann.id, ["a", "c", "z"]) == 1
    assert (ann.ids, bob.ids) == (["b"], ["c"])


def test_another_time_alone_is_a_change_to_an_update(ann: Any) -> None:
    brought(ann, "import_1", Document("a", "Tea.", 1.0))
    assert brought(ann, "import_2", Document("a", "Tea.", 5.0)) == [AddOutcome.EXISTS]
    assert brought(ann, "import_3", Document("a", "Tea.", 5.0), replaces=True) == [AddOutcome.REPLACED]
    assert brought(ann, "import_4", Document("a", "Tea.", 5.0), replaces=True) == [AddOutcome.EXISTS]
    with ann.database.read() as connection:
        assert documents.get(connection, ann.id, "a").timestamp == 5.0


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    "take_away",
    [
        lambda connection, user_id: voices.remove(connection, user_id, "email"),
        lambda connection, user_id: imports.undo(connection, user_id, "import_1"),
    ],
    ids=["its voice", "itself"],
)
def test_what_an_import_needs_is_not_taken_away_from_under_it(
    ann: Any, until: Any, take_away: Callable[[Connection, int], None]
) -> None:
    brought(ann, "import_1", Document("a", "Tea.", 1.0, voice="email"))

    def take() -> None:
        with ann.database.write() as connection:
            take_away(connection, ann.id)

    def is_waiting() -> bool:
        of_ours = "SELECT wait_event_type FROM pg_stat_activity WHERE datname = current_database()"
        with ann.database.read() as connection:
            return "Lock" in connection.scalars(text(of_ours)).all()

    with ThreadPoolExecutor(1) as pool, ann.database.write() as connection:
        users.lock(connection, {ann.id})
        taken = pool.submit(take)
        until(is_waiting)
        documents.add(connection, [Addition(ann.id, Document("b", "Milk.", 2.0, voice="email"), "import_1")])
        note = imports.ImportNote("import_1", ann.id, {"imported": 2})
        imports.record(connection, [note], importer="fake", source="/vault")
    taken.result()
    with ann.database.read() as connection:
        of_it = {document.voice for document in documents.all_of_user(connection, ann.id)}
        assert of_it <= {None} | {voice.name for voice in voices.list_all(connection, ann.id)}
