"""Choosing the number of documents in a prompt by their scores: ``pearl eval generation --by-count``.

A margin leaves out documents that score more than the margin below the best document. The draft at any margin is one of
the drafts with the 1, 2, ... k best documents, so one set of drafts measures every margin.

Dimensions in comments: N requests, K documents shown at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from eval.drafts.cases import Case
from eval.drafts.comparison import Measures, TargetMetrics, chances, complete, counts, left_out, metrics_in
from eval.drafts.systems import System
from eval.report.metric import figures, less, to_json
from eval.report.tables import Columns, Json, Table, caption_of, metric_columns
from eval.retrieval.gains import clusters
from pearl.models.asking.write import WrittenText
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats
from pearl.theta import score_words
from retriever.models.bertscore import BertScore

MARGINS = 10  # tried, at equal steps of the share of documents that they leave out


def by_count(system: System) -> list[System]:
    """Return systems that show the best document, the best two documents, and so on up to all."""
    most = max((len(selection.documents) for selection in system.shown), default=0)
    return [
        replace(
            system,
            shown=tuple(
                replace(selection, documents=selection.documents[:count], scores=selection.scores[:count])
                for selection in system.shown
            ),
        )
        for count in range(1, max(most, 1) + 1)
    ]


def shown_report(
    cases: Sequence[Case],
    system: System,
    written: Sequence[Sequence[WrittenText]],
    bertscore: BertScore,
    *,
    stances: str | None,
) -> Json:
    """Measure a retriever's drafts by number of documents shown and by margin. ``written[i]``: the drafts with i + 1
    documents.

    Only requests that have a draft for every number count. Raises ChatError if no request is left.
    """
    together = complete(written)
    usable = list(compress(cases, together))
    target_metrics = TargetMetrics.of(usable, bertscore, stances)
    measured = [
        target_metrics.measure([text.text or "" for text in compress(texts, together)], with_count.documents(together))
        for texts, with_count in zip(written, by_count(system), strict=True)
    ]
    behind = distances(system, len(written))[together]
    drawn = clusters([case.record for case in usable])
    bootstrap = Bootstrap(drawn.names)

    def within(margin: float) -> NDArray[np.intp]:
        return np.asarray((np.isfinite(behind) & (behind <= margin)).sum(axis=1))  # (N,)

    def drafts_of(margin: float) -> Measures:
        return picked(measured, np.maximum(within(margin), 1) - 1)

    def row(margin: float) -> dict[str, Estimate]:
        written = figures(target_metrics.metrics, bootstrap, drafts_of(margin))
        return {"documents": bootstrap.mean(within(margin)), **written}

    everything, tried = row(np.inf), margins(behind)
    return {
        "model": system.name,
        "requests": len(cases),
        "drafts": [counts(texts) for texts in written],
        **drawn.to_json(),
        "curve": [
            to_json(at_margin := row(margin), margin=margin) | {"less_all": to_json(less(at_margin, everything))}
            for margin in tried
        ]
        + [to_json(everything, margin=None)],
        "by_chance": chances(drafts_of(np.inf), [drafts_of(margin) for margin in tried], drawn.names),
        "by_count": [
            to_json(figures(target_metrics.metrics, bootstrap, drafts), count=count)
            for count, drafts in enumerate(measured, start=1)
        ],
    }


def distances(system: System, most: int) -> Floats:
    """Return how far each shown document scores below the best one, (N, K); infinite for missing documents."""
    behind = np.full((len(system.shown), most), np.inf)
    for row, selection in zip(behind, system.shown, strict=True):
        if selection.top is not None and selection.scores:
            row[: len(selection.scores)] = selection.top.score - np.asarray(selection.scores)
    return behind


def picked(measured: Sequence[Measures], indices: NDArray[np.intp]) -> Measures:
    """Choose one system's text for each request, by index (N,), and return the measures of the chosen texts."""
    rows = np.arange(len(indices))
    names = measured[0].features
    return Measures({name: np.stack([drafts.features[name] for drafts in measured])[indices, rows] for name in names})


def margins(behind: Floats) -> list[float]:
    """Return the margins to try, in steps of a tenth of the documents; empty if nothing can be left out. ``behind``:
    how far each document scores below the best, infinite for missing documents, (N, K)."""
    others = behind[:, 1:][np.isfinite(behind[:, 1:])]
    if not len(others):
        return []
    steps = np.quantile(others, np.linspace(0, 1, MARGINS, endpoint=False))
    return [float(step) for step in np.unique(steps)]


def margin_cell(point: Json) -> str:
    return "all" if point["margin"] is None else score_words(point["margin"], 3)


def shown_tables(result: Json) -> Iterator[Table]:
    for model in result["models"]:
        metrics = metrics_in(model["curve"][-1])
        about = f"{model['model']}: documents that score at most the margin below the best. {caption_of(model)}"
        caption = " ".join((about, *left_out(model, "drafts"), f"`{result['command']}`"))
        columns: Columns = {"margin": margin_cell, "documents": "documents", **metric_columns(metrics, "all's")}
        yield Table.of(caption, [{**point, "less": point.get("less_all")} for point in model["curve"]], columns)
        columns = {"shown, the best": "count", **metric_columns(metrics)}
        yield Table.of(f"{model['model']}: by count.", model["by_count"], columns)
