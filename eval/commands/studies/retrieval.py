"""``pearl eval retrieval``: how much the documents that each model ranks first help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Annotated, Any

import numpy as np
from typer import Option

from eval.commands.reporting import reporting
from eval.commands.scored import ScoringOptions, report_scores
from eval.report.metric import PEARL, Metric, differences, figures, to_json
from eval.report.report import Report
from eval.report.tables import Declared, Json, Table, differences_table, figures_table, rows_tables
from eval.retrieval.choices import BEST, RANDOM, Candidates, ChoiceOutcome, set_aside
from eval.retrieval.gains import clusters, request_slices
from pearl.stats.bootstrap import Bootstrap

ABOUT = """A line of the gains:

\b
  {"request": "reset the index", "documents": [{"text": "..."}, {"text": "..."}], "gain": [3.1, -0.4]}

and, if known, "user_id", "timestamp", "id" and "target", the text the user really wrote."""
EXAMPLES = """
  pearl eval retrieval --gains gains.jsonl.gz --model embedded --model bm25 --model recent
  pearl eval retrieval --gains gains.jsonl.gz --model work/mine --model bm25 --json -
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions(ScoringOptions):
    k: Annotated[int, Option(min=1, help="Documents that count for the top-k gain.")] = 3


@reporting("eval", "retrieval")
def retrieval(options: RetrievalOptions) -> Report:
    """Measure the gain of each model's first documents, with 95% intervals and differences from the best baseline."""
    return report_scores("retrieval", options, retrieval_report, retrieval_tables, own="k")


Outcomes = Sequence[ChoiceOutcome]  # a model's, one a request


def wins(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """For each request: 1 if ``first`` gained more than ``second``, 0 if less, 0.5 if both gained the same."""
    equal = np.isclose(first, second, rtol=1e-9, atol=1e-12)  # as a mean of equal gains is, but for its last digit
    return [0.5 if same else float(a > b) for a, b, same in zip(first, second, equal, strict=True)]


def top1_gains(outcomes: Outcomes) -> list[float]:
    return [outcome.top1_gain for outcome in outcomes]


METRICS: tuple[Metric[Outcomes], ...] = (
    Metric(
        "top1_gain",
        "top-1 gain",
        "The log-likelihood, in nats, that the chosen document adds to the text the user really wrote.",
        "mean over requests of the gain of the best-scored document",
        f"{PEARL}, equation 1",
        1,
        lambda bootstrap, outcomes: bootstrap.mean(top1_gains(outcomes)),
    ),
    Metric(
        "topk_gain",
        "top-k gain",
        "The same for the k documents of a prompt.",
        "mean over requests of the mean gain of the k best-scored documents, or of all if there are fewer",
        f"{PEARL}, equation 1",
        1,
        lambda bootstrap, outcomes: bootstrap.mean([outcome.topk_gain for outcome in outcomes]),
    ),
    Metric(
        "ndcg",
        "nDCG",
        "Closeness of the whole order to that of the gains.",
        "relevance max(gain, 0), discount 1/log2(rank + 1), all candidates; 0 if no document helps",
        "Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques",
        3,
        lambda bootstrap, outcomes: bootstrap.mean([outcome.ndcg for outcome in outcomes]),
    ),
    Metric(
        "pearson_r",
        "Pearson r",
        "Agreement of the best score with the gain of its document.",
        "correlation over requests of s1 with the gain of the document chosen",
        f"after {PEARL}, appendix C.3, which has what is generated in place of the gain",
        2,
        lambda bootstrap, outcomes: bootstrap.pearson(
            [outcome.top_score for outcome in outcomes], top1_gains(outcomes)
        ),
    ),
    Metric(
        "median_top1_gain",
        "median",
        "The top-1 gain of the request in the middle: the mean hangs on few requests with a near-duplicate.",
        "median over requests of the gain of the best-scored document",
        "-",
        1,
        lambda bootstrap, outcomes: bootstrap.median(top1_gains(outcomes)),
    ),
    Metric(
        "share_of_best",
        "share of best",
        "Share of the candidates' best gains that is reached.",
        "sum of the gains chosen over the sum of the best gains",
        "-",
        3,
        lambda bootstrap, outcomes: bootstrap.ratio(top1_gains(outcomes), [outcome.best for outcome in outcomes]),
    ),
    Metric(
        "win_rate",
        "win rate",
        "Share of requests in which the chosen document beats one at random.",
        "share of requests whose chosen gain is above the mean of the candidates', equal ones counting a half",
        "-",
        3,
        lambda bootstrap, outcomes: bootstrap.mean(wins(top1_gains(outcomes), [outcome.mean for outcome in outcomes])),
    ),
)


def retrieval_report(everything: Candidates, baselines: Sequence[str], options: RetrievalOptions) -> dict[str, Any]:
    """The figures over all requests, without near-duplicates of the targets, and by slices: thirds of the requests by
    length in words and by number of candidate documents."""
    left, counts = set_aside(everything, options.near_duplicates)
    return {
        "k": options.k,
        **retrieval_table(everything, baselines, options),
        "near_duplicates": {**counts, **retrieval_table(left, baselines, options)},
        "slices": [
            part.to_json() | _sliced(everything.among(part.among), options)
            for part in request_slices(everything.records)
        ],
    }


def retrieval_table(choices: Candidates, baselines: Sequence[str], options: RetrievalOptions) -> dict[str, Any]:
    """The figures of all models and of trivial choices, such as a random document, on the same resamples of the
    requests."""
    if not choices.records:
        return {"n": 0, "models": []}
    drawn = clusters(choices.records)
    bootstrap = Bootstrap(drawn.names)
    chosen = choices.outcomes(options.k)
    outcomes = {**chosen, **choices.trivial_outcomes(options.k)}
    measured = {name: figures(METRICS, bootstrap, of_model) for name, of_model in outcomes.items()}
    compared = differences(METRICS, chosen, measured, [*(name for name in baselines if name in chosen), RANDOM])
    return {
        **drawn.to_json(),
        "models": [to_json(measured[name], model=name) for name in chosen],
        "baselines": [to_json(measured[name], model=name) for name in (RANDOM, BEST)],
        "differences": [row | _ratio(bootstrap, row, outcomes) for row in compared],
        "pairs": _pairs(bootstrap, chosen),
    }


def _sliced(choices: Candidates, options: RetrievalOptions) -> dict[str, Any]:
    """The top-1 gain of each model and of trivial choices in one slice."""
    drawn = clusters(choices.records)
    bootstrap = Bootstrap(drawn.names)

    def row(model: str, outcomes: Outcomes) -> dict[str, Any]:
        return {"model": model, "top1_gain": bootstrap.mean(top1_gains(outcomes)).to_json()}

    return {
        "n": len(choices.records),
        "models": [row(model, outcomes) for model, outcomes in choices.outcomes(options.k).items()],
        "baselines": [row(model, outcomes) for model, outcomes in choices.trivial_outcomes(options.k).items()],
    }


def _ratio(bootstrap: Bootstrap, row: Mapping[str, Any], outcomes: Mapping[str, Outcomes]) -> dict[str, Any]:
    """The top-1 gain divided by the best baseline's; None if the baseline's gain is not above 0."""
    best = row["top1_gain"]["against"]
    gains, baseline = top1_gains(outcomes[row["model"]]), top1_gains(outcomes[best])
    ratio = bootstrap.ratio(gains, baseline).to_json() if sum(baseline) > 0 else None
    return {"top1_gain_ratio": None if ratio is None else {"against": best, **ratio}}


def _pairs(bootstrap: Bootstrap, outcomes: Mapping[str, Outcomes]) -> list[dict[str, Any]]:
    """For every ordered pair of models: the paired difference in top-1 gain, how often the first gains more (equal
    gains count a half), and how often both gain the same."""
    gained = {model: top1_gains(of_model) for model, of_model in outcomes.items()}
    rows = []
    for first, second in permutations(outcomes, 2):
        won = wins(gained[first], gained[second])
        rows.append(
            {
                "model": first,
                "against": second,
                "top1_gain": (bootstrap.mean(gained[first]) - bootstrap.mean(gained[second])).to_json(),
                "win_rate": bootstrap.mean(won).to_json(),
                "equal": bootstrap.share([share == 0.5 for share in won]).to_json(),
            }
        )
    return rows


PAIRS: Declared = {
    "pairs": (
        "Each model beside each other: the share of requests on which it gains more, equal gains counting a half, and "
        "the paired difference of the top-1 gains.",
        "model against win_rate equal top1_gain",
    )
}


def retrieval_tables(result: Json) -> Iterator[Table]:
    """Yield tables of all requests, differences from baselines, pairs of models, near-duplicates and slices."""
    yield figures_table(result, METRICS)
    yield differences_table(result, METRICS)
    yield from rows_tables(result, PAIRS)
    aside = result["near_duplicates"]
    if aside["n"]:
        yield figures_table(result, METRICS, aside)
        yield differences_table(result, METRICS, aside)
    for part in result["slices"]:
        yield figures_table(result, METRICS[:1], {**result, **part})
