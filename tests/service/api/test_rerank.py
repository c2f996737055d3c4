from __future__ import annotations

from typing import Any

import pytest

TEXTS = ["The rear wheel is true.", "Reset the index after a failed merge.", "Mind the tide."]


@pytest.fixture
def ann(pearl: Any) -> Any:
    return pearl.as_user("ann")


def test_scores_by_place(ann: Any) -> None:
    answer = ann.post("/v1/rerank", {"query": "reset the index", "documents": TEXTS}).json()
    assert answer["id"].startswith("rerank_")
    assert answer["model"] == "fusion"
    assert sorted(result["index"] for result in answer["results"]) == [0, 1, 2]
    assert answer["results"][0]["index"] == 1
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(set(result) == {"index", "relevance_score"} for result in answer["results"])


@pytest.mark.parametrize("model", ["bm25", "dense", "dense-requests", "fusion", "random", "recent"])
def test_every_retriever(ann: Any, model: str) -> None:
    answer = ann.post("/v1/rerank", {"model": model, "query": "tide", "documents": TEXTS, "top_n": 2}).json()
    assert answer["model"] == model
    assert len(answer["results"]) == 2


def test_as_cohere_asks_first(ann: Any) -> None:
    body = {
        "model": "bm25",
        "query": "reset index",
        "documents": [{"text": text, "title": "T"} for text in TEXTS],
        "top_n": 1,
        "return_documents": True,
        "max_chunks_per_doc": 10,
        "rank_fields": ["text"],
    }
    answer = ann.post("/v1/rerank", body).json()
    assert answer["results"][0]["document"] == {"text": TEXTS[1], "title": "T"}
    assert answer["meta"]["api_version"]["version"]
    assert "billed_units" in answer["meta"]


def test_as_cohere_asks_later(ann: Any) -> None:
    body = {"model": "bm25", "query": "reset index", "documents": TEXTS, "top_n": 3, "max_tokens_per_doc": 4096}
    assert [set(result) for result in ann.post("/v1/rerank", body).json()["results"]] == [
        {"index", "relevance_score"}
    ] * 3


def test_as_jina_asks(ann: Any) -> None:
    body = {"model": "bm25", "query": "reset index", "documents": TEXTS, "top_n": 1, "return_documents": True}
    answer = ann.post("/v1/rerank", body).json()
    assert answer["results"][0]["document"] == {"text": TEXTS[1]}
    assert answer["usage"]["total_tokens"] == 2 + 5 + 7 + 3


def test_more_wanted_than_there_are(ann: Any) -> None:
    assert len(ann.post("/v1/rerank", {"query": "a", "documents": TEXTS, "top_n": 50}).json()["results"]) == 3


def test_nothing_of_it_is_kept(pearl: Any, ann: Any) -> None:
    ann.post("/v1/rerank", {"query": "a secret query", "documents": ["a secret document"]})
    assert pearl.rows("documents") == pearl.rows("embeddings") == pearl.rows("drafts") == []
    assert not pearl.on_disk("secret")


def test_a_folder_is_the_operators_to_name(ann: Any, make_artifact: Any) -> None:
    """One that a caller names is not even looked at."""
    for model in (str(make_artifact()), "./", "/", "../artifact"):
        answer = ann.post("/v1/rerank", {"model": model, "query": "tide", "documents": TEXTS})
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
        assert answer.json()["error"]["message"].startswith(f"There is no model '{model}'; there are embedded, bm25, ")


def test_the_services_own_may_be_an_artifact(house: Any, make_artifact: Any) -> None:
    ann = house(retriever=str(make_artifact({"overlap_text": 10.0}))).as_user("ann")
    answer = ann.post("/v1/rerank", {"query": "mind the tide", "documents": TEXTS}).json()
    assert answer["model"] == "tiny"
    assert [(found["index"], round(found["relevance_score"], 3)) for found in answer["results"]] == [
        (2, 10.0),
        (1, 3.333),  # the
        (0, 3.333),
    ]


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"documents": TEXTS}, 422, "query"),
        ({"query": "", "documents": TEXTS}, 422, "query"),
        ({"query": "a"}, 422, "documents"),
        ({"query": "a", "documents": []}, 422, "documents"),
        ({"query": "a", "documents": ["b"] * 1001}, 422, "documents"),
        ({"query": "a", "documents": ["b", ""]}, 422, "documents.1"),
        ({"query": "a", "documents": ["b", 5]}, 422, "documents.1"),
        ({"query": "a", "documents": ["b", "c", {"title": "T"}]}, 422, "documents.2.text"),
        ({"query": "a", "documents": [{"text": "\0"}]}, 422, "documents.0.text"),
        ({"query": "a", "documents": TEXTS, "top_n": 0}, 422, "top_n"),
        ({"query": "a", "documents": ["b", "x" * 1_000_001]}, 413, "documents.1"),
        ({"query": "a", "documents": TEXTS, "model": "gpt"}, 404, "model"),
        ({"query": "a", "documents": TEXTS, "model": "likelihood"}, 404, "model"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_scored(ann: Any, body: Any, status: int, param: str) -> None:
    answer = ann.post("/v1/rerank", body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)


def test_when_too_many_wait_it_says_when_to_come_back(pearl: Any, ann: Any) -> None:
    pearl.services.ranking._inside = 10**6
    answer = ann.post("/v1/rerank", {"query": "tide", "documents": TEXTS})
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")
