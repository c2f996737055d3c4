"""The expectation of a cross-encoder's logit, learned from its logits for long histories.

Those of the users it was trained on: of most of their texts it has seen none beside the request. Whoever wrote no more
than the cascade reads teaches nothing, for there everything is read.

Dimensions in comments: N pairs, C documents of a list, S signals, E embedding size, H hidden units.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from rich.console import Console
from torch import Tensor, nn

from pearl.records import Document, Request
from retriever.base import oldest_first
from retriever.calibrated.cascade import MOST
from retriever.calibrated.expectation import Expectation
from retriever.calibrated.head import Floats
from retriever.calibrated.retriever import CalibratedParts
from retriever.history.signals import Features, SignalIndex
from retriever.models.encoder import Encoder
from training.data.histories import times_of_all_or_none
from training.progress import progress_of

LEAST, LONGEST = MOST + 8, 150  # documents before a request, and the latest of them that are looked at
REQUESTS = 3  # of a user, one after the other, so that nearly all of an index serves the next
DOCUMENTS = 50  # of a request, at random
LISTS = 400  # requests in all
HELD_BACK = 8  # every eighth user says how far off it is
FEWEST = 40  # lists, below which there is nothing to learn from
REACH = 0.995  # of the documents are lifted by no more than what is called the cascade's reach


@dataclass(frozen=True, slots=True)
class Observation:
    """Logits of the cross-encoder for some documents, (C,), and the first stage's knowledge of them: the standardised
    signals with its score, (C, S + 1), and embeddings as ``Features`` has them, (E,) and (C, E)."""

    user: str
    known: Floats
    request_vector: Floats
    text_vectors: Floats
    own_vectors: Floats
    logits: Floats


@dataclass(frozen=True, slots=True)
class ExpectationFit:
    """``beyond``: by how much a logit exceeds what is expected at most; ``report``: how well it was guessed."""

    expectation: Expectation
    beyond: float
    report: dict[str, float]


@dataclass(frozen=True, slots=True)
class ExpectationOptions:
    """``rate`` is the highest learning rate of one cycle."""

    hidden: int = 64
    steps: int = 1000
    rate: float = 2e-3
    batch: int = 256
    decay: float = 0.5
    dropout: float = 0.2
    seed: int = 0


def learn_expectation(
    histories: Mapping[str, Sequence[Document]],
    parts: CalibratedParts,
    encoder: Encoder,
    go_on: Callable[[], bool],
    console: Console,
    seed: int,
) -> ExpectationFit | None:
    """None where too few histories are long enough, or where the time is up before enough was read."""
    asked = list(_asked(histories, seed))
    observations = []
    index: SignalIndex | None = None
    with progress_of("reading", len(asked), console) as advance:
        for user, request, documents in asked:
            if not go_on():
                break
            index = SignalIndex(documents, encoder, parts.words, index)  # a user's next request has nearly the same
            observations.append(_observe(user, request, documents, index, parts, seed))
            advance(1, True)
    return fit_expectation(observations, ExpectationOptions(seed=seed)) if len(observations) >= FEWEST else None


def _asked(histories: Mapping[str, Sequence[Document]], seed: int) -> Iterator[tuple[str, Request, list[Document]]]:
    """Requests with what was written before, in random order of the users."""
    users = sorted(user for user, documents in histories.items() if len(documents) > LEAST)
    random.Random(seed).shuffle(users)
    for user in users[: LISTS // REQUESTS]:
        timed = times_of_all_or_none(histories[user])
        documents = [timed[place] for place in oldest_first(timed)]
        start = random.Random(f"{seed}:{user}").randrange(LEAST, len(documents))
        for place in range(start, min(start + REQUESTS, len(documents))):
            if target := documents[place].request:
                yield user, Request(target, documents[place].timestamp), documents[max(0, place - LONGEST) : place]


def _observe(
    user: str, request: Request, documents: list[Document], index: SignalIndex, parts: CalibratedParts, seed: int
) -> Observation:
    assert parts.cross_encoder is not None, "it is listened to"
    features = index.features(request)
    known = np.column_stack((parts.head.inputs(features.signals), parts.head.logits(features.signals)))
    draw = random.Random(f"{seed}:{user}:{request.text}")
    rows = np.array(sorted(draw.sample(range(len(documents)), min(DOCUMENTS, len(documents)))))
    texts, own = in_their_order(features)
    logits = parts.cross_encoder.logits(request, [documents[row] for row in rows])
    return Observation(user, known[rows], features.request_vector, texts[rows], own[rows], logits)


def in_their_order(features: Features) -> tuple[Floats, Floats]:
    """The embeddings of texts and requests, (C, E) each, in the documents' order."""
    texts, own = np.empty_like(features.text_vectors), np.empty_like(features.own_vectors)
    texts[features.order], own[features.order] = features.text_vectors, features.own_vectors
    return texts, own


def fit_expectation(observations: Sequence[Observation], options: ExpectationOptions) -> ExpectationFit:
    """Fit by least squares; every eighth user is held out for ``beyond`` and the report."""
    held = set(sorted({observation.user for observation in observations})[::HELD_BACK])
    learned = [observation for observation in observations if observation.user not in held] or list(observations)
    others = [observation for observation in observations if observation.user in held] or list(observations)
    torch.manual_seed(options.seed)
    inputs, logits = _tensors(learned)
    module = ExpectationModule(inputs[0].shape[1], inputs[1].shape[1], float(logits.mean()), options)
    _train(module, inputs, logits, options)
    other_inputs, other_logits = _tensors(others)
    with torch.inference_mode():
        off = (other_logits - module(*other_inputs)).numpy()
    report = {
        "pairs": len(logits) + len(other_logits),
        "explained": round(1 - float(off.var() / max(float(other_logits.var()), 1e-12)), 3),
        "pairs_held_back": len(other_logits),
    }
    return ExpectationFit(module.frozen(), float(np.quantile(off, REACH)), report)


class ExpectationModule(nn.Module):
    """``Expectation`` as torch trains it."""

    def __init__(self, known: int, embedding: int, mean: float, options: ExpectationOptions) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(options.seed)
        sizes = Expectation.shapes(known - 1, embedding, options.hidden)
        # products of two unit vectors' entries are smaller than the entries by the root of the size
        spread = {
            "known": known**-0.5,
            "text": 1.0,
            "own": 1.0,
            "text_asked": embedding**0.5,
            "own_asked": embedding**0.5,
        }
        self.weights = nn.ParameterDict(
            {
                name: nn.Parameter(torch.randn(shape, generator=draw) * spread.get(name, 0.0) * 0.5)
                for name, shape in sizes.items()
            }
        )
        with torch.no_grad():
            self.weights["intercept"].fill_(mean)  # where it starts, for the layer has no say yet
        self.dropout = nn.Dropout(options.dropout)

    def forward(self, known: Tensor, asked: Tensor, text: Tensor, own: Tensor) -> Tensor:
        """(N, S + 1), (N, E) three times -> (N,)"""
        of = self.weights
        hidden = known @ of["known"] + text @ of["text"] + own @ of["own"] + of["bias"]
        hidden = hidden + (asked * text) @ of["text_asked"] + (asked * own) @ of["own_asked"]
        inner = self.dropout(nn.functional.silu(hidden)) @ of["outer"]
        logits: Tensor = inner + known @ of["direct"] + of["intercept"]
        return logits

    def frozen(self) -> Expectation:
        return Expectation(
            **{field.name: self.weights[field.name].detach().numpy().copy() for field in fields(Expectation)}
        )


def _train(module: ExpectationModule, inputs: tuple[Tensor, ...], logits: Tensor, options: ExpectationOptions) -> None:
    optimizer = torch.optim.AdamW(module.parameters(), options.rate, weight_decay=options.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, options.rate, total_steps=options.steps, pct_start=0.1)
    draw = torch.Generator().manual_seed(options.seed)
    module.train()
    for _ in range(options.steps):
        rows = torch.randint(len(logits), (options.batch,), generator=draw)
        loss = nn.functional.mse_loss(module(*(values[rows] for values in inputs)), logits[rows])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    module.eval()


def _tensors(observations: Sequence[Observation]) -> tuple[tuple[Tensor, ...], Tensor]:
    """Known, asked, text, own, as the module takes them; and the logits."""
    rows = (
        [observation.known for observation in observations],
        [np.broadcast_to(observation.request_vector, observation.text_vectors.shape) for observation in observations],
        [observation.text_vectors for observation in observations],
        [observation.own_vectors for observation in observations],
    )
    inputs = tuple(torch.from_numpy(np.concatenate(arrays).astype(np.float32)) for arrays in rows)
    logits = np.concatenate([observation.logits for observation in observations])
    return inputs, torch.from_numpy(logits.astype(np.float32))
