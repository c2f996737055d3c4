"""``pearl eval manner``: tell two authors apart by the voice card alone, on ten later texts of one of them.

An author's last ten texts are held back from their card. Authors are halved by a digest of their name: one half gives
the figures over many authors and is for tuning, the other is measured.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import typer

from eval.commands.options import Seed
from eval.commands.reporting import reporting
from eval.report.report import Report
from eval.report.tables import Columns, Json, Table
from pearl.errors import InputError
from pearl.history.files import read_histories
from pearl.manner.reference import ANY, COMMIT, MESSAGE, Reference, shipped
from pearl.manner.traits import TRAITS
from pearl.manner.writing import Writing
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats

MOST = 3.0  # standard deviations; a rare trait found once must not outweigh everything else
TRAIT_WEIGHT = 2.0  # of a trait against a word: there are fewer of them


def likeness_of_manner(card: Floats, texts: Floats) -> float:
    """The cosine of two sets of standardised rates (F,), from -1 to 1."""
    card, texts = _weighted(card), _weighted(texts)
    length = float(np.linalg.norm(card) * np.linalg.norm(texts))
    return float(card @ texts) / length if length else 0.0


def _weighted(rates: Floats) -> Floats:
    weights = np.ones(len(rates))
    weights[: len(TRAITS)] = TRAIT_WEIGHT
    return np.asarray(weights * np.clip(rates, -MOST, MOST))


EXAMPLES = """
  pearl eval manner --history commits.jsonl.gz --kind commit --history mail.jsonl.gz --kind message
  pearl eval manner --history mail.jsonl.gz --kind message --reference-out reference.json --json -
"""


@reporting("eval", "manner", writes=("reference_out",))
def manner(
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="History file; repeatable."),
    kind: list[str] | None = typer.Option(
        None, metavar="KIND", help="Kind of text of each --history: any, commit or message; any if not given."
    ),
    split: str = typer.Option("test", metavar="HALF", help="Half of the authors: dev (for tuning) or test."),
    authors: int = typer.Option(60, min=2, help="Authors of each history at most."),
    seed: Seed = 0,
    reference_out: Path | None = typer.Option(
        None, metavar="FILE", help="Write figures over the dev authors here, and measure with them."
    ),
) -> Report:
    """Measure how often ten held-back texts are told from another author's by the voice card alone."""
    import orjson
    from rich.console import Console

    from pearl.cli.options import write_text

    kinds = kind or [ANY] * len(history)
    if split not in SPLITS:
        raise InputError(f"--split must be one of {', '.join(SPLITS)}.", param="split")
    if len(kinds) != len(history) or not set(kinds) <= {ANY, COMMIT, MESSAGE}:
        raise InputError("--kind: give any, commit or message for each --history, in their order.", param="kind")
    console = Console(stderr=True)
    files, kind_references = list(zip(history, kinds, strict=True)), None
    if reference_out is not None:
        with console.status("Reading the dev authors..."):
            dev_authors = [(file_kind, authors_of(path, "dev", authors, seed)) for path, file_kind in files]
            kind_references = references(dev_authors)
        written = {file_kind: reference.to_json() for file_kind, reference in kind_references.items()}
        write_text("--reference-out", reference_out, f"{orjson.dumps(written).decode()}\n")
    histories = []
    for path, file_kind in files:
        with console.status(f"Measuring {path.name}..."):
            reference = kind_references[file_kind] if kind_references else shipped(file_kind)
            histories.append(manner_figures(path.name, authors_of(path, split, authors, seed), reference))
    return Report({"split": split, "histories": histories}, manner_tables)


HELD_BACK, LEAST_CARD, MOST_CARD = 10, 10, 60  # texts
SPLITS = ("dev", "test")
METHODS = ("card", "traits", "words", "length")


@dataclass(frozen=True, slots=True)
class Author:
    """An author's texts, both parts oldest first."""

    name: str
    card: tuple[str, ...]
    held_back: tuple[str, ...]  # later than those of the card


def authors_of(path: Path, split: str, most: int, seed: int) -> list[Author]:
    """At most ``most`` authors of one half who wrote enough. Raises InputError for fewer than two."""
    authors = []
    for name, documents in sorted(read_histories(path, timestamp_required=True).items()):
        if split_of(name) == split and len(documents) >= LEAST_CARD + HELD_BACK:
            by_time = sorted(documents, key=lambda document: document.timestamp or 0.0)[-MOST_CARD - HELD_BACK :]
            texts = tuple(document.text for document in by_time)
            authors.append(Author(name, texts[:-HELD_BACK], texts[-HELD_BACK:]))
    if len(authors) < 2:
        raise InputError(
            f"{path}: fewer than two authors of the {split} half have {LEAST_CARD + HELD_BACK} texts.", param="history"
        )
    return random.Random(seed).sample(authors, min(most, len(authors)))


def split_of(name: str) -> str:
    return SPLITS[sha256(name.encode()).digest()[0] % 2]


def manner_figures(name: str, authors: Sequence[Author], reference: Reference) -> dict[str, Any]:
    """The share of pairs in which held-back texts lie nearer to their own author's card, by method."""
    cards = np.array([reference.standardised(author.card) for author in authors])  # (A, F)
    texts = np.array([reference.standardised(author.held_back) for author in authors])
    traits = np.arange(cards.shape[1]) < len(TRAITS)
    likenesses: dict[str, Floats] = {
        "card": _likenesses(cards, texts),
        "traits": _likenesses(cards * traits, texts * traits),
        "words": _likenesses(cards * ~traits, texts * ~traits),
        "length": _lengths(authors),
    }
    bootstrap = Bootstrap([author.name for author in authors])
    return {
        "history": name,
        "kind": reference.kind,
        "reference_authors": reference.authors,
        "authors": len(authors),
        "pairs": len(authors) * (len(authors) - 1),
        "chance": 0.5,
        **{method: _share_right(bootstrap, likenesses[method]).to_json() for method in METHODS},
    }


def _likenesses(cards: Floats, texts: Floats) -> Floats:
    """The likeness of each author's texts to each card, by their rates: (A, F) -> (A, A)."""
    return np.array([[likeness_of_manner(card, rates) for card in cards] for rates in texts])


def _lengths(authors: Sequence[Author]) -> Floats:
    def length(texts: Sequence[str]) -> float:
        return math.log(np.mean([len(Writing(text).words) for text in texts]) + 1.0)

    cards = [length(author.card) for author in authors]
    return np.array([[-abs(card - length(author.held_back)) for card in cards] for author in authors])


def _share_right(bootstrap: Bootstrap, likenesses: Floats) -> Estimate:
    """The share of pairs in which an author's texts are more like their own card than the other's; ties are half.

    A resample draws authors, each with their texts and their card, so the interval covers both. An author drawn twice
    is not compared with themselves.
    """
    to_own_card = np.diag(likenesses)[:, None]
    right = (to_own_card > likenesses) + 0.5 * (to_own_card == likenesses)  # (A, A)
    np.fill_diagonal(right, 0.0)

    def share(times: Floats) -> Floats:  # (R, A)
        pairs = times.sum(axis=1) ** 2 - (times**2).sum(axis=1)
        return np.asarray(((times @ right) * times).sum(axis=1) / np.where(pairs > 0, pairs, np.nan))

    return replace(bootstrap.weights(share), clusters=len(likenesses))


def references(histories: Sequence[tuple[str, Sequence[Author]]]) -> dict[str, Reference]:
    """The reference of each kind over its authors, and that of the kind ``any`` over all authors."""
    texts = [(kind, [(*author.card, *author.held_back) for author in authors]) for kind, authors in histories]
    return {
        kind: Reference.of(kind, [author_texts for of_kind, author_texts in texts if kind in (of_kind, ANY)])
        for kind in sorted({ANY, *(kind for kind, _ in texts)})
    }


def manner_tables(result: Json) -> Iterator[Table]:
    columns: Columns = {"history": "history", "authors": "authors", "pairs": "pairs", "card": "card"}
    columns |= {"its traits alone": "traits", "its words alone": "words", "length alone": "length", "chance": "chance"}
    caption = "Pairs of authors told apart by ten held-back texts."
    yield Table.of(caption, result["histories"], columns, result["command"])
