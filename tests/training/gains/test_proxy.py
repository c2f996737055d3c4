from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pearl.records import Document, Request
from pearl.text.history.partition import TEST, TRAIN
from retriever.history.word_weights import WordWeights
from training.data.histories import Corpus
from training.data.records import Example
from training.data.split import BY_USERS
from training.gains.proxy import (
    DOCUMENT_WORDS,
    LEAST_SCORED,
    LIKENESSES,
    ProxyScale,
    ProxyScales,
    likenesses,
    unlabelled_examples,
)
from training.run import TrainingOptions, TrainingPlan


def example(target: str, *texts: str, request: str = "r") -> Example:
    documents = tuple(Document(str(number), text) for number, text in enumerate(texts))
    return Example("u", "t", Request(request), documents, np.zeros(len(texts), np.float32), target)


def weigh(text: str) -> WordWeights:
    return WordWeights.count([text])  # of the words there log(2 / 1.5), of others log(2 / 0.5)


KNOWN, NEW = math.log(2 / 1.5), math.log(2 / 0.5)


def test_likenesses_by_hand(word_encoder):
    texts = ("a b c x", "B c, a b", "", "d c b a", "a b a b")
    found = likenesses(example("a b c d", *texts, request="b?"), word_encoder(), weigh("a"))
    # ab bc and abc; bc ab; nothing; nothing; ab once
    assert found[:, :2].tolist() == [[2, 1], [2, 0], [0, 0], [0, 0], [1, 0]]
    # a b c; a b c; nothing; all; a b - and without b, which the request has
    weights = [(KNOWN + 2 * NEW, KNOWN + NEW, 2)] * 2 + [(0, 0, 0), (KNOWN + 3 * NEW, KNOWN + 2 * NEW, 3)]
    assert found[:, 2:5] == pytest.approx(np.array([*weights, (KNOWN + NEW, KNOWN, 1)]), abs=1e-5)
    assert found[3, 5] == pytest.approx(1.0, abs=1e-5)  # to an encoder of words the order is nothing
    assert found[2, 5] < found[0, 5] < 1.0
    assert found[:, 6].tolist() == [4, 3, 0, 4, 2]


def test_only_what_the_auxiliary_model_sees_counts(word_encoder):
    late = "x " * (DOCUMENT_WORDS - 1)
    texts = late + "a b", "x " * (DOCUMENT_WORDS - 2) + "a b"
    assert likenesses(example("a b", *texts), word_encoder(), weigh("a"))[:, :2].tolist() == [[0, 0], [1, 0]]


def test_the_scale_is_least_squares():
    inputs = np.random.default_rng(0).normal(size=(40, LIKENESSES))
    true = np.arange(LIKENESSES) - 2.0
    scale = ProxyScale.fit(inputs, (inputs @ true - 1.0).astype(np.float32))
    assert scale.weights == pytest.approx((*true, -1.0), abs=1e-4)
    assert scale.pearson_r == pytest.approx(1.0)
    labels = scale.gains(np.array([np.ones(LIKENESSES), np.zeros(LIKENESSES)]))
    assert labels.tolist() == pytest.approx([true.sum() - 1, -1.0], abs=1e-4)
    assert labels.dtype == np.float32


def test_where_nothing_is_alike_the_scale_is_finite():
    scale = ProxyScale.fit(np.zeros((2, LIKENESSES)), np.array([2.0, 4.0], np.float32))
    assert scale.weights == pytest.approx((0.0,) * LIKENESSES + (3.0,), abs=1e-6)
    assert scale.pearson_r == 0.0


def test_each_domain_has_its_own_scale_if_it_has_enough_gains(word_encoder):
    """What two texts share is worth ten times as much in one domain, and the third has too few gains to tell."""
    draw = random.Random(0)

    def of(domain: str, nats: float, requests: int) -> list[Example]:
        found = []
        for number in range(requests):
            target, *texts = (" ".join(draw.choices("abcdef", k=6)) for _ in range(5))
            made = replace(example(target, *texts), domain=domain, request_id=str(number))
            shared = likenesses(made, word_encoder(), weigh("a"))[:, 0]
            found.append(replace(made, gains=(nats * shared).astype(np.float32)))
        return found

    examples = [*of("git", 10.0, LEAST_SCORED), *of("chat", 1.0, LEAST_SCORED), *of("mail", 5.0, LEAST_SCORED - 1)]
    scales = ProxyScales.fit(examples, word_encoder(), weigh("a"))
    assert set(scales.own) == {"git", "chat"}
    for domain, nats in (("git", 10.0), ("chat", 1.0)):
        assert scales.of(domain).weights[0] == pytest.approx(nats, abs=1e-3)
        assert scales.of(domain).pearson_r == pytest.approx(1.0, abs=1e-4)
        one = next(each for each in examples if each.domain == domain)
        assert scales.label(replace(one, gains=one.gains * 0)).gains == pytest.approx(one.gains, abs=1e-2)
    assert scales.of("mail") == scales.of("never seen") == scales.others
    assert 1.0 < scales.others.weights[0] < 10.0


PLANS = {TRAIN: TrainingPlan(3, None, 6)}
OPTIONS = TrainingOptions((), Path("model"), Path("work"), candidates=5, seed=1, plans=PLANS)


def corpus(writings: Any, **options: Any) -> Corpus:
    found: dict[str, list[Document]] = {}
    for line in writings(["ann", "ben"], **options):
        document = Document(line["id"], line["text"], line.get("timestamp"), line["request"])
        found.setdefault(line["user_id"], []).append(document)
    return Corpus("c", "", found)


def test_past_texts_with_what_was_written_before(writings):
    found = unlabelled_examples(corpus(writings), TEST, BY_USERS, 4, OPTIONS)
    assert [each.user_id for each in found] == ["c:ann"] * 4 + ["c:ben"] * 4
    for each in found:
        assert len(each.documents) == len(each.gains) == 5
        assert all(document.timestamp < each.request.timestamp for document in each.documents)
        assert each.target not in {document.text for document in each.documents}
    again = unlabelled_examples(corpus(writings), TEST, BY_USERS, 4, OPTIONS)
    assert [each.request_id for each in again] == [each.request_id for each in found]


def test_who_gives_none(writings):
    assert unlabelled_examples(corpus(writings, timed=False), TEST, BY_USERS, 4, OPTIONS) == []
    assert unlabelled_examples(corpus(writings, documents=6), TEST, BY_USERS, 4, OPTIONS) == []
    assert len(unlabelled_examples(corpus(writings, documents=7), TEST, BY_USERS, 4, OPTIONS)) == 2
    assert unlabelled_examples(Corpus("c", "", {}), TEST, BY_USERS, 4, OPTIONS) == []
