"""Signals of examples, as the head is trained on them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from pearl.records import Document
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
    found = []
    for example in examples:
        signals = SignalIndex(example.documents, encoder, words).features(example.request).signals
        found.append(replace(example, signals=signals))
        advance(1, True)
    return found


def thinned(examples: Sequence[Example], seed: int) -> list[Example]:
    """Some without what a history may not have, so that the head has seen that, too."""
    draw = random.Random(f"{seed}:thinned")
    found = []
    for example in examples:
        place = draw.random()
        if place < THINNED:
            found.append(_with_documents(example, [replace(each, timestamp=None) for each in example.documents]))
        elif place < 2 * THINNED:
            found.append(_with_documents(example, [replace(each, request=None) for each in example.documents]))
        else:
            found.append(example)
    return found


def _with_documents(example: Example, documents: Sequence[Document]) -> Example:
    return replace(example, documents=tuple(documents))


def texts_of(examples: Sequence[Example]) -> list[str]:
    """Every text whose embedding the signals and the proxies of these examples need, each once, in their order."""
    found: dict[str, None] = {}
    for example in examples:
        found[example.request.text] = None
        found[example.target] = None
        for document in example.documents:
            found[document.text] = None
            found[document.request or document.text] = None
    return list(found)
