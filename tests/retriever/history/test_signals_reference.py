"""The signals against the same ones computed document by document, and an updated index against a fresh one."""

from __future__ import annotations

import gzip
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rank_bm25 import BM25Okapi
from rapidfuzz import fuzz

from pearl.records import Document, Request
from pearl.text.history.files import read_json_lines
from pearl.text.usable import parse_timestamp
from retriever.history.copies import LIKENESS_WIDTH, RECENCY_DECAY, RECENT, SEEN_WORDS, STANDING
from retriever.history.lexical import words
from retriever.history.readings import area
from retriever.history.signals import COMPARED_LETTERS, DAY, MINUTE, NAMES, UNKNOWN_GAP, SignalIndex
from retriever.history.word_weights import BUCKETS, WordWeights

ROOT = Path(__file__).parents[3]
NOW = 1_700_000_000.0
WEIGHTS = WordWeights(np.random.default_rng(0).uniform(0.1, 9.0, BUCKETS).astype(np.float32))

AREAS = ["index: ", "Cache : ", "docs: ", "", "", "x" * 70 + ": "]
VERBS = ["rebuild", "drop", "explain", "speed up", "do not copy", "répare", "إصلاح", "תקן את", "直す"]
THINGS = [
    "the index",
    "a stale cache",
    "the commit graph",
    "old packs",
    "الفهرس القديم",
    "המטמון",
    "索引",
    "\U0001f680",
]
TAILS = ["", " again", " before the next fetch", " (part 2)", "!!", " when the user asks for it and nobody else writes"]
ODD = ["", "   ", "!?", "\U0001f600\U0001f680", "word", "a", "שלום, מה שלומך היום?", "word " * 500, "x" * 3000]


def sentence(draw: random.Random) -> str:
    return draw.choice(VERBS) + " " + draw.choice(THINGS) + draw.choice(TAILS)


def text(draw: random.Random) -> str:
    if draw.random() < 0.1:
        return draw.choice(ODD)
    return ". ".join(sentence(draw) for _ in range(draw.choice([1, 1, 2, 5, 30])))


def document(draw: random.Random, number: int) -> Document:
    asked = draw.choice([None, "", draw.choice(ODD), *[draw.choice(AREAS) + sentence(draw) for _ in range(5)]])
    return Document(f"d{number}", text(draw), NOW - draw.choice([0, 60, 600, 1e5, 1e8]) * draw.random(), asked)


def history(count: int, seed: int) -> list[Document]:
    draw = random.Random(seed)
    return [document(draw, number) for number in range(count)]


def requests(seed: int) -> list[Request]:
    draw = random.Random(f"{seed}:requests")
    asked = [draw.choice(AREAS) + sentence(draw) for _ in range(4)]
    return [Request(each, NOW - draw.choice([-1e4, 1e3, 1e9])) for each in [*asked, text(draw), *draw.sample(ODD, 2)]]


class Reference:
    """The signals of every document, one after the other and from nothing kept."""

    def __init__(self, documents: Sequence[Document], encoder: Any, request: Request) -> None:
        self.request = request
        self.order = list(range(len(documents)))
        if all(each.timestamp is not None for each in documents):
            self.order.sort(key=lambda place: documents[place].timestamp or 0.0)
        self.documents = [documents[place] for place in self.order]
        self.asked = words(request.text)
        self.texts = [words(each.text) for each in self.documents]
        self.own = [words(each.request or "") for each in self.documents]
        # not one by one: the last bit decides which of texts that are as like as each other stand for the target
        vector = encoder.encode_request(request.text)[0]
        asked = [each.request or each.text for each in self.documents]
        self.cosine_text = encoder.encode_documents([each.text for each in self.documents]) @ vector
        self.cosine_request = encoder.encode_documents(asked) @ vector

    def rows(self) -> Any:
        """(C, S) in the documents' order."""
        found = [self.alone(place) for place in range(len(self.documents))]
        bm25 = {"bm25_text": self.bm25(self.texts), "bm25_request": self.bm25(self.own)}
        for name, values in (bm25 | self.copies(found)).items():
            for row, value in zip(found, values, strict=True):
                row[name] = value
        for name in NAMES:
            if name.endswith("_below_best"):
                own = name.removesuffix("_below_best")
                for row in found:
                    row[name] = row[own] - max(each[own] for each in found)
            if name.startswith("best_"):
                for row in found:
                    row[name] = max(each[name.removeprefix("best_")] for each in found)
        for row in found:
            row["log_gap_above_least"] = row["log_gap"] - min(each["log_gap"] for each in found)
        rows = np.empty((len(found), len(NAMES)))
        rows[self.order] = [[row[name] for name in NAMES] for row in found]
        return rows

    def alone(self, place: int) -> dict[str, float]:
        """What depends on the one document and the request."""
        each, asked, own = self.documents[place], self.asked, self.own[place]
        weigh = {word: float(WEIGHTS.of([word])[0]) for word in {*asked, *own}}
        total = sum(weigh[word] for word in set(asked)) or 1.0
        shared = sum(weigh[word] for word in set(asked) & set(own))
        mine, its = triples(asked), triples(own)
        said, other = " ".join(asked)[:COMPARED_LETTERS], " ".join(own)[:COMPARED_LETTERS]
        gap = None if each.timestamp is None else max((self.request.timestamp or 0.0) - each.timestamp, 0.0)
        prefix = next((n for n in range(min(len(asked), len(own)), 0, -1) if asked[:n] == own[:n]), 0)
        suffix = next((n for n in range(min(len(asked), len(own)), 0, -1) if asked[-n:] == own[-n:]), 0)
        return {
            "cosine_text": float(self.cosine_text[place]),
            "cosine_request": float(self.cosine_request[place]),
            "overlap_text": sum(weigh[word] for word in set(asked) & set(self.texts[place])) / total,
            "overlap_request": shared / total,
            "covered_request": shared / max(sum(weigh[word] for word in set(own)), 1e-6),
            "same_area": float(area(self.request.text) != "" and area(self.request.text) == area(each.request or "")),
            "trigrams_request": len(mine & its) / max(len(mine | its), 1),
            "letters_request": fuzz.ratio(said, other) / 100 if said else 0.0,
            "prefix_words": math.log1p(prefix),
            "suffix_words": math.log1p(suffix),
            "log_gap": UNKNOWN_GAP if gap is None else math.log1p(gap),
            "gap_known": float(gap is not None),
            "within_15_minutes": float(gap is not None and gap <= 15 * MINUTE),
            "within_a_day": float(gap is not None and gap <= DAY),
            "log_recency": math.log1p(len(self.documents) - 1 - place),
            "log_words": math.log1p(len(self.texts[place])),
            "log_request_words": math.log1p(len(set(asked))),
            "log_candidates": math.log1p(len(self.documents)),
            "has_request": float(bool(each.request)),
        }

    def bm25(self, tokenised: list[list[str]]) -> Any:
        if not any(tokenised):
            return [0.0] * len(tokenised)
        return BM25Okapi(tokenised).get_scores(self.asked) / max(len(set(self.asked)), 1)

    def copies(self, found: list[dict[str, float]]) -> dict[str, list[float]]:
        ngrams = [pairs_and_triples(each[:SEEN_WORDS]) for each in self.texts]
        # in float32, as the rounding decides who of equals comes first
        likeness = [float(np.float32(row["letters_request"]) + np.float32(row["cosine_request"])) for row in found]
        similar = sorted(range(len(found)), key=lambda place: -likeness[place])[:STANDING]
        closeness = [math.exp((likeness[place] - likeness[similar[0]]) / LIKENESS_WIDTH) for place in similar]
        recent = list(range(len(found)))[::-1][:RECENT]
        decay = [RECENCY_DECAY**age for age in range(len(recent))]

        def shared(place: int, standing: list[int]) -> list[float]:
            return [0.0 if place == other else math.log1p(len(ngrams[place] & ngrams[other])) for other in standing]

        def mean(place: int, standing: list[int], weights: list[float]) -> float:
            weights = [0.0 if place == other else weight for other, weight in zip(standing, weights, strict=True)]
            products = [a * b for a, b in zip(shared(place, standing), weights, strict=True)]
            return sum(products) / max(sum(weights), 1e-9)

        every = range(len(found))
        by_likeness = [mean(place, similar, closeness) for place in every]
        lengths = [math.log1p(len(each)) for each in self.texts]
        neighbours = [math.log1p(len(ngrams[place] & ngrams[place - 1])) if place else 0.0 for place in every]
        return {
            "similar_copies": by_likeness,
            "recent_copies": [mean(place, recent, decay) for place in every],
            "most_copied": [max(shared(place, similar + recent)) for place in every],
            "copied_share": [math.expm1(by_likeness[place]) / max(len(ngrams[place]), 1) for place in every],
            "similar_words": [float(np.average([lengths[place] for place in similar], weights=closeness))] * len(found),
            "recent_words": [float(np.average([lengths[place] for place in recent], weights=decay))] * len(found),
            "neighbour_copies": neighbours,
            "series": [sum(neighbours[-RECENT:]) / len(neighbours[-RECENT:])] * len(found),
        }


def triples(tokens: list[str]) -> set[str]:
    padded = f" {' '.join(tokens)} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def pairs_and_triples(tokens: list[str]) -> set[tuple[str, ...]]:
    return {tuple(tokens[start : start + size]) for size in (2, 3) for start in range(len(tokens) - size + 1)}


def check(documents: Sequence[Document], encoder: Any, asked: Request) -> None:
    found = SignalIndex(documents, encoder, WEIGHTS).signals(asked)
    expected = Reference(documents, encoder, asked).rows()
    for place, name in enumerate(NAMES):
        np.testing.assert_allclose(found[:, place], expected[:, place], rtol=2e-6, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_every_signal_is_the_one_computed_document_by_document(word_encoder, count, seed):
    for asked in requests(seed):
        check(history(count, seed), word_encoder(), asked)


@pytest.mark.parametrize("seed", range(3))
def test_also_without_requests_or_times(word_encoder, seed):
    documents = history(25, seed)
    for asked in requests(seed):
        check([replace(each, request=None) for each in documents], word_encoder(), asked)
        check([replace(each, timestamp=None) for each in documents], word_encoder(), asked)
        check([replace(each, timestamp=None) if each.id == "d3" else each for each in documents], word_encoder(), asked)


def test_also_with_the_sample_users_texts(word_encoder):
    lines = [line.value for line in read_json_lines(ROOT / "service/sample/history.jsonl")]
    documents = [
        Document(each["id"], each["text"], parse_timestamp(each["timestamp"]), each.get("request")) for each in lines
    ]
    for asked in documents[30::3]:
        check(documents[:30], word_encoder(), Request(asked.request or "", asked.timestamp))


def test_also_with_commit_messages(shared, word_encoder):
    with gzip.open(shared / "data/commits/git.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in islice(file, 130)]
    documents = [Document(each["id"], each["text"], each["timestamp"], each["request"]) for each in lines]
    for asked in documents[100::10]:
        check(documents[:100], word_encoder(), Request(asked.request or "", asked.timestamp))


def edited(documents: list[Document], draw: random.Random, number: int) -> list[Document]:
    """Some documents are gone, some are others under their ids, some are new, anywhere in time."""
    kept = [each for each in documents if draw.random() > draw.choice([0.0, 0.1, 0.9])]
    changed = [replace(document(draw, 0), id=each.id) if draw.random() < 0.1 else each for each in kept]
    again = [replace(draw.choice(documents), id=f"again{number}")] if documents and draw.random() < 0.3 else []
    new = [document(draw, 1000 * number + place) for place in range(draw.choice([0, 1, 3, 40]))]
    found = [*changed, *again, *new]
    if draw.random() < 0.2:
        draw.shuffle(found)
    return found or [document(draw, 0)]


@pytest.mark.parametrize("seed", range(12))
def test_an_updated_index_is_the_same_as_a_fresh_one(word_encoder, seed):
    draw = random.Random(f"{seed}:edits")
    documents = history(draw.choice([1, 5, 60]), seed)
    index = SignalIndex(documents, word_encoder(), WEIGHTS)
    for number in range(12):
        documents = edited(documents, draw, number)
        index = SignalIndex(documents, word_encoder(), WEIGHTS, index)
        fresh = SignalIndex(documents, word_encoder(), WEIGHTS)
        for asked in requests(seed):
            assert np.array_equal(index.signals(asked), fresh.signals(asked))


def test_only_what_is_new_is_read(word_encoder):
    documents = history(30, 1)
    index = SignalIndex(documents, word_encoder(), WEIGHTS)
    new = [document(random.Random("new"), 77), Document("x", "of course", NOW - 5.0, "really?")]
    encoder = word_encoder()
    SignalIndex([new[0], *documents[3:20], new[1], replace(documents[25], id="moved")], encoder, WEIGHTS, index)
    expected = [*(each.text for each in new), *(each.request or each.text for each in new)]
    assert Counter(encoder.encoded) == Counter(expected)


def test_of_the_same_text_twice_it_is_read_once(word_encoder):
    encoder = word_encoder()
    SignalIndex([Document("a", "same", 1.0, "one"), Document("b", "same", 2.0, "one")], encoder, WEIGHTS)
    assert encoder.encoded == ["same", "one"]
