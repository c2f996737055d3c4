from __future__ import annotations

from typing import Any

import pytest

from pearl.errors import InputError, NotFound
from pearl.records import Document
from service.store import apart, documents, drafts, feedback, voices
from service.store.apart import Mark
from service.store.documents import Addition
from service.store.samples import Sample, newest_samples

MACHINE = (
    "I hope this email finds you well. I wanted to reach out about the rails. Thank you for your patience and "
    "understanding. Please don't hesitate to contact me."
)
NOW = 1_750_000_000.0
BEFORE = 1_500_000_000.0


def marks(person: Any) -> dict[str, Mark]:
    with person.database.read() as connection:
        return apart.marks(connection, person.id)


def samples(person: Any) -> list[str]:
    with person.database.read() as connection:
        return [each.id for each in newest_samples(connection, person.id, None, Sample())]


def test_a_text_of_an_assistant_is_set_apart_until_its_owner_says_that_it_is_theirs(ann: Any) -> None:
    ann.add(Document("own", "Kettle's on.", NOW), Document("odd", MACHINE, NOW + 1), Document("old", MACHINE, BEFORE))
    assert marks(ann) == {"odd": Mark("machine_prose")}
    assert samples(ann) == ["old", "own"]
    version = ann.version
    with ann.database.write() as connection:
        documents.claim(connection, ann.id, "odd", mine=True)
    assert ann.version > version
    assert samples(ann) == ["old", "own", "odd"]
    with ann.database.write() as connection:
        documents.claim(connection, ann.id, "own", mine=False)
        with pytest.raises(NotFound):
            documents.claim(connection, ann.id, "none", mine=False)
    assert marks(ann) == {"odd": Mark("machine_prose", True), "own": Mark("not_mine", False)}
    assert samples(ann) == ["old", "odd"]


def test_a_text_without_a_time_is_of_now(ann: Any) -> None:
    ann.add(Document("odd", MACHINE))
    assert list(marks(ann)) == ["odd"]


def test_who_always_wrote_so_is_not_set_apart(ann: Any) -> None:
    older = [Document(f"old{number}", f"{number}. {MACHINE}", BEFORE + number) for number in range(30)]
    ann.add(Document("odd", MACHINE, NOW))
    assert list(marks(ann)) == ["odd"]
    ann.add(*older)  # later found, and earlier written
    assert marks(ann) == {}
    ann.add(Document("odder", f"And {MACHINE}", NOW))
    assert marks(ann) == {}


def test_commit_messages_are_not_asked(ann: Any) -> None:
    with ann.database.write() as connection:
        voices.put(connection, ann.id, "commits", {"template": "commit"})
        documents.add(connection, [Addition(ann.id, Document("b", MACHINE, NOW))], template="commit")
    ann.add(Document("a", MACHINE, NOW, voice="commits"), Document("c", MACHINE, NOW, voice="email"))
    assert list(marks(ann)) == ["c"]


def test_what_replaces_a_text_is_looked_at_and_its_owners_word_stays(ann: Any) -> None:
    def replace(id: str, new: str) -> None:
        with ann.database.write() as connection:
            documents.add(connection, [Addition(ann.id, Document(id, new, NOW), replaces=True)])

    ann.add(Document("a", "Tea.", NOW), Document("b", MACHINE, NOW), Document("c", "Milk.", NOW))
    replace("a", MACHINE)
    replace("b", "Cup.")
    assert marks(ann) == {"a": Mark("machine_prose")}
    with ann.database.write() as connection:
        documents.claim(connection, ann.id, "a", mine=True)
        documents.claim(connection, ann.id, "c", mine=False)
    replace("a", f"Again: {MACHINE}")
    replace("c", "More milk.")
    assert marks(ann) == {"a": Mark("machine_prose", True), "c": Mark("not_mine", False)}


def test_a_draft_that_is_sent_has_its_own_reason(ann: Any, draft: Any) -> None:
    for name, outcome, sent in (("x", "accepted", None), ("y", "edited", "Yes, and bring the rails with you, Bo.")):
        made = draft(name)
        with ann.database.write() as connection:
            drafts.add(connection, ann.id, made, request="q", instructions="", voice=None, model="m")
            feedback.add(connection, ann.id, made.id, outcome, sent)
    assert marks(ann) == {"draft_x": Mark("accepted_unchanged")}


def test_a_mark_is_restored_once(ann: Any) -> None:
    ann.add(Document("a", "Tea.", NOW))
    with ann.database.write() as connection:
        line = {"id": "a", "set_apart": "machine_prose", "mine": True}
        assert apart.restore(connection, ann.id, line) is True
        assert apart.restore(connection, ann.id, {**line, "mine": None}) is False
        assert apart.restore(connection, ann.id, {**line, "id": "z"}) is False
        for wrong in ({"set_apart": "odd"}, {"set_apart": 1}, {"mine": "yes"}, {"id": None, "set_apart": []}):
            with pytest.raises(InputError):
                apart.restore(connection, ann.id, {**line, **wrong})
    assert marks(ann) == {"a": Mark("machine_prose", True)}


def test_marks_of_others_are_not_seen(ann: Any, person: Any) -> None:
    person("bob").add(Document("a", MACHINE, NOW))
    assert marks(ann) == {}
