"""Drafts and what became of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pearl.errors import InputError
from pearl.records import Claim, Document, Note, Retrieval, Revision, ScoredDocument, Usage, Variant
from service.store import documents, drafts, feedback, voices
from service.store.paging import PageQuery


@pytest.fixture
def write(draft):
    """Record a draft of a person."""

    def record(person, name: str = "1", voice: str | None = "email", **fields) -> str:
        made = draft(name, **fields)
        with person.database.write() as connection:
            drafts.add(connection, person.id, made, request="Answer Bo.", instructions="Brief.", voice=voice, model="m")
        return made.id

    return record


def give(person, draft_id: str, outcome: str, final_text: str | None = None) -> feedback.Feedback:
    with person.database.write() as connection:
        return feedback.add(connection, person.id, draft_id, outcome, final_text)


def test_a_draft_is_kept_with_its_evidence_but_not_with_its_documents(ann, write, rows):
    note = Note("far_behind", "3 documents far behind the best one were left out.")
    evidence = Retrieval((ScoredDocument(Document("m1", "secret words", 1.0), 0.5),), 0.5, 0.25, False, (note,))
    revision = Revision(True, "below_threshold", "The best document scored below the threshold.")
    claims = (Claim("carried_over", "Bo", 5, 7, "m1"), Claim("dropped", "Friday", None, None, None))
    draft_id = write(
        ann,
        retrieval=evidence,
        revision=revision,
        questions=("When?",),
        usage=Usage(7, 5),
        stage="revised",
        timings={"total_ms": 3.5},
        claims=claims,
    )
    with ann.database.read() as connection:
        stored = drafts.get(connection, ann.id, draft_id)
        assert drafts.page(connection, ann.id, PageQuery(9)).drafts == [stored]
    assert (stored.text, stored.request, stored.instructions) == ("Dear Bo.", "Answer Bo.", "Brief.")
    assert (stored.voice, stored.stage, stored.model) == ("email", "revised", "m")
    assert stored.retrieval == {
        "documents": [{"id": "m1", "score": 0.5}],
        "top_score": 0.5,
        "form": None,
        "threshold": 0.25,
        "below_threshold": False,
        "notes": [{"code": note.code, "message": note.message}],
        "claims": [
            {"kind": "carried_over", "text": None, "start": 5, "end": 7, "source": "m1"},
            {"kind": "dropped", "text": "Friday", "start": None, "end": None, "source": None},
        ],
    }
    again = stored.draft({"m1": "secret words"})
    assert (again.revision, again.questions, again.usage) == (revision, ("When?",), Usage(7, 5))
    assert again.retrieval.notes == (note,)
    assert [(found.document.text, found.score) for found in again.retrieval.documents] == [("secret words", 0.5)]
    assert again.timings == {"total_ms": 3.5}
    assert again.claims == claims
    assert "secret words" not in str(rows("drafts"))


def test_variants_are_kept_and_feedback_is_on_one_of_them(ann, write):
    claims = (Claim("unsupported", "Bo", 6, 8, None), Claim("dropped", "Friday", None, None, None))
    note = Note("cut_off", "The draft was cut off.")
    variants = (Variant("Dear Bo."), Variant("Hello Bo", "revised", "length", ("m1",), (note,), claims, 6.5, 0.25))
    draft_id = write(ann, variants=variants)
    with ann.database.read() as connection:
        stored = drafts.get(connection, ann.id, draft_id)
        assert [text for _, text in drafts.texts(connection, ann.id)] == ["Dear Bo.", "Hello Bo"]
    assert stored.draft({}).variants == variants
    given = give(ann, draft_id, "edited", "Hello Bo, well.")
    assert (given.edit["variant"], given.machine_share) == (1, 2 / 3)
    with ann.database.write() as connection:
        sent = documents.get(connection, ann.id, draft_id)
        documents.add(connection, [documents.Addition(ann.id, replace(sent, text="Dear Bo."), replaces=True)])
        (again,) = feedback.all_of_user(connection, ann.id)
    assert (again.edit["variant"], again.machine_share) == (0, 1.0)


def test_an_accepted_draft_becomes_history(ann, write):
    with ann.database.write() as connection:
        voices.put(connection, ann.id, "email", {})
    draft_id = write(ann)
    given = give(ann, draft_id, "accepted")
    assert (given.draft_id, given.outcome, given.document_id) == (draft_id, "accepted", draft_id)
    with ann.database.read() as connection:
        document = documents.get(connection, ann.id, draft_id)
        assert feedback.all_of_user(connection, ann.id) == [given]
    assert (document.text, document.request, document.voice) == ("Dear Bo.", "Answer Bo.", "email")
    assert ann.version == 1


def test_a_sent_text_that_is_removed_takes_its_draft_along(ann, bob, write, rows):
    """Its words would stay in the draft otherwise."""
    sent, other, theirs = write(ann, "1"), write(ann, "2"), write(bob, "3")
    for person, draft_id in ((ann, sent), (ann, other), (bob, theirs)):
        give(person, draft_id, "accepted")
    ann.remove(sent)
    assert sorted(row.id for row in rows("drafts")) == sorted([other, theirs])
    assert sorted(row.draft_id for row in rows("feedback")) == sorted([other, theirs])


def test_the_same_feedback_from_several_threads_counts_once(ann, write, at_once, rows):
    draft_id = write(ann)
    results = at_once([lambda: give(ann, draft_id, "accepted")] * 5)
    assert [result.id for result in results] == [results[0].id] * 5
    assert len(rows("feedback")) == 1
    assert ann.ids == [draft_id]


def test_a_draft_without_any_evidence(ann, write):
    draft_id = write(ann, retrieval=Retrieval(), revision=Revision(False, "no_history", "Nothing."))
    with ann.database.read() as connection:
        assert drafts.get(connection, ann.id, draft_id).retrieval["top_score"] is None


def test_drafts_are_listed_oldest_first(ann, write):
    made = [write(ann, str(number)) for number in range(3)]
    with ann.database.read() as connection:
        assert [line["id"] for line in drafts.lines_of_user(connection, ann.id)] == made


def test_a_draft_of_before_the_reason_was_kept(ann, write):
    draft_id = write(ann)
    with ann.database.write() as connection:
        connection.exec_driver_sql("UPDATE drafts SET revision = NULL, questions = NULL, usage = NULL")
    with ann.database.read() as connection:
        again = drafts.get(connection, ann.id, draft_id).draft({})
    assert (again.revision.reason, again.questions, again.usage) == ("not_kept", (), Usage())


def test_pages_of_drafts(ann, bob, write):
    made = [write(ann, str(number)) for number in range(5)]
    theirs = write(bob, "bobs")
    with ann.database.read() as connection:

        def page(limit: int, after: str | None, newest_first: bool) -> tuple[list[str], bool]:
            found = drafts.page(connection, ann.id, PageQuery(limit, after, newest_first))
            return [stored.id for stored in found.drafts], found.has_more

        assert page(2, None, False) == (made[:2], True)
        assert page(2, made[1], False) == (made[2:4], True)
        assert page(2, made[3], False) == (made[4:], False)
        assert page(9, None, True) == (made[::-1], False)
        assert page(1, made[2], True) == ([made[1]], True)
        for unknown in (theirs, "nothing"):
            with pytest.raises(InputError) as caught:
                page(2, unknown, True)
            assert caught.value.param == "after"


def test_drafts_that_have_all_the_words(ann, write):
    kettle, other = write(ann, "1", text="The KETTLE is on."), write(ann, "2", text="Grüße")
    with ann.database.read() as connection:

        def found(words: str) -> list[str]:
            page = drafts.page(connection, ann.id, PageQuery(9, words=words))
            return [stored.id for stored in page.drafts]

        assert found("kettle") == [kettle]
        assert found("answer kettle") == [kettle]  # one is in the request, one in the text
        assert found("GRÜSSE") == [other]
        assert found("bo") == [kettle, other]
        assert found("%") == found("tide") == []


def test_the_apostrophe_of_a_typewriter_and_that_of_a_phone_are_one(ann, write):
    made = [write(ann, "1", text="I don't know."), write(ann, "2", text="I don’t know.")]
    with ann.database.read() as connection:
        for words in ("don't", "DON’T"):
            page = drafts.page(connection, ann.id, PageQuery(9, words=words))
            assert [stored.id for stored in page.drafts] == made
