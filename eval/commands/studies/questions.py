"""``pearl eval questions``: how often requests end in a question to the user.

A history was written for its own person's next request, not for one by another person of the same corpus at the same
time, and still less for one by a person of another corpus.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from eval.commands.options import EncoderName, Seed
from eval.commands.reporting import reporting
from eval.report.report import Report
from eval.report.tables import Json, Table, named
from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.stats.bootstrap import Bootstrap
from retriever.base import Calibration, Retriever, ranked, relatedness_of

EXAMPLES = """
  pearl eval questions --history commits.jsonl.gz --history mail.jsonl.gz --model embedded
  pearl eval questions --history chat.jsonl.gz --model embedded --ask-below -1.4 --users 100 --json -
  pearl eval questions --history chat.jsonl.gz --split dev --model MODEL --json questions.json
"""


@reporting("eval", "questions")
def questions(
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="History file; repeatable."),
    model: str = typer.Option("embedded", metavar="MODEL", help="Retriever whose rule for asking is measured."),
    ask_below: float | None = typer.Option(
        None, help="Ask below this best score, in place of the retriever's own rule."
    ),
    ask_unrelated: float | None = typer.Option(
        None, help="Ask below this relatedness of the history, in place of the retriever's own."
    ),
    users: int = typer.Option(40, min=2, help="Users of each history at most."),
    split: str | None = typer.Option(None, help="Users of the history: train, dev or test, as in training; else all."),
    seed: Seed = 0,
    encoder: EncoderName = None,
) -> Report:
    """Measure how often requests end in a question to the user: a history's own, and those of other people.

    With several histories also requests of the next one, which are of another kind.
    """

    from rich.console import Console

    from eval.retrieval.scoring import RememberingEncoder
    from pearl.history.files import read_histories
    from pearl.history.split import users_of
    from pearl.settings import load_settings
    from retriever.models.encoder import SentenceEncoder
    from retriever.registry import make_retriever

    retriever = make_retriever(model, RememberingEncoder(SentenceEncoder(load_settings(encoder=encoder).encoder)))
    calibration = retriever.calibration
    if ask_below is not None:
        calibration = replace(calibration, ask_below=ask_below)
    if ask_unrelated is not None:
        calibration = replace(calibration, ask_unrelated=ask_unrelated)
    console, histories = Console(stderr=True), []
    sampled = [sampled_users(users_of(read_histories(path), split), users, seed) for path in history]
    for index, path in enumerate(history):
        others = sampled[(index + 1) % len(sampled)].values() if len(sampled) > 1 else ()
        elsewhere = [documents[-1].request or "" for documents in others]
        with console.status(f"Ranking for {path.name}..."):
            served = list(requests_of(sampled[index], retriever, calibration, elsewhere))
        histories.append(questions_figures(path.name, served))
    floors = {"ask_below": calibration.ask_below, "ask_unrelated": calibration.ask_unrelated}
    return Report({"model": model, **floors, "histories": histories}, questions_tables)


LEAST_DOCUMENTS = 8  # before a request: fewer are a short history, where relatedness decides as well
MOST_DOCUMENTS = 200
OWN, FOREIGN, ELSEWHERE = "own", "foreign", "elsewhere"
WHOSE = {OWN: "own requests", FOREIGN: "others' requests", ELSEWHERE: "requests of another kind"}
ASKED = 0.05  # of own requests may at most end in a question


@dataclass(frozen=True, slots=True)
class ServedRequest:
    """A request ranked from the history of ``user``."""

    user: str
    whose: str  # OWN, FOREIGN or ELSEWHERE
    top_score: float  # s1
    related: float | None  # relatedness of the history; None where the retriever does not say it
    asked: bool  # the request ends in a question to the user


def sampled_users(histories: Mapping[str, Sequence[Document]], count: int, seed: int) -> dict[str, list[Document]]:
    """At most ``count`` users with enough texts for requests, and their histories by time. Raises InputError for fewer
    than two."""
    usable = {}
    for user, documents in sorted(histories.items()):
        if all(document.timestamp is not None for document in documents):
            ordered = sorted(documents, key=lambda document: document.timestamp or 0.0)
            if len(ordered) > LEAST_DOCUMENTS and ordered[-1].request and before_last(ordered):
                usable[user] = ordered
    if len(usable) < 2:
        raise InputError("--history: fewer than two users have a request and enough texts before it.", param="history")
    chosen = random.Random(seed).sample(sorted(usable), min(count, len(usable)))
    return {user: usable[user] for user in chosen}


def before_last(documents: Sequence[Document]) -> list[Document]:
    """The latest documents before the last one, without copies of its text."""
    *before, last = documents[-MOST_DOCUMENTS - 1 :]
    return [document for document in before if document.text != last.text]


def requests_of(
    histories: Mapping[str, Sequence[Document]],
    retriever: Retriever,
    calibration: Calibration,
    elsewhere: Sequence[str] = (),
) -> Iterator[ServedRequest]:
    """Yield three requests for the history of each user: their own last one, the next user's last one and, if there
    are any, one that was asked ``elsewhere``."""
    names = list(histories)
    for position, user in enumerate(names):
        before, last = before_last(histories[user]), histories[user][-1]
        index = retriever.index(before)
        other = histories[names[(position + 1) % len(names)]][-1]
        texts = {OWN: last.request or "", FOREIGN: other.request or ""}
        if elsewhere:
            texts[ELSEWHERE] = elsewhere[position % len(elsewhere)]
        for whose, text in texts.items():
            ranking = ranked(before, index, Request(text, last.timestamp))
            yield ServedRequest(user, whose, ranking[0].score, relatedness_of(ranking), calibration.asks(ranking))


def questions_figures(name: str, served: Sequence[ServedRequest]) -> dict[str, Any]:
    """The shares of own requests and of others' that end in a question, with the medians of s1 and relatedness.

    ``ask_unrelated`` is the highest relatedness below which at most ASKED of the own requests lie.
    """
    figures: dict[str, Any] = {"history": name}
    for whose in WHOSE:
        requests = [request for request in served if request.whose == whose]
        if not requests:
            continue
        bootstrap = Bootstrap([request.user for request in requests])
        figures[whose] = {
            "requests": len(requests),
            "asked": bootstrap.share([request.asked for request in requests]).to_json(),
            "median_top_score": round(float(np.median([request.top_score for request in requests])), 4),
        }
        related = sorted(request.related for request in requests if request.related is not None)
        if len(related) == len(requests):
            figures[whose]["median_relatedness"] = round(float(np.median(related)), 4)
            if whose == OWN:
                figures["ask_unrelated"] = round(related[int(ASKED * len(related))], 4)
    return figures


def questions_tables(result: Json) -> Iterator[Table]:
    rows = [
        {"history": figures["history"], "requests": title, **figures[kind]}
        for figures in result["histories"]
        for kind, title in WHOSE.items()
        if kind in figures
    ]
    floor, related = (
        "none" if result.get(name) is None else f"{result[name]:.4g}" for name in ("ask_below", "ask_unrelated")
    )
    title = (
        f"Requests, and the share of them that end in a question (retriever {result['model']}; floor of s1 {floor}, of "
        f"relatedness {related})."
    )
    yield Table.of(title, rows, named("history requests asked median_top_score median_relatedness"), result["command"])
