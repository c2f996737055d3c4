"""Signals of examples, as the head is trained on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from retriever.history.signals import SignalIndex
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import Encoder
from training.data.records import Example

THINNED = 0.08  # share of examples without times, and of examples without the documents' requests


def with_signals(
    examples: Sequence[Example],
    encoder: Encoder,
    words: WordWeights,
    advance: Callable[[int, bool], None] = lambda items, now: None,
) -> list[Example]:
    """The examples with the signals of their candidates."""
    described = []
    for example in examples:
        signals = SignalIndex(example.documents, encoder, words).signals(example.request)
        described.append(replace(example, signals=signals))
        advance(1, True)
    return described


def thinned(examples: Sequence[Example], seed: int) -> list[Example]:
    """Some without what a history may not have, so that the head has seen that, too."""
    draw = random.Random(f"{seed}:thinned")
    thinned_examples = []
    for example in examples:
        place = draw.random()
        documents = example.documents
        if place < THINNED:
            documents = tuple(replace(document, timestamp=None) for document in documents)
        elif place < 2 * THINNED:
            documents = tuple(replace(document, request=None) for document in documents)
        thinned_examples.append(replace(example, documents=documents))
    return thinned_examples


def texts_of(examples: Sequence[Example]) -> list[str]:
    """Every text whose embedding the signals and the proxies of these examples need, each once, in their order."""
    texts: dict[str, None] = {}
    for example in examples:
        texts[example.request.text] = None
        texts[example.target] = None
        for document in example.documents:
            texts[document.text] = None
            texts[document.request or document.text] = None
    return list(texts)
