from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pearl.records import Document, Request
from retriever.calibrated.head import SignalHead
from retriever.calibrated.retriever import CalibratedParts
from retriever.history.signals import SignalIndex
from retriever.history.word_weights import WordWeights
from tests.conftest import head_of
from training.fit.expectation import (
    FEWEST,
    HELD_BACK,
    LEAST,
    LONGEST,
    REQUESTS,
    ExpectationOptions,
    Observation,
    fit_expectation,
    in_their_order,
    learn_expectation,
)

SILENT = Console(file=StringIO())
EVEN = WordWeights.count(["the wheel"])


def heard(users: int, lists: int, seed: int = 0) -> list[Observation]:
    """Logits of what is known, and of what request and text have in common, with some noise."""
    draw = np.random.default_rng(seed)
    found = []
    for number in range(users * lists):
        known = draw.normal(0, 1, (30, 3)).astype(np.float32)
        asked, text, own = (_unit(draw.normal(0, 1, shape)) for shape in ((8,), (30, 8), (30, 8)))
        logits = 0.5 + 0.7 * known[:, 2] + 2.0 * (text @ asked) - own[:, 0] + draw.uniform(-0.2, 0.2, 30)
        found.append(Observation(f"user {number % users}", known, asked, text, own, logits.astype(np.float32)))
    return found


def _unit(values: Any) -> Any:
    return (values / np.linalg.norm(values, axis=-1, keepdims=True)).astype(np.float32)


def test_it_learns_what_signals_and_embeddings_say() -> None:
    learned = fit_expectation(heard(24, 10), ExpectationOptions())
    assert learned.report["explained"] > 0.9
    assert learned.report["pairs"] == 24 * 10 * 30
    assert learned.report["pairs_held_back"] == 24 // HELD_BACK * 10 * 30
    others = heard(3, 10, seed=1)
    off = [_off(learned.expectation, each) for each in others]
    assert np.mean(np.concatenate(off) > learned.beyond) < 0.02
    assert 0.15 < learned.beyond < 1.0


def _off(expectation: Any, each: Observation) -> Any:
    features: Any = SimpleNamespace(
        request_vector=each.request_vector,
        text_vectors=each.text_vectors,
        own_vectors=each.own_vectors,
        order=np.arange(len(each.logits)),
    )
    return each.logits - expectation.logits(each.known[:, :-1], each.known[:, -1], features)


def test_cross_encoders_that_say_one_thing() -> None:
    same = [
        Observation(
            each.user, each.known, each.request_vector, each.text_vectors, each.own_vectors, np.full(30, 2, np.float32)
        )
        for each in heard(8, 3)
    ]
    learned = fit_expectation(same, ExpectationOptions())
    assert np.abs(_off(learned.expectation, same[0])).max() < 0.05
    assert np.isfinite(learned.beyond)
    assert np.isfinite(learned.report["explained"])


class Length:
    """A cross-encoder that counts letters."""

    def __init__(self) -> None:
        self.read: list[tuple[Request, list[Document]]] = []

    def logits(self, request: Request, documents: Sequence[Document]) -> Any:
        self.read.append((request, list(documents)))
        return np.array([len(document.text) / 100 for document in documents], np.float32)


def histories(users: int, documents: int) -> dict[str, list[Document]]:
    return {
        f"c:{user}": [
            Document(
                f"{user}-{place}", f"text {place} of {user} {'and more ' * (place % 7)}", 100.0 * place, f"ask {place}"
            )
            for place in range(documents)
        ]
        for user in range(users)
    }


@pytest.fixture
def parts() -> Any:
    head: SignalHead = head_of({"cosine_text": 1.0}, 0.0)
    model: Any = Length()
    return CalibratedParts(EVEN, head, model)


def test_it_listens_to_what_was_read_of_long_histories(parts: Any, word_encoder: Any) -> None:
    written = histories(FEWEST // REQUESTS + 1, LEAST + 10) | {"c:short": histories(1, LEAST)["c:0"]}
    learned = learn_expectation(written, parts, word_encoder(), lambda: True, SILENT, 0)
    assert learned is not None
    assert learned.report["explained"] > 0.3
    read = parts.cross_encoder.read
    assert 2 * (FEWEST // REQUESTS) < len(read) <= REQUESTS * (FEWEST // REQUESTS + 1)
    for request, documents in read:
        assert len(documents) <= LONGEST
        assert all(document.timestamp < request.timestamp for document in documents)
        assert len({document.id for document in documents}) == len(documents)
        assert len({document.id.partition("-")[0] for document in documents}) == 1


def test_too_little_to_learn_from(parts: Any, word_encoder: Any) -> None:
    assert learn_expectation(histories(3, LEAST), parts, word_encoder(), lambda: True, SILENT, 0) is None
    assert learn_expectation(histories(3, LEAST + 5), parts, word_encoder(), lambda: True, SILENT, 0) is None
    many = histories(FEWEST, LEAST + 5)
    left = iter([True] * 5 + [False])
    assert learn_expectation(many, parts, word_encoder(), lambda: next(left), SILENT, 0) is None  # the time was up


def test_embeddings_in_the_documents_order(word_encoder: Any) -> None:
    documents = [Document("b", "the later text", 20.0, "later"), Document("a", "an earlier one", 10.0, None)]
    features = SignalIndex(documents, word_encoder(), EVEN).features(Request("a wheel", 30.0))
    texts, own = in_their_order(features)
    encoder = word_encoder()
    assert texts == pytest.approx(encoder.encode_documents(["the later text", "an earlier one"]))
    assert own == pytest.approx(encoder.encode_documents(["later", "an earlier one"]))


def test_where_one_text_has_no_time_the_others_are_not_used(parts: Any, word_encoder: Any) -> None:
    written = {
        user: [replace(documents[0], timestamp=None), *documents[1:]]
        for user, documents in histories(3, LEAST + 10).items()
    }
    assert learn_expectation(written, parts, word_encoder(), lambda: True, SILENT, 0) is None
    assert parts.cross_encoder.read
    for request, documents in parts.cross_encoder.read:
        assert {request.timestamp, *(document.timestamp for document in documents)} == {None}
