from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pearl.errors import InputError
from pearl.text.history.partition import DEV, TRAIN
from retriever.history.signals import NAMES, SignalIndex
from retriever.history.word_weights import WordWeights
from training.data.histories import Corpus
from training.data.split import BY_USERS, DataSplit
from training.fit.material import THINNED, chosen_of, proxies_of, texts_of, thinned, with_signals
from training.gains.proxy import likenesses
from training.run import TrainingOptions


def options(**changed: Any) -> TrainingOptions:
    return TrainingOptions((), Path("model"), Path("work"), **changed)


def test_what_is_selected_is_what_is_asked_for(make_examples):
    examples = make_examples(6)
    assert len(chosen_of(examples, options(share=1.0)).groups) == 6 * 2
    assert len(chosen_of(examples, options(share=0.5, positives=3)).groups) == 3 * 3
    groups = chosen_of(examples, options(negatives=1)).groups
    assert {len(group.documents) for group in groups} == {2}
    for nothing in ({"share": 0.0}, {"positives": 6}):
        with pytest.raises(InputError, match="keep a larger share, or take fewer positives"):
            chosen_of(examples, options(**nothing))


def test_proxies_of_several_domains_come_in_turns(writings, users_in, write_lines, make_run):
    """A run whose time is up while it embeds them has as many of each."""
    lines = writings(users_in(TRAIN, 1), documents=9), writings(users_in(TRAIN, 2), documents=9)
    corpora = [
        Corpus.read(write_lines(some, f"{name}.jsonl")) for name, some in zip(("chat", "git"), lines, strict=True)
    ]
    learned, asked = proxies_of(make_run(*corpora, proxies=2), DataSplit(TRAIN, DEV, [], [], BY_USERS, ()))
    assert [example.domain for example in learned] == ["chat", "git", "chat", "git", "git", "git"]
    assert asked == []


def test_every_example_gets_the_signals_of_its_candidates(make_examples, word_encoder):
    examples, weights = make_examples(3), WordWeights.count(["the wheel"])
    told: list[int] = []
    found = with_signals(examples, word_encoder(), weights, lambda items, now: told.append(items))
    assert told == [1, 1, 1]
    for each, example in zip(found, examples, strict=True):
        assert each.signals.shape == (6, len(NAMES))
        expected = SignalIndex(example.documents, word_encoder(), weights).signals(example.request)
        assert np.array_equal(each.signals, expected)
        assert each.gains is example.gains


def test_some_lose_their_times_and_some_the_requests(make_examples):
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


def test_every_text_that_signals_and_proxies_need(make_examples, word_encoder):
    examples = make_examples(2)
    encoder = word_encoder()
    with_signals(examples, encoder, WordWeights.count([]))
    for example in examples:
        likenesses(example, encoder, WordWeights.count([]))
    texts = texts_of(examples)
    assert len(texts) == len(set(texts))
    assert {*encoder.encoded, *(example.request.text for example in examples)} == set(texts)
