"""How fast the auxiliary scores of equation 1 come: our scorer, and a plain loop over the same model and pairs.

The plain loop is what one writes first: float32, eight pairs a batch in the order they come, padded to the longest of
the eight, nothing of one pair used for another. Both start from text, cut and word it alike, and score a request
without a document once. They take turns in one process.

* difference: |ours - plain| / |plain| of every log p of a target, with a document and without one;
* cost of a pair against history size: all documents of one user's history as candidates of that user's next requests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from benchmarks.corpus import find_corpus
from benchmarks.figures import Figure, Measured, over_repetitions, percentile
from pearl.history.files import read_histories
from pearl.history.split import TRAIN, users_of
from pearl.records import Document
from pearl.weights.table import embedded_model_file
from retriever.models.auxiliary import AuxiliaryModel
from retriever.models.load_auxiliary import load_auxiliary
from retriever.models.smollm2 import load_smollm2
from training.gains.scoring import Scorer, few_shot_examples
from training.gains.units import GainOptions, ScoringUnit, plan_units, target_texts
from training.templates import AuxiliaryTemplate, auxiliary_template

TITLE = "Scoring pairs of request and document with the auxiliary model"
OPTIONS = GainOptions("commit", targets=4, candidates=20, least_candidates=20, users=2)
QUICK_OPTIONS = replace(
    OPTIONS, targets=1, candidates=3, users=1, target_tokens=12, document_tokens=16, request_tokens=12
)
REPETITIONS, QUICK_REPETITIONS = 3, 1
SIZES, QUICK_SIZES = (8, 32, 128), (1,)  # documents of a history
PLAIN_BATCH = 8

Pair = tuple[str, str]  # ids of request and document
Scores = dict[Pair, tuple[float, float]]  # log p of the target with the document and without, nats


@dataclass(frozen=True, slots=True)
class Work:
    """The units that both score, worded by one template."""

    units: list[ScoringUnit]
    template: AuxiliaryTemplate
    examples: tuple[str, ...]
    options: GainOptions

    @property
    def pairs(self) -> int:
        return sum(unit.size for unit in self.units)


@dataclass(frozen=True, slots=True)
class Turn:
    """One repetition, seconds."""

    ours_s: float
    plain_s: float
    ours: Scores
    plain: Scores


def measure(quick: bool) -> Measured:
    options, sizes, wanted = (QUICK_OPTIONS, QUICK_SIZES, QUICK_REPETITIONS) if quick else (OPTIONS, SIZES, REPETITIONS)
    with TemporaryDirectory(prefix="pearl-bench-") as folder:
        corpus = find_corpus(Path(folder))
        writers = users_of(read_histories(corpus.path), TRAIN)  # whoever is set aside for tests stays so
        histories = {user: list(documents) for user, documents in writers.items()}
    work = _work(histories, options)
    model, plain = load_auxiliary("embedded"), PlainScorer()
    small = replace(work, units=work.units[:1], options=replace(options, target_tokens=8))
    _ours(model, small)  # threads and allocators are set up before the clock runs
    plain.score(replace(small, units=[_first_pair(small.units[0])]))
    turns = [_take_turns(model, plain, work) for _ in range(wanted)]
    by_size = {size: _work_of_size(histories, size, options) for size in sizes}
    costs = {size: [_milliseconds_per_pair(model, each) for _ in range(wanted)] for size, each in by_size.items()}
    described = {
        "corpus": corpus.source,
        "users": len({unit.user_id for unit in work.units}),
        "pairs": work.pairs,
        "model": "SmolLM2-135M-Instruct",
        "data_type": model.fingerprint["dtype"],
        "threads": torch.get_num_threads(),
        "mean_tokens_of_a_pair": round(plain.mean_tokens),
    }
    return Measured(wanted, described, (*_figures(turns, work.pairs), *_cost_figures(costs)))


def _work(histories: dict[str, list[Document]], options: GainOptions) -> Work:
    units = plan_units(histories, options)
    examples = few_shot_examples(histories, options, target_texts(units))
    return Work(units, auxiliary_template(options.template), examples, options)


def _work_of_size(histories: dict[str, list[Document]], size: int, options: GainOptions) -> Work:
    """The oldest documents of the user with the most that answer requests, the last few of them as the requests."""
    user = max(histories, key=lambda name: (sum(bool(each.request) for each in histories[name]), name))
    answering = [document for document in histories[user] if document.request]
    some = sorted(answering, key=lambda document: document.timestamp or 0.0)[: size + options.targets]
    return _work({user: some}, replace(options, candidates=None, least_candidates=1))


def _first_pair(unit: ScoringUnit) -> ScoringUnit:
    target, ids = unit.pairs[0]
    return replace(unit, pairs=((target, frozenset(sorted(ids)[:1])),))


def _take_turns(model: AuxiliaryModel, plain: PlainScorer, work: Work) -> Turn:
    started = time.perf_counter()
    theirs = plain.score(work)
    between = time.perf_counter()
    ours = _ours(model, work)
    return Turn(time.perf_counter() - between, between - started, ours, theirs)


def _ours(model: AuxiliaryModel, work: Work) -> Scores:
    scorer = Scorer(model, work.template, work.examples, work.options)  # a new one: it remembers a user's requests
    rows = [row for unit in work.units for row in scorer.score(unit).to_pylist()]
    return {(row["request_id"], row["document_id"]): (row["log_p_with"], row["log_p_without"]) for row in rows}


def _milliseconds_per_pair(model: AuxiliaryModel, work: Work) -> float:
    started = time.perf_counter()
    _ours(model, work)
    return (time.perf_counter() - started) * 1000 / work.pairs


class PlainScorer:
    """The loop that our scorer is measured against."""

    def __init__(self) -> None:
        # the weights and the tokenizer that transformers reads of this file, in a third of the time
        loaded, self._tokenizer = load_smollm2(embedded_model_file(), torch.float32)
        self._model = loaded.eval()
        self.mean_tokens = 0.0

    def score(self, work: Work) -> Scores:
        with_document: list[tuple[list[int], list[int]]] = []
        without: dict[str, tuple[list[int], list[int]]] = {}
        pairs: list[Pair] = []
        options, template = work.options, work.template
        examples = tuple(self._cut(text, options.document_tokens) for text in work.examples)
        for unit in work.units:
            texts = {each.id: self._cut(each.text, options.document_tokens) for each in unit.documents}
            for target, ids in unit.pairs:
                request = self._cut(target.request or "", options.request_tokens)
                wanted = self._encode(target.text)[: options.target_tokens]
                without[target.id] = (self._encode(template.prompt_without(request, examples)), wanted)
                for id in sorted(ids):
                    with_document.append((self._encode(template.prompt_with(texts[id], request)), wanted))
                    pairs.append((target.id, id))
        self.mean_tokens = fmean(len(prompt) + len(wanted) for prompt, wanted in with_document)
        base = dict(zip(without, self._log_p(list(without.values())), strict=True))
        found = self._log_p(with_document)
        return {pair: (log_p, base[pair[0]]) for pair, log_p in zip(pairs, found, strict=True)}

    def _log_p(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Iterator[float]:
        for start in range(0, len(pairs), PLAIN_BATCH):
            yield from self._batch(pairs[start : start + PLAIN_BATCH])

    @torch.inference_mode()
    def _batch(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[float]:
        longest = max(len(prompt) + len(target) for prompt, target in pairs)
        tokens = torch.zeros((len(pairs), longest), dtype=torch.long)
        mask, labels = torch.zeros_like(tokens), torch.full_like(tokens, -100)
        for row, (prompt, target) in enumerate(pairs):
            end = len(prompt) + len(target)
            tokens[row, :end] = torch.tensor(prompt + target)
            mask[row, :end] = 1
            labels[row, len(prompt) : end] = torch.tensor(target)
        logits = self._model(input_ids=tokens, attention_mask=mask).logits
        losses = cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:], reduction="none", ignore_index=-100)
        return [-float(total) for total in losses.double().sum(1)]

    def _encode(self, text: str) -> list[int]:
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return tokens

    def _cut(self, text: str, limit: int) -> str:
        tokens = self._encode(text)
        return text if len(tokens) <= limit else str(self._tokenizer.decode(tokens[:limit]))


def _figures(turns: Sequence[Turn], pairs: int) -> Iterator[Figure]:
    yield over_repetitions("pairs_per_second", "pairs per second", "pairs/s", [pairs / turn.ours_s for turn in turns])
    yield over_repetitions(
        "plain_pairs_per_second", "pairs per second, plain loop", "pairs/s", [pairs / turn.plain_s for turn in turns]
    )
    yield over_repetitions(
        "times_plain",
        "times as fast as the plain loop",
        "x",
        [turn.plain_s / turn.ours_s for turn in turns],
        at_least=4,
    )
    differences = [_differences(turn) for turn in turns]
    for percent, name in ((50, "median"), (99, "99th percentile")):
        yield over_repetitions(
            f"difference_p{percent}",
            f"difference from float32, {name}",
            "%",
            [percentile(each, percent) for each in differences],
            at_most=1,
        )
    yield over_repetitions(
        "gain_correlation",
        "correlation of the gains with float32's",
        "Pearson r",
        [float(np.corrcoef(_gains(turn.ours), _gains(turn.plain))[0, 1]) for turn in turns],
    )


def _differences(turn: Turn) -> list[float]:
    """Percent of |log p|: of each pair, and of each request without a document once."""
    assert turn.ours.keys() == turn.plain.keys()
    with_document = [(turn.ours[pair][0], turn.plain[pair][0]) for pair in turn.plain]
    without = {pair[0]: (turn.ours[pair][1], turn.plain[pair][1]) for pair in turn.plain}
    return [abs(ours - plain) / abs(plain) * 100 for ours, plain in (*with_document, *without.values())]


def _gains(scores: Scores) -> list[float]:
    return [scores[pair][0] - scores[pair][1] for pair in sorted(scores)]


def _cost_figures(costs: dict[int, list[float]]) -> Iterator[Figure]:
    for size, values in costs.items():
        yield over_repetitions(f"pair_ms_{size}", f"a pair, history of {size} documents", "ms", values)
