"""What every retriever must do, and what each one computes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from pearl.errors import InputError, NotFound
from pearl.records import Document, Request, ScoredDocument
from retriever.base import UNCALIBRATED, Index, Retriever, order
from retriever.baselines.bm25 import BM25Retriever
from retriever.baselines.dense import (
    DAMPING,
    DenseRequestsRetriever,
    DenseRetriever,
    DenseSumRetriever,
    FusionRetriever,
    ranks,
)
from retriever.baselines.likelihood import PROMPT, LikelihoodRetriever
from retriever.baselines.trivial import RandomRetriever, RecentRetriever
from retriever.history.lexical import words
from retriever.models.auxiliary import PairGroup
from retriever.registry import UNTRAINED, make_retriever

TEXTS = [
    "The index is rebuilt when the cache is stale.",
    "Bread needs flour, water, salt and a lot of time.",
    "Reset the index before you clear the cache.",
    "Wir treffen uns morgen um acht am Bahnhof.",
    "Sourdough bread rises slowly in a cold kitchen.",
    "The train to Oslo leaves from platform four.",
]
REQUEST = Request("how do I bake bread?")
ODD = [
    "",
    "   ",
    "\U0001f600\U0001f680 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "שלום, מה שלומך היום?",
    "今日はパンを焼きます。",
]


def history(texts: Sequence[str]) -> list[Document]:
    return [Document(str(number), text, 1000.0 + number) for number, text in enumerate(texts)]


@pytest.fixture(params=UNTRAINED)
def retriever(request, encoder, causal_folder, tmp_path, monkeypatch) -> Retriever:
    """Each of those that need no training; likelihood with a tiny model."""
    if request.param == LikelihoodRetriever.name:
        monkeypatch.setenv("PEARL_HOME", str(tmp_path))  # which keeps the likelihoods
        return LikelihoodRetriever(str(causal_folder))
    return make_retriever(request.param, encoder)


def test_its_name_is_the_one_it_is_asked_for_by(encoder):
    assert [make_retriever(name, encoder).name for name in UNTRAINED] == list(UNTRAINED)
    assert all(make_retriever(name, encoder).calibration == UNCALIBRATED for name in UNTRAINED)


def test_a_name_that_is_not_there(encoder):
    others = "bm25, dense, dense-requests, dense-sum, fusion, likelihood, random, recent"
    with pytest.raises(NotFound, match=others) as caught:
        make_retriever("BM25", encoder)
    assert (caught.value.exit_status, caught.value.param) == (2, "model")


def test_every_document_comes_back_once_best_first(retriever):
    documents = history(TEXTS)
    ranking = retriever.rank(REQUEST, documents)
    assert sorted(found.document.id for found in ranking) == sorted(document.id for document in documents)
    scores = [found.score for found in ranking]
    assert scores == sorted(scores, reverse=True)
    assert all(type(score) is float and math.isfinite(score) for score in scores)


def test_the_ranking_is_the_order_of_the_scores(retriever):
    documents = history(TEXTS)
    index = retriever.index(documents)
    scores = index.scores(REQUEST)
    assert (scores.dtype, scores.shape) == (np.float32, (len(TEXTS),))
    assert retriever.rank(REQUEST, documents) == order(documents, scores)
    assert np.array_equal(index.scores(REQUEST), scores)


def test_an_empty_history(retriever):
    assert retriever.rank(REQUEST, []) == []
    assert retriever.index([]).scores(REQUEST).shape == (0,)


def test_an_updated_index_scores_as_a_fresh_one(retriever):
    index = retriever.index(history(TEXTS[:2]))
    for texts in ([*TEXTS[1:], *TEXTS[:2]], [], TEXTS[3:]):
        documents = history(texts)
        index = retriever.update(index, documents)
        assert np.array_equal(index.scores(REQUEST), retriever.index(documents).scores(REQUEST))


def test_a_single_document(retriever):
    (found,) = retriever.rank(REQUEST, history(TEXTS[1:2]))
    assert math.isfinite(found.score)


@pytest.mark.parametrize(
    "texts",
    [["", "", ""], [" \n", "!?", "..."], ODD, [*ODD, *TEXTS], ["the same"] * 5, ["word " * 20_000, "x" * 100_000, "a"]],
)
def test_odd_texts_and_requests_have_finite_scores(retriever, texts):
    index = retriever.index(history(texts))
    for asked in ("bread", "\U0001f600", "שלום", "パン", "?!", "the same " * 2000):
        scores = index.scores(Request(asked))
        assert scores.shape == (len(texts),)
        assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "retriever", [name for name in UNTRAINED if name != "random"], indirect=True
)  # random scores never tie
def test_of_equal_documents_the_newest_comes_first(retriever):
    documents = history(["the same"] * 4)
    assert [found.document.id for found in retriever.rank(REQUEST, documents)] == ["3", "2", "1", "0"]


@pytest.mark.parametrize("retriever", ["bm25", "dense", "dense-requests", "dense-sum", "fusion"], indirect=True)
def test_what_is_asked_for_is_found(retriever):
    best = retriever.rank(Request("bread in a cold kitchen"), history(TEXTS))[0]
    assert best.document.text == TEXTS[4]


@pytest.mark.slow
def test_likelihood_with_the_embedded_model(likelihood):
    test_what_is_asked_for_is_found(likelihood)
    index = likelihood.index(history([*ODD, "word " * 20_000]))  # the tiny model has read them with every request
    assert np.isfinite(index.scores(Request("\U0001f600 שלום パン ?! " * 500))).all()


def test_order_breaks_ties_by_age_only():
    documents = history("abcde")
    scores = np.array([0.5, 2.0, 0.5, -1.0, 2.0], np.float32)
    assert order(documents, scores) == [
        ScoredDocument(documents[position], float(scores[position])) for position in (4, 1, 2, 0, 3)
    ]


def test_bm25_is_rank_bm25s():
    tokenised = [words(text) for text in TEXTS]
    expected = BM25Okapi(tokenised, k1=1.5, b=0.75).get_scores(["bake", "bread", "in", "a", "kitchen"])
    scores = BM25Retriever().index(history(TEXTS)).scores(Request("Bake BREAD: in a kitchen!"))
    assert np.array_equal(scores, expected.astype(np.float32))
    assert scores[4] == scores.max() > 0


def test_bm25_by_hand():
    """Two words among four documents of lengths 2, 1, 1, 4: average 2."""
    texts = ["bread bread", "salt", "water", "bread and more salt"]
    idf = {"salt": 0.0, "rare": math.log((4 - 1 + 0.5) / (1 + 0.5))}  # salt and bread: log(2.5 / 2.5)
    expected = [idf["salt"], 0.0, idf["rare"] * 1 * (1.5 + 1) / (1 + 1.5 * (1 - 0.75 + 0.75 * 1 / 2)), idf["salt"]]
    scores = BM25Retriever().index(history(texts)).scores(Request("bread salt water"))
    assert scores.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Don't STOP_now, x2!", ["don", "t", "stop_now", "x2"]),
        ("Größe Ünïcode", ["grösse", "ünïcode"]),
        ("שלום עולם", ["שלום", "עולם"]),
        ("日本語 です", ["日本", "本語", "です"]),
        ("\U0001f600 ... \n", []),
        ("", []),
    ],
)
def test_words_of_any_script(text, found):
    assert words(text) == found


def test_dense_is_the_inner_product_of_the_vectors(encoder):
    scores = DenseRetriever(encoder).index(history(TEXTS)).scores(REQUEST)
    vectors = np.concatenate([encoder.encode_documents([text]) for text in TEXTS])
    expected = vectors @ encoder.encode_request(REQUEST.text)[0]
    # one by one and together: in bfloat16 the batch shows in the third decimal
    assert scores.tolist() == pytest.approx(expected.tolist(), abs=3e-3)
    assert set(np.argsort(scores)[-2:]) == {1, 4}


class FixedRetriever(Retriever):
    """Gives scores that are set beforehand."""

    name = "fixed"

    def __init__(self, scores: Sequence[float]) -> None:
        self._scores = np.array(scores, np.float32)

    def index(self, documents: Sequence[Document]) -> Index:
        return self

    def scores(self, request: Request, clock: Any = None) -> Any:
        return self._scores


def test_fusion_adds_reciprocal_ranks():
    fusion = FusionRetriever([FixedRetriever([0.1, 9.0, 0.5]), FixedRetriever([-7.0, -8.0, -9.0])])
    scores = fusion.index(history("abc")).scores(REQUEST)
    assert DAMPING == 60
    expected = [1 / (60 + 3) + 1 / (60 + 1), 1 / (60 + 1) + 1 / (60 + 2), 1 / (60 + 2) + 1 / (60 + 3)]
    assert scores.tolist() == pytest.approx(expected)


def test_in_fusion_equal_scores_share_the_mean_of_their_places():
    assert ranks(np.array([5, 7, 5, 1, 5], np.float32)).tolist() == [3, 1, 3, 5, 3]  # (2 + 3 + 4) / 3
    assert ranks(np.array([0, 0], np.float32)).tolist() == [1.5, 1.5]
    assert ranks(np.zeros(0, np.float32)).tolist() == []


def test_fusion_is_of_bm25_and_dense(encoder):
    documents = history(TEXTS)
    lexical = ranks(BM25Retriever().index(documents).scores(REQUEST))
    dense = ranks(DenseRetriever(encoder).index(documents).scores(REQUEST))
    fused = make_retriever("fusion", encoder).index(documents).scores(REQUEST)
    assert fused.tolist() == pytest.approx([1 / (60 + a) + 1 / (60 + b) for a, b in zip(lexical, dense, strict=True)])


def test_random_is_the_same_for_the_same_seed():
    documents = history(TEXTS)

    def scores(seed: int, asked: str = "bread") -> list[float]:
        return RandomRetriever(seed).index(documents).scores(Request(asked)).tolist()

    assert scores(1) == scores(1)
    assert scores(1) != scores(2)
    assert scores(1) != scores(1, "salt")


def test_random_is_uniform():
    scores = RandomRetriever().index(history(["a"] * 10_000)).scores(REQUEST)
    assert (scores >= 0).all()
    assert (scores < 1).all()
    assert abs(scores.mean() - 0.5) < 4 * math.sqrt(1 / 12 / 10_000)  # four standard errors


def test_recent_is_by_time_where_every_document_has_one():
    times = [30.0, 10.0, 40.0, 20.0, 40.0]
    documents = [Document(str(number), "text", time) for number, time in enumerate(times)]
    found = RecentRetriever().rank(REQUEST, documents)
    assert [each.document.id for each in found] == ["4", "2", "0", "3", "1"]  # of the same time the later one
    assert [each.score for each in found] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])

    documents[2] = Document("2", "text")
    assert [each.document.id for each in RecentRetriever().rank(REQUEST, documents)] == ["4", "3", "2", "1", "0"]


def test_dense_requests_is_dense_over_the_requests_and_texts_without_one(encoder):
    documents = [Document("0", TEXTS[0], request="bread"), Document("1", TEXTS[1]), Document("2", TEXTS[4], request="")]
    scores = DenseRequestsRetriever(encoder).index(documents).scores(REQUEST)
    expected = DenseRetriever(encoder).index(history(["bread", TEXTS[1], TEXTS[4]])).scores(REQUEST)
    assert np.array_equal(scores, expected)


def test_the_sum_of_both_cosines_counts_the_text_twice_where_there_is_no_request(encoder):
    asked = [("to me", "bread"), ("a loaf", None), (TEXTS[4], "something else")]
    documents = [Document(str(number), text, request=request) for number, (text, request) in enumerate(asked)]
    scores = DenseSumRetriever(encoder).index(documents).scores(REQUEST)
    texts = DenseRetriever(encoder).index(documents).scores(REQUEST)
    requests = DenseRetriever(encoder).index(history(["bread", "a loaf", "something else"])).scores(REQUEST)
    assert scores.tolist() == pytest.approx((texts + requests).tolist())
    assert scores[1] == pytest.approx(2 * texts[1])


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_likelihood_is_the_mean_of_the_requests_tokens_after_the_document(
    kind, request, encoder, monkeypatch, tmp_path
):
    """Of the paper's kind of model, FLAN-T5, as well, which is named behind a colon."""
    monkeypatch.setenv("PEARL_HOME", str(tmp_path))
    monkeypatch.setattr("retriever.models.load_auxiliary.prefers_bfloat16", lambda device: False)
    folder = request.getfixturevalue(f"{kind}_folder")
    retriever = make_retriever(f"likelihood:{folder}", encoder)
    assert isinstance(retriever, LikelihoodRetriever)
    assert retriever.name == f"likelihood:{folder}"
    model = retriever.load()
    documents = history([*TEXTS, "x" * 500])
    index = retriever.index(documents)
    for asked in ("a wheel", "how do I bake bread? " * 30):
        target = tuple(model.encode(asked))[:256]
        assert target
        expected = []
        for document in documents:
            prompt = PROMPT.replace("{document}", document.text[:160])  # a byte is a token
            ((found,),) = model.likelihoods([PairGroup((tuple(model.encode(prompt)),), (target,))])
            expected.append(found.total / len(target))
        assert index.scores(Request(asked)).tolist() == pytest.approx(expected, rel=1e-3)
    assert index.scores(Request("")).tolist() == [0.0] * len(documents)


def test_a_model_that_is_not_there_gives_no_likelihood(encoder, monkeypatch, tmp_path):
    monkeypatch.setenv("PEARL_HOME", str(tmp_path))
    with pytest.raises(InputError, match="'no/model' cannot be loaded"):
        make_retriever("likelihood:no/model", encoder).index(history(TEXTS)).scores(REQUEST)
