"""``pearl eval revision``: compare policies of revising drafts, namely none, all, and only drafts whose best score s1
is below a threshold (papers/pearl.txt, section 5.3, table 3 and figure 5).

Dimensions in comments: N requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from eval.commands.options import WritingOptions
from eval.commands.reporting import reporting
from eval.drafts.cases import Case
from eval.drafts.comparison import (
    MACRO_F1,
    METRICS,
    Mask,
    Measures,
    TargetMetrics,
    chances,
    complete,
    counts,
    left_out,
    metrics_in,
    mixed,
)
from eval.drafts.systems import System
from eval.report.metric import Figures, Metric, figures, less, to_json
from eval.report.pictures import BLUE, GREY, ORANGE, panels
from eval.report.report import Report
from eval.report.tables import Columns, Json, Table, caption_of, metric_columns
from eval.retrieval.gains import clusters, request_slices
from pearl.errors import InputError
from pearl.models.asking.write import UNREADABLE, WrittenText, write_revised
from pearl.stats.bootstrap import Bootstrap, Floats
from pearl.theta import read_theta, theta_json, theta_words
from retriever.models.bertscore import BertScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ABOUT = """A line of the input is a gains record with a target, as for 'pearl eval generation', whose drafts are used
if both are given the same options. A revision that is cut off or cannot be read keeps the draft, as
in the service; a request whose draft or revision failed otherwise is left out of every policy."""
EXAMPLES = """
  pearl eval revision --gains gains.jsonl.gz --model embedded --template commit
  pearl eval revision --gains gains.jsonl.gz --model MODEL --model bm25 --threshold bm25=12.5 --json table3.json
  pearl eval revision --gains gains.jsonl.gz --model MODEL --picture curve.svg --json table3.json
"""
Thresholds = Annotated[
    list[str],
    typer.Option(
        "--threshold",
        metavar="MODEL=THETA",
        help="Revise below THETA, never or all, in place of the model's own threshold; repeatable.",
    ),
]


@reporting("eval", "revision", picture="Draw the curve over theta.")
def revision(
    options: WritingOptions,
    threshold: Thresholds = [],  # noqa: B006  (typer makes a new one)
    metric: str = typer.Option(
        "rouge2", help="Metric to draw: rouge1, rouge2, bertscore, macro_f1, likeness, carried_over or claims."
    ),
) -> Report:
    """Compare no revision, revising every draft, and revising those below the model's threshold.

    Every answer is kept: repeat an interrupted command and it goes on where it stopped.
    """
    from eval.commands.writing import ready

    thetas = thetas_of(threshold, options.model)
    check_metric(metric, stances=bool(options.stances))
    with ready(options) as session:
        cases = session.material.cases
        systems = [replace(system, threshold=thetas.get(system.name, system.threshold)) for system in session.systems]
        all_inputs = [session.plan.all_inputs(cases, system) for system in systems]
        written = session.write(lambda context: write_revised(context, all_inputs))
    stances = options.told_stances()
    with session.console.status("Measuring..."):
        models = [
            revision_report(cases, system, drafts, revisions, session.scorer, stances=stances)
            for system, (drafts, revisions) in zip(systems, written, strict=True)
        ]
    head = session.head("revision", threshold=list(threshold))
    report = session.report(head, {"chat_model": session.writes.model.name, "models": models}, revision_tables)
    return replace(report, picture=partial(curves_figure, metric))


def thetas_of(assignments: Sequence[str], models: Sequence[str]) -> dict[str, float | None]:
    """Parse MODEL=THETA into thresholds by model, None for never. Raises InputError for anything else, and for unknown
    models."""
    thetas: dict[str, float | None] = {}
    for words in assignments:
        model, _, theta = words.rpartition("=")
        if model not in models:
            raise InputError(f"--threshold {words}: give MODEL=THETA; the models are {', '.join(models)}.")
        if model in thetas:
            raise InputError(f"--threshold {words}: '{model}' has one already; give one.")
        try:
            thetas[model] = read_theta(theta)
        except ValueError as error:
            raise InputError(f"--threshold {words}: {error}.") from error
    return thetas


NONE, ALL, SELECTIVE, RANDOM = "none", "all", "selective", "random"
COMPARED_WITH: Mapping[str, tuple[str, ...]] = {
    NONE: (),
    ALL: (NONE,),
    SELECTIVE: (NONE, ALL, RANDOM),
    RANDOM: (NONE,),
}
CURVE_POINTS = 21


def revision_report(
    cases: Sequence[Case],
    system: System,
    drafts: Sequence[WrittenText],
    revisions: Sequence[WrittenText],
    bertscore: BertScore,
    *,
    stances: str | None,
) -> dict[str, Any]:
    """The figures of one retriever by policy, for every threshold theta (the curve), and by slices. If a revision
    cannot be read, the draft is kept, as in the service. Requests whose draft or revision failed otherwise are left out
    of all policies and counted. Raises ChatError if no request is left."""
    answers = [
        replace(revision, text=draft.text) if revision.failure == UNREADABLE else revision
        for draft, revision in zip(drafts, revisions, strict=True)
    ]
    together = complete([drafts, answers])
    usable = list(compress(cases, together))
    target_metrics = TargetMetrics.of(usable, bertscore, stances)
    unrevised, edited = (
        target_metrics.measure([text.text or "" for text in compress(texts, together)], system.documents(together))
        for texts in (drafts, answers)
    )
    scores = np.array([shown.top.score if shown.top else np.inf for shown in compress(system.shown, together)])
    pair = RevisedDrafts(tuple(usable), target_metrics.metrics, unrevised, edited, scores)
    revised = [revision for draft, revision in zip(drafts, revisions, strict=True) if draft.text is not None]
    return {
        "model": system.name,
        "requests": len(cases),
        "threshold": theta_json(system.threshold),
        "drafts": counts(drafts),
        "revisions": counts(revised),
        **pair.table(system.threshold),
        "curve": pair.curve(),
        "by_chance": pair.by_chance(),
        "slices": [
            part.to_json() | pair.among(part.among).table(system.threshold)
            for part in request_slices([case.record for case in usable])
        ],
    }


@dataclass(frozen=True, slots=True)
class RevisedDrafts:
    """Measures of the drafts and of their revisions, and each request's best score s1."""

    cases: tuple[Case, ...]
    metrics: tuple[Metric[Measures], ...]
    drafts: Measures
    revised: Measures
    top_scores: Floats  # s1 of each request, (N,); infinite, and so below no threshold, where nothing is ranked

    def among(self, mask: Mask) -> RevisedDrafts:
        return replace(
            self,
            cases=tuple(compress(self.cases, mask)),
            drafts=self.drafts.among(mask),
            revised=self.revised.among(mask),
            top_scores=self.top_scores[mask],
        )

    def table(self, threshold: float | None) -> dict[str, Any]:
        """The figures of every policy, and paired differences from other policies. ``threshold``: None for never."""
        chosen = self._below(threshold)
        shares = {
            NONE: np.zeros(len(chosen)),
            ALL: np.ones(len(chosen)),
            SELECTIVE: chosen,
            # as many as the threshold picks, drawn blindly: says whether s1 knows which ones
            RANDOM: np.full(len(chosen), chosen.mean()),
        }
        bootstrap = self._bootstrap()
        by_policy = {policy: self._figures(bootstrap, share) for policy, share in shares.items()}
        return {
            **clusters([case.record for case in self.cases]).to_json(),
            "policies": [
                {"policy": policy}
                | _row(
                    bootstrap, shares[policy], measured, {other: by_policy[other] for other in COMPARED_WITH[policy]}
                )
                for policy, measured in by_policy.items()
            ],
        }

    def curve(self) -> list[dict[str, Any]]:
        """The figures at thresholds theta that revise from no drafts to all drafts, in equal steps."""
        bootstrap = self._bootstrap()
        none = {NONE: self._figures(bootstrap, np.zeros(len(self.cases)))}
        points = []
        for threshold in self._thresholds():
            share = self._below(threshold)
            row = _row(bootstrap, share, self._figures(bootstrap, share), none)
            points.append({"threshold": threshold if np.isfinite(threshold) else None, **row})
        return points

    def by_chance(self) -> dict[str, float]:
        """For each metric, the permutation p-value of the gain at the best theta: drafts and revisions are swapped."""
        revised = [mixed(self._below(threshold), self.revised, self.drafts) for threshold in self._thresholds()]
        return chances(self.drafts, revised, clusters([case.record for case in self.cases]).names)

    def _thresholds(self) -> list[float]:
        known = self.top_scores[np.isfinite(self.top_scores)]
        thresholds = np.unique(np.quantile(known, np.linspace(0, 1, CURVE_POINTS))).tolist() if len(known) else []
        return [*thresholds, np.inf]

    def _below(self, threshold: float | None) -> Floats:
        """1 for each request whose draft is revised, else 0: (N,)."""
        return np.asarray(self.top_scores < (-np.inf if threshold is None else threshold), np.float64)

    def _bootstrap(self) -> Bootstrap:
        return Bootstrap(clusters([case.record for case in self.cases]).names)

    def _figures(self, bootstrap: Bootstrap, share: Floats) -> Figures:
        return figures(self.metrics, bootstrap, mixed(share, self.revised, self.drafts))


def _row(bootstrap: Bootstrap, share: Floats, measured: Figures, others: Mapping[str, Figures]) -> dict[str, Any]:
    """The share of drafts that a policy revises, its figures, and paired differences from other policies."""
    return {
        "share_revised": bootstrap.mean(share).to_json(),
        **to_json(measured),
        "differences": [to_json(less(measured, other), against=name) for name, other in others.items()],
    }


def revision_tables(result: Json) -> Iterator[Table]:
    """For each model, yield a table of its policies with paired differences from no revision: over all requests and, if
    the model has a threshold, for each slice."""
    for model in result["models"]:
        for part in (None, *model["slices"]) if model["threshold"] is not None else (None,):
            policies = (part or model)["policies"]
            metrics = metrics_in(policies[0])
            rows = [{**row, "less": _from_none(row)} for row in policies]
            columns: Columns = {"revised": "policy", **metric_columns(metrics, "none's"), "share": "share_revised"}
            yield Table.of(_caption(result, model, part), rows, columns)


def _from_none(row: Json) -> Json:
    return next((gaps for gaps in row["differences"] if gaps["against"] == NONE), {})


def _caption(result: Json, model: Json, part: Json | None) -> str:
    sentences = [f"{model['model']}: theta {theta_words(model['threshold'], 3)}.", caption_of(model, part)]
    if part is None:
        unreadable, cut_off = model["revisions"]["failures"].get(UNREADABLE, 0), model["revisions"]["cut_off"]
        sentences.append(
            f"Of the revisions {unreadable:,} could not be read, {cut_off:,} for being cut off, which keeps the draft."
        )
        sentences += left_out(model, "draft or revision")
    return " ".join((*sentences, f"`{result['command']}`"))


def check_metric(name: str, *, stances: bool) -> None:
    """Raises InputError for a metric that is not measured; ``stances``: whether stances are compared."""
    known = [metric.name for metric in METRICS if stances or metric.name != MACRO_F1]
    if name not in known:
        raise InputError(f"--metric {name}: there are {', '.join(known)}; --stances adds {MACRO_F1}.")


def curves_figure(metric: str, result: Json) -> Figure:
    """For each model, draw the paired difference from no revision over the share of revised drafts, with 95%
    intervals."""
    rows = (partial(_draw_curve, metric),)
    return panels(result["models"], rows, lambda model: f"theta = {theta_words(model['threshold'], 2)}")


def _draw_curve(metric: str, axes: Axes, model: Json) -> None:
    points = [
        (point["share_revised"]["value"], difference[metric])
        for point in model["curve"]
        for difference in point["differences"]
        if difference["against"] == NONE and difference[metric] is not None
    ]
    shares = [share for share, _ in points]
    value, low, high = ([gap[name] for _, gap in points] for name in ("value", "low", "high"))
    axes.axhline(0.0, color=GREY, lw=0.8, zorder=0)
    axes.fill_between(shares, low, high, color=BLUE, alpha=0.25, lw=0)
    axes.plot(shares, value, color=BLUE, lw=1.5)
    if model["threshold"] is not None:
        chosen = next(row for row in model["policies"] if row["policy"] == SELECTIVE)
        axes.axvline(chosen["share_revised"]["value"], color=ORANGE, ls="--", lw=1)
    title = next(shown.title for shown in METRICS if shown.name == metric)
    axes.set(xlabel="share of drafts revised", ylabel=f"{title}, less that of no revision")
