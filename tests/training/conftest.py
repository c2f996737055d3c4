from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from io import StringIO
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pearl.clock import Budget
from pearl.records import Document, Request
from pearl.text.history.partition import split_of
from retriever.history.word_weights import WordWeights
from training.data.records import Example
from training.data.selection import SelectionOptions, select
from training.fit.material import FitMaterial, with_signals
from training.gains.proxy import ProxyScales
from training.run import Run, TrainingOptions


@pytest.fixture
def train(run_pearl, monkeypatch) -> Callable[..., Any]:
    """`pearl train` with a step and options by name."""
    monkeypatch.setenv("COLUMNS", "500")  # what is said is one line, however wide the terminal is
    return partial(run_pearl, "train")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Models this small are slower on two cores, and on busy ones their threads only wait for each other."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def loaded_encoders() -> Callable[..., Any]:
    """Loads and compiles an encoder's folder once for all trainings: no test changes what is in one."""
    from retriever.models import encoder

    return cache(encoder._load)


@pytest.fixture(autouse=True, scope="module")
def encoders_once(loaded_encoders) -> Iterator[None]:
    """Module by module, for other tests look at how an encoder is loaded."""
    from retriever.models import encoder

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "_load", loaded_encoders)
        yield


@pytest.fixture(scope="session")
def sentence_folder(bert_folder, tmp_path_factory) -> Path:
    """A tiny bi-encoder, saved."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    folder = tmp_path_factory.mktemp("sentences")
    transformer = Transformer(str(bert_folder))
    pooling = Pooling(transformer.get_embedding_dimension())
    SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(folder))
    return folder


@pytest.fixture(scope="session")
def users_in() -> Callable[[str, int], list[str]]:
    """Names of users who fall into a split."""

    def find(split: str, number: int) -> list[str]:
        return list(islice((name for name in map("user{}".format, count()) if split_of(name) == split), number))

    return find


@pytest.fixture(scope="session")
def writings() -> Callable[..., list[dict[str, Any]]]:
    """Lines of histories of made-up users, who come back to a few things in turn."""

    def make(users: Sequence[str], documents: int = 16, *, timed: bool = True) -> list[dict[str, Any]]:
        return [
            {
                "user_id": user,
                "id": f"{user}-{number}",
                "request": f"{topic}: item {number}",
                "text": f"{user} says the {topic} is fine for item {number} on the bench",
            }
            | ({"timestamp": 1_700_000_000 + 3600 * number} if timed else {})
            for user in users
            for number in range(documents)
            for topic in (TOPICS[number % len(TOPICS)],)
        ]

    return make


TOPICS = ("wheel", "tide", "kettle")


@pytest.fixture(scope="session")
def make_examples() -> Callable[..., list[Example]]:
    """Requests with candidates, of which the one about the same thing has a gain."""

    def make(requests: int, documents: int = 6, user: str = "c:ann") -> list[Example]:
        found = []
        for number in range(requests):
            topic = TOPICS[number % len(TOPICS)]
            candidates = tuple(
                Document(
                    f"d{place}", f"the {other} is fine, it says item {place}", 1000.0 * place, f"{other}: item {place}"
                )
                for place in range(documents)
                for other in (TOPICS[place % len(TOPICS)],)
            )
            gains = np.array([10.0 if topic in each.text else -1.0 for each in candidates], np.float32)
            target = f"the {topic} is fine, it says so"
            request = Request(f"{topic}: item {documents + number}", 1e6)
            found.append(Example(user, f"q{number}", request, candidates, gains, target))
        return found

    return make


@pytest.fixture(scope="session")
def make_run() -> Callable[..., Run]:
    """A run of a step that embeds nothing, in silence and without a limit of time."""

    def make(*corpora: Any, **options: Any) -> Run:
        known: dict[str, Any] = {"histories": (), "out": Path("model"), "work": Path("work")} | options
        return Run(TrainingOptions(**known), corpora, Any, Budget(None), Console(file=StringIO()))

    return make


@pytest.fixture(scope="session")
def make_material(word_encoder) -> Callable[..., FitMaterial]:
    """Examples with their signals, and what Algorithm 1 makes of those to train on."""

    def make(
        train: list[Example],
        dev: list[Example],
        warm: Sequence[Example] = (),
        warm_dev: Sequence[Example] = (),
        selection: SelectionOptions | None = None,
    ) -> FitMaterial:
        words = WordWeights.count(["the wheel"])
        parts = [with_signals(part, word_encoder(), words) for part in (train, dev, warm, warm_dev)]
        scales = ProxyScales.fit(parts[0], word_encoder(), words)
        return FitMaterial(*parts, select(parts[0], selection or SelectionOptions()), scales)

    return make
