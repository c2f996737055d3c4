"""Results of ``pearl eval generation`` and ``pearl eval revision`` as tables, and what revising the requests below each
possible theta changes as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from eval.drafts.comparison import MACRO_F1, METRICS, Measures
from eval.drafts.generation import CORRELATIONS
from eval.drafts.revision import NONE, SELECTIVE
from eval.report.metric import Metric
from eval.report.pictures import BLUE, GREY, ORANGE, panels
from eval.report.tables import NOTHING, Json, Table, caption_of, differences_table, figures_table, shown
from pearl.errors import InputError
from pearl.theta import theta_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def generation_tables(result: Json) -> Iterator[Table]:
    """Tables of failures, figures, differences from the best baselines, correlations with s1, and slices."""
    metrics = _metrics(result["models"][0])
    rows = tuple((row["model"], str(row["failed"]), str(row["cut_off"])) for row in result["models"])
    yield Table(f"Of {result['requests']:,} drafts each.", ("model", "failed", "cut off"), rows)
    yield figures_table(result, metrics)
    yield differences_table(result, metrics)
    # how well s1 said what the drafts would be, for models that have an s1
    with_s1 = {row["model"]: row["s1_pearson_r"] for row in result["models"] if "s1_pearson_r" in row}
    if with_s1:
        known = [metric for metric in CORRELATIONS if metric.name in next(iter(with_s1.values()))]
        rows = tuple(
            (model, *(shown(r[metric.name], metric.digits) for metric in known)) for model, r in with_s1.items()
        )
        caption = "Pearson r of the best score s1 with the figures of the drafts, as in the paper's table 6. "
        columns = ("model", *(metric.title for metric in known))
        yield Table(caption + caption_of(result), columns, rows, result["command"])
    for part in result["slices"]:
        yield figures_table(result, metrics, part)


def revision_tables(result: Json) -> Iterator[Table]:
    """The policies of each model over all requests, and where the threshold revises, within the slices; with the paired
    differences from no revision."""
    for model in result["models"]:
        for part in (None, *model["slices"]) if model["threshold"] is not None else (None,):
            policies = (part or model)["policies"]
            metrics = _metrics(policies[0])
            columns = [name for metric in metrics for name in (metric.title, "less none's")]
            rows = tuple((row["policy"], *_cells(row, metrics)) for row in policies)
            yield Table(_caption(result, model, part), ("revised", *columns, "share"), rows)


def _cells(row: Json, metrics: tuple[Metric[Measures], ...]) -> Iterator[str]:
    from_none: dict[str, Any] = next((less for less in row["differences"] if less["against"] == "none"), {})
    for metric in metrics:
        yield shown(row[metric.name], metric.digits)
        yield shown(from_none.get(metric.name), metric.digits, sign=True)
    yield NOTHING if row["share_revised"] is None else f"{row['share_revised']['value']:.1%}"


def _metrics(row: Json) -> tuple[Metric[Measures], ...]:
    return tuple(metric for metric in METRICS if metric.name in row)


def _caption(result: Json, model: Json, part: Json | None) -> str:
    sentences = [f"{model['model']}: theta {theta_words(model['threshold'], 3)}.", caption_of(model, part)]
    if part is None:
        unreadable = model["revisions"]["failures"].get("revision_unreadable", 0)
        sentences.append(f"Of the revisions {unreadable:,} could not be read, which keeps the draft.")
    return " ".join((*sentences, f"`{result['command']}`"))


def check_metric(name: str, *, stances: bool) -> None:
    """Raises InputError for one that is not measured."""
    known = [metric.name for metric in METRICS if stances or metric.name != MACRO_F1]
    if name not in known:
        raise InputError(f"--metric {name}: there are {', '.join(known)}; --stances adds {MACRO_F1}.", param="metric")


def curves_figure(metric: str, result: Json) -> Figure:
    """A panel a model: the paired difference from no revision over the share revised, with its 95% interval."""
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
    axes.set_xlabel("share of drafts revised")
    title = next(shown.title for shown in METRICS if shown.name == metric)
    axes.set_ylabel(f"{title}, less that of no revision")
