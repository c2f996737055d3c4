"""Preparing the examples that both stages are fitted on: their embeddings, signals, and gains by proxy."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from pearl.errors import InputError
from retriever.history.signals import SignalIndex
from retriever.history.word_weights import WordWeights
from retriever.models.encoder import Encoder
from training.data.records import Example
from training.data.selection import Selection, select
from training.data.split import BY_USERS, DataSplit
from training.gains.groups import read_groups, selection_among
from training.gains.proxy import ProxyScales, unlabelled_examples
from training.progress import progress_of
from training.run import EMBEDDED_BY, Run, TrainingOptions

MOST_PROXIES = 900  # of all users together, where they are split by time
LEARNED, ASKED = 1, 3  # so much fewer proxies to choose by than to learn from
THINNED = 0.08  # share of examples without times, and of examples without the documents' requests


@dataclass(frozen=True, slots=True)
class FitMaterial:
    """The examples to fit on, with signals. ``train``, ``dev``: with true gains; ``warm``, ``warm_dev``: with gains by
    proxy (estimated); ``chosen``: what Algorithm 1 selects from ``train``; ``scales``: estimate gains by proxy."""

    train: list[Example]
    dev: list[Example]
    warm: list[Example]
    warm_dev: list[Example]
    chosen: Selection
    scales: ProxyScales


def proxies_of(run: Run, division: DataSplit) -> tuple[list[Example], list[Example]]:
    """Make examples of past texts whose gains are to be estimated, and are 0 until then: some to learn from, some to
    choose by."""
    options, way = run.options, division.way

    def of(split: str, part: int) -> list[Example]:
        of_each = [
            unlabelled_examples(
                corpus,
                split,
                way,
                (options.proxies if way == BY_USERS else MOST_PROXIES // len(corpus.histories)) // part,
                options,
            )
            for corpus in run.corpora
            if options.proxies
        ]
        # in turns: where time is up before all are embedded, each domain has as many
        return [example for turn in zip_longest(*of_each) for example in turn if example is not None]

    return of(division.learned, LEARNED), of(division.asked, ASKED)


def material_of(run: Run, division: DataSplit, words: WordWeights) -> FitMaterial:
    """Compute signals for the scored examples, add examples with estimated gains, and select the training groups.

    Added examples whose texts cannot be embedded in time are left out.
    """
    learned, asked = proxies_of(run, division)
    texts = texts_of([*division.train, *division.dev])
    known = set(texts)
    more = [text for text in texts_of([*asked, *learned]) if text not in known]
    with progress_of("embedding", len(texts) + len(more), run.console) as advance:
        run.encoder.prepare(texts, advance)
        run.encoder.prepare(more, advance, run.budget.until(EMBEDDED_BY))
    learned, asked = (
        [example for example in part if all(map(run.encoder.knows, texts_of([example])))] for part in (learned, asked)
    )
    scales = ProxyScales.fit(division.train, run.encoder, words)
    run.console.print(
        f"{len(division.train):,} scored requests to train on and {len(division.dev):,} to choose by; "
        f"{len(learned):,} labelled by likeness to what was written (with the gain: "
        + ", ".join(f"{corpus.name} r = {scales.of(corpus.name).pearson_r:.2f}" for corpus in run.corpora)
        + ").",
        highlight=False,
        soft_wrap=True,
    )
    warm = thinned(list(map(scales.label, learned)), run.options.seed)
    parts = (division.train, division.dev, warm, list(map(scales.label, asked)))
    with progress_of("signals", sum(map(len, parts)), run.console) as advance:
        train, dev, warm, warm_dev = (with_signals(part, run.encoder, words, advance) for part in parts)
    return FitMaterial(train, dev, warm, warm_dev, chosen_of(train, run.options), scales)


def with_signals(
    examples: Sequence[Example],
    encoder: Encoder,
    words: WordWeights,
    advance: Callable[[int, bool], None] = lambda items, now: None,
) -> list[Example]:
    """Compute each candidate's signals (the features that the head reads), and return the examples with them."""
    described = []
    for example in examples:
        signals = SignalIndex(example.documents, encoder, words).signals(example.request)
        described.append(replace(example, signals=signals))
        advance(1, True)
    return described


def thinned(examples: Sequence[Example], seed: int) -> list[Example]:
    """Remove times, or documents' own requests, from some examples, so that the head learns to do without them."""
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
    """Return all texts of the examples that need an embedding, without duplicates, in order."""
    texts: dict[str, None] = {}
    for example in examples:
        texts[example.request.text] = None
        texts[example.target] = None
        for document in example.documents:
            texts[document.text] = None
            texts[document.request or document.text] = None
    return list(texts)


def chosen_of(train: Sequence[Example], options: TrainingOptions) -> Selection:
    """Select training groups by the paper's Algorithm 1, or read the file ``options.groups``. Raises InputError."""
    if options.groups is not None:
        return selection_among(read_groups(options.groups), train, options.groups)
    chosen = select(train, options.selection)
    if not chosen.groups:
        raise InputError(
            f"Of no request that is kept there are more candidates than the {options.positives} positives; keep a "
            "larger share, or take fewer positives."
        )
    return chosen
