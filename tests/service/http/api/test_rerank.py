from __future__ import annotations

import math
from typing import Any

import pytest

from pearl.settings import EMBEDDED
from retriever.models.encoder import SentenceEncoder
from retriever.registry import SERVED

TEXTS = ["The rear wheel is true.", "Reset the index after a failed merge.", "Mind the tide."]


def test_scores_by_place(ann: Any) -> None:
    answer = ann.post("/v1/rerank", {"query": "reset the index", "documents": TEXTS}).json()
    assert answer["id"].startswith("rerank_")
    assert answer["model"] == "fusion"
    assert sorted(result["index"] for result in answer["results"]) == [0, 1, 2]
    assert answer["results"][0]["index"] == 1
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(set(result) == {"index", "relevance_score", "score"} for result in answer["results"])
    assert all(0 < score < 1 for score in scores)
    assert answer["meta"]["calibrated"] is False


@pytest.mark.parametrize("model", [name for name in SERVED if name != EMBEDDED])
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
        {"index", "relevance_score", "score"}
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
    assert [(found["index"], round(found["score"], 3)) for found in answer["results"]] == [
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
        ({"query": "a", "documents": [" ", ""]}, 422, "documents.0"),
        ({"query": "a", "documents": [5, None]}, 422, "documents.0"),
        ({"query": "a", "documents": [{"title": "T"}]}, 422, "documents.0.text"),
        ({"query": "a", "documents": [{"text": "\0"}]}, 422, "documents.0.text"),
        ({"query": "a", "documents": TEXTS, "top_n": 0}, 422, "top_n"),
        ({"query": "a", "documents": ["x" * 1_000_001]}, 413, "documents.0"),
        ({"query": "a", "documents": TEXTS, "model": "gpt"}, 404, "model"),
        ({"query": "a", "documents": TEXTS, "max_tokens_per_doc": 0}, 422, "max_tokens_per_doc"),
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


def test_the_probability_that_a_document_helps(house: Any, make_artifact: Any) -> None:
    """Of a score that is ten times the share of the request's words, by the logistic fit that the artifact carries."""
    folder = make_artifact({"overlap_text": 10.0}, helps={"slope": 0.5, "intercept": -1.0})
    ann = house(retriever=str(folder)).as_user("ann")
    answer = ann.post("/v2/rerank", {"model": "rerank-v3.5", "query": "mind the tide", "documents": TEXTS})
    best, second, third = answer.json()["results"]
    assert (best["index"], best["score"]) == (2, 10.0)
    assert best["relevance_score"] == pytest.approx(1 / (1 + math.exp(-(0.5 * 10 - 1))))
    assert second["relevance_score"] == pytest.approx(1 / (1 + math.exp(-(0.5 * 10 / 3 - 1))), rel=1e-3)
    assert best["relevance_score"] > second["relevance_score"] == third["relevance_score"]
    assert answer.json()["meta"] == {
        "api_version": {"version": "2"},
        "billed_units": {"search_units": 0},
        "calibrated": True,
    }
    assert answer.headers["x-pearl-model"] == answer.json()["model"] == "tiny"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("blorf snizzle wug", "No document has to do with"),
        ("mind когда придёт прилив", "in a script that"),
        ("?! 🙂", "has no words"),
        ("the rear wheel", None),
    ],
)
def test_it_says_where_its_probabilities_do_not_hold(house: Any, query: str, said: str | None) -> None:
    ann = house(encoder=SentenceEncoder(), retriever="embedded").as_user("ann")
    meta = ann.post("/v1/rerank", {"query": query, "documents": TEXTS}).json()["meta"]
    assert meta["calibrated"] is (said is None)
    assert said is None or said in meta["warnings"][0]


def test_only_as_much_is_read_as_is_asked_for(ann: Any) -> None:
    texts = ["tide", "word " * 100 + "tide", "kettle", "wheel"]
    body = {"model": "bm25", "query": "tide", "documents": texts, "max_tokens_per_doc": 10, "return_documents": True}
    answer = ann.post("/v2/rerank", body).json()
    assert [result["score"] > 0 for result in answer["results"]] == [True, False, False, False]
    assert {result["document"]["text"] for result in answer["results"]} == set(texts)


@pytest.mark.parametrize("model", ["rerank-v3.5", "rerank-english-v3.0", "jina-reranker-v2-base-multilingual"])
def test_another_rerankers_name_stands_for_the_services_own(ann: Any, model: str) -> None:
    answer = ann.post("/v1/rerank", {"model": model, "query": "tide", "documents": TEXTS})
    assert answer.headers["x-pearl-model"] == answer.json()["model"] == "fusion"
    assert "x-pearl-model" not in ann.post("/v1/rerank", {"query": "tide", "documents": TEXTS}).headers


@pytest.mark.filterwarnings("ignore")  # the client's own, of its dependencies
@pytest.mark.parametrize("client", ["Client", "ClientV2"])
def test_with_the_client_of_cohere(listen: Any, client: str) -> None:
    import cohere
    import httpx

    served = listen()
    with httpx.Client() as connections:
        made = getattr(cohere, client)(
            api_key=served.house.key("ann"), base_url=served.address, httpx_client=connections
        )
        answer = made.rerank(model="rerank-v3.5", query="reset the index", documents=TEXTS, top_n=2)
    assert answer.results[0].index == 1
    assert len(answer.results) == 2
    assert all(0 <= result.relevance_score <= 1 for result in answer.results)
    assert answer.meta.api_version.version == ("2" if client == "ClientV2" else "1")
