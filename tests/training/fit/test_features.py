from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retriever.history.signals import NAMES, SignalIndex
from retriever.history.word_weights import WordWeights
from training.data.records import Example
from training.fit.features import THINNED, texts_of, thinned, with_signals
from training.gains.proxy import likenesses


def test_every_example_gets_the_signals_of_its_candidates(
    make_examples: Callable[..., list[Example]], word_encoder: Any
) -> None:
    examples, weights = make_examples(3), WordWeights.count(["the wheel"])
    told: list[int] = []
    found = with_signals(examples, word_encoder(), weights, lambda items, now: told.append(items))
    assert told == [1, 1, 1]
    for each, example in zip(found, examples, strict=True):
        assert each.signals.shape == (6, len(NAMES))
        expected = SignalIndex(example.documents, word_encoder(), weights).signals(example.request)
        assert np.array_equal(each.signals, expected)
        assert each.gains is example.gains


def test_some_lose_their_times_and_some_the_requests(make_examples: Callable[..., list[Example]]) -> None:
    examples = make_examples(600)
    found = thinned(examples, seed=3)
    untimed = [each for each in found if each.documents[0].timestamp is None]
    unasked = [each for each in found if each.documents[0].request is None]
    assert abs(len(untimed) / 600 - THINNED) < 0.04
    assert abs(len(unasked) / 600 - THINNED) < 0.04
    assert not {id(each) for each in untimed} & {id(each) for each in unasked}
    assert all(mine.gains is given.gains for mine, given in zip(found, examples, strict=True))
    assert [each.documents for each in thinned(examples, seed=3)] == [each.documents for each in found]
    assert thinned([], seed=3) == []


def test_every_text_that_signals_and_proxies_need(
    make_examples: Callable[..., list[Example]], word_encoder: Any
) -> None:
    examples = make_examples(2)
    encoder = word_encoder()
    with_signals(examples, encoder, WordWeights.count([]))
    for example in examples:
        likenesses(example, encoder, WordWeights.count([]))
    texts = texts_of(examples)
    assert len(texts) == len(set(texts))
    assert {*encoder.encoded, *(example.request.text for example in examples)} == set(texts)
