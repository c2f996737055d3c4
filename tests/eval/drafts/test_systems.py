from __future__ import annotations

import pytest

from eval.drafts.cases import Case, cases_of, sample, without_near_duplicates
from eval.drafts.stance import NTA, YTA, stance
from eval.drafts.systems import BASELINE, MODEL, copied, k_shot_system, rag_prompt, retrieved, zero_shot_system
from eval.retrieval.gains import GainsRecord
from pearl.errors import ContextExceeded, InputError
from pearl.models.prompts import PromptInputs
from pearl.records import Document, Request
from pearl.text.templates import load_template
from retriever.base import Calibration
from retriever.baselines.bm25 import BM25Retriever
from tests.fake_chat import FakeChatModel


def record(user: str | None, number: int, texts: tuple[str, ...] = ("some text",), target: str | None = "t"):
    documents = tuple(Document(f"{user}-{number}-{index}", text) for index, text in enumerate(texts))
    return GainsRecord(Request(f"request {number}"), user, f"{user}-{number}", target, documents, (0.0,) * len(texts))


def many(*sizes: int) -> list[Case]:
    """Cases of as many users, each with so many of them."""
    return cases_of([record(f"u{user}", number) for user, size in enumerate(sizes) for number in range(size)])


def test_a_record_without_a_target_is_no_case():
    found = cases_of([record("a", 1, target=None), record("a", 2, target=" \n"), record("a", 3)])
    assert found == [Case(record("a", 3), "user a", "t")]


def test_a_sample_takes_one_of_each_user_before_a_second_of_any():
    found = many(10, 3, 1)
    for limit, shares in ((1, 1), (2, 2), (3, 3)):
        assert len({case.owner for case in sample(found, limit, 0)}) == shares
    assert sorted(case.owner for case in sample(found, 5, 0)) == ["user u0", "user u0", "user u1", "user u1", "user u2"]
    assert sample(found, 99, 0) == sample(found, None, 0) == found


def test_a_sample_depends_on_its_seed_alone_and_keeps_the_order():
    found = many(*[4] * 10)
    assert sample(found, 7, 1) == sample(found, 7, 1)
    assert sample(found, 7, 1) != sample(found, 7, 2)
    places = [found.index(case) for case in sample(found, 7, 1)]
    assert places == sorted(places)


def test_records_of_nobody_count_as_a_user_each():
    found = cases_of([record(None, 1), record(None, 2), record("a", 3)])
    assert len({case.owner for case in found}) == 3


def test_k_shot_shows_everybody_the_same_strangers():
    found = many(1, 1, 1, 1, 1, 1)
    system = k_shot_system(found, found, 3, 0, balanced=False)
    assert (system.kind, system.texts) == (BASELINE, None)
    shown = [tuple(document.id for document in each.documents) for each in system.shown]
    assert all(len(set(each)) == 3 for each in shown)
    for case, ids in zip(found, shown, strict=True):
        assert not {id for id in ids if id.startswith(f"{case.record.user_id}-")}
    # three users have one of the first three, so whoever does not have one sees those
    assert len({each for each in shown if shown.count(each) > 1}) == 1
    assert max(shown.count(each) for each in shown) == 3
    assert system == k_shot_system(found, found, 3, 0, balanced=False)
    assert system != k_shot_system(found, found, 3, 1, balanced=False)


def test_k_shot_takes_its_strangers_from_the_whole_file():
    found = many(1, 1, 1)
    shown = k_shot_system(found[:1], found, 2, 0, balanced=False).shown[0].documents
    assert {document.id for document in shown} == {"u1-0-0", "u2-0-0"}


def test_k_shot_takes_second_documents_of_few_users():
    texts = ("one", "two", "three")
    found = cases_of([record("me", 1), record("a", 1, texts), record("a", 2, texts), record("b", 1, ("four",))])
    for seed in range(10):
        shown = k_shot_system(found[:1], found, 3, seed, balanced=False).shown[0].documents
        assert len({document.text for document in shown}) == 3  # none twice, though two records have it
        assert "four" in {document.text for document in shown[:2]}  # one of each user first
    assert len(k_shot_system(found[:1], found, 9, 0, balanced=False).shown[0].documents) == 4


def test_k_shot_shows_no_near_duplicate_where_they_are_set_aside():
    asking = cases_of([record("me", 1)])
    copy = cases_of([record("you", 1, (asking[0].target,))])
    assert k_shot_system(asking, copy, 1, 0, balanced=False).shown[0].documents
    with pytest.raises(InputError, match="nearly is the target"):
        k_shot_system(asking, copy, 1, 0, balanced=False, near_duplicates=0.5)


def test_k_shot_takes_turns_between_the_stances():
    texts = ["YTA", "YTA!", "yta", "NTA", "no verdict"]
    found = cases_of([record(f"u{index}", 1, (text,)) for index, text in enumerate(texts)])
    asking = cases_of([record("me", 1)])
    shown = k_shot_system(asking, [*found, *asking], 2, 0, balanced=True).shown[0].documents
    assert {stance(document.text) for document in shown} == {YTA, NTA}


def test_k_shot_draws_among_the_documents_that_take_a_stance():
    found = cases_of([record("a", 1, ("hm", "well", "YTA")), record("b", 1, ("what", "NTA", "NTA!")), record("me", 1)])
    for seed in range(10):
        shown = k_shot_system(found[2:], found, 4, seed, balanced=True).shown[0].documents
        assert [stance(document.text) for document in shown] == [YTA, NTA, NTA]
    with pytest.raises(InputError, match="takes a stance"):
        k_shot_system(found[1:], found[1:], 4, 0, balanced=True)


def test_k_shot_needs_another_user():
    found = many(3)
    with pytest.raises(InputError, match="other users"):
        k_shot_system(found, found, 3, 0, balanced=False)


def test_zero_shot_shows_nothing():
    assert [shown.documents for shown in zero_shot_system(many(2)).shown] == [(), ()]


class Floored(BM25Retriever):
    calibration = Calibration(threshold=2.0, floor=0.1)


def asking(request: str, *documents: Document) -> Case:
    return Case(GainsRecord(Request(request), "a", None, "t", documents, (0.0,) * len(documents)), "user a", "t")


def test_a_retriever_shows_what_the_service_would():
    texts = ("bread and butter", "trains", "bread rises", "planes", "boats")
    case = asking("bread", *(Document(str(index), text) for index, text in enumerate(texts)))
    system = retrieved("mine", Floored(), [case], 3, kind=MODEL)
    (shown,) = system.shown
    assert {document.text for document in shown.documents} == {"bread and butter", "bread rises"}  # the floor
    assert shown.top is not None
    assert shown.top.document == shown.documents[0]
    assert (system.name, system.kind, system.threshold) == ("mine", MODEL, 2.0)
    plain = retrieved("bm25", BM25Retriever(), [case], 3, kind=BASELINE)
    assert len(plain.shown[0].documents) == 3
    assert plain.threshold is None


def test_of_equal_scores_the_newest_is_shown():
    documents = (Document("new", "a", 300.0), Document("old", "b", 100.0), Document("middle", "c", 200.0))
    system = retrieved("bm25", BM25Retriever(), [asking("x", *documents)], 2, kind=BASELINE)
    assert [document.id for document in system.shown[0].documents] == ["new", "middle"]


def test_a_copy_gives_its_place_to_the_next():
    documents = (Document("new", "a", 300.0), Document("old", "b", 100.0), Document("copy", " A\n", 200.0))
    system = retrieved("bm25", BM25Retriever(), [asking("x", *documents)], 2, kind=BASELINE, exactly=True)
    assert [document.id for document in system.shown[0].documents] == ["new", "old"]


def test_the_copy_is_the_best_document():
    case = asking("bread", Document("a", "trains"), Document("b", "bread"), Document("c", "boats"))
    copy = copied(retrieved("bm25", BM25Retriever(), [case], 1, kind=BASELINE))
    assert (copy.name, copy.texts) == ("copy of bm25", ("bread",))


def test_near_duplicates_are_not_there_to_be_ranked():
    target = "one two three four five six"
    twin, half, other = "one two three four five six!", "one two three four nine ten", "something else entirely here"
    left = without_near_duplicates(
        cases_of([record("a", 1, (twin, other, half), target), record("a", 2, (twin,), target)]), 0.6
    )
    assert [[document.text for document in case.record.documents] for case in left] == [[other, half]]
    assert len(left[0].record.gains) == 2


def test_a_rag_service_leaves_out_the_texts_that_do_not_fit():
    documents = tuple(Document(str(number), "word " * 100) for number in range(4))
    asked = PromptInputs(load_template("free"), "a request", documents)
    assert rag_prompt(asked, FakeChatModel(context_tokens=1000), 50).used == documents
    assert rag_prompt(asked, FakeChatModel(context_tokens=300), 50).used == documents[:2]
    with pytest.raises(ContextExceeded, match="The request is too long"):
        rag_prompt(asked, FakeChatModel(context_tokens=60), 50)
