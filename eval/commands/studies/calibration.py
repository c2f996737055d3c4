"""``pearl eval calibration``: how well a request's best score s1 predicts how much the chosen document will help.

Dimensions in comments: N requests, B bins, R resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from typer import Option

from eval.commands.reporting import reporting
from eval.commands.scored import ScoringOptions, report_scores
from eval.report.metric import PEARL, Metric, differences, figures, to_json
from eval.report.pictures import BLUE, GREY, panels, values_and_reaches
from eval.report.report import Report
from eval.report.tables import Json, Table, caption_of, differences_table, figures_table, named
from eval.retrieval.choices import Candidates, ChoiceOutcome, set_aside
from eval.retrieval.gains import clusters
from eval.stats.slices import Bins, binned_distance, equal_bins
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats, pearson_of_sums
from pearl.stats.proportions import DIGITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXAMPLES = """
  pearl eval calibration --gains gains.jsonl.gz --model embedded --model bm25 --picture reliability.svg
  pearl eval calibration --gains gains.jsonl.gz --model work/mine --baseline work/plain-kl --json -
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationOptions(ScoringOptions):
    bins: Annotated[int, Option(min=3, help="Number of bins, each with as many requests.")] = 10
    folds: int = 5  # of users; the line from s1 to the gain is fitted on all but one


@reporting("eval", "calibration", picture="Draw reliability and the distributions of s1.")
def calibration(options: CalibrationOptions) -> Report:
    """Measure how well a request's best score s1 predicts how much the chosen document helps."""
    return report_scores("calibration", options, calibration_report, calibration_tables, reliability_figure, own="bins")


LEAST_BINS = 3


@dataclass(frozen=True, slots=True)
class ScoreFit:
    """Each request's best score s1, the gain of its chosen document, and predictions of this gain: (N,) each, gains in
    nats."""

    top_scores: Floats  # s1
    gains: Floats
    predicted: Floats  # gain by a line through s1, fitted on other users
    constant: Floats  # mean gain of those users
    bins: Bins  # by s1


def score_fit(outcomes: Sequence[ChoiceOutcome], names: Sequence[str], options: CalibrationOptions) -> ScoreFit:
    """Predict gains from s1 by cross-validation. ``names``: the cluster of each request, such as its user; a cluster is
    not split over folds."""
    top_scores = np.array([outcome.top_score for outcome in outcomes])
    gains = np.array([outcome.top1_gain for outcome in outcomes])
    folds = folds_of(names, options.folds)
    predicted = left_out_predictions(top_scores, gains, folds)
    constant = left_out_predictions(np.zeros_like(gains), gains, folds)
    return ScoreFit(top_scores, gains, predicted, constant, equal_bins(top_scores, options.bins))


def folds_of(names: Sequence[str], count: int) -> NDArray[np.intp]:
    """Assign each record to a fold, (N,). All records of a cluster are in one fold; folds have about equally many
    clusters."""
    unique, cluster = np.unique(np.asarray(names, dtype=str), return_inverse=True)
    shuffled = np.random.default_rng(0).permutation(len(unique))
    return np.asarray((shuffled % count)[cluster])


def left_out_predictions(x: Floats, y: Floats, folds: NDArray[np.intp]) -> Floats:
    """Predict each y from x, (N,), by the least-squares line through the other folds, or by the mean of their y if
    their x is constant. NaN if there is no other fold."""
    predicted = np.full(len(x), np.nan)
    for fold in np.unique(folds):
        held_out = folds == fold
        others_x, others_y = x[~held_out], y[~held_out]
        if len(others_x) == 0:
            continue
        centred = others_x - others_x.mean()
        spread = centred @ centred
        slope = centred @ others_y / spread if spread > 1e-12 * (others_x @ others_x) else 0.0
        predicted[held_out] = others_y.mean() + slope * (x[held_out] - others_x.mean())
    return predicted


def _binned_pearson(bootstrap: Bootstrap, model: ScoreFit) -> Estimate:
    """Pearson's r between the bins' means of s1 and gain. Resamples keep the bins of all requests."""

    def of_bins(sums: Floats) -> Floats:  # (R, 3B)
        number, scores, gains = np.split(sums, 3, axis=1)  # (R, B)
        return pearson_of_bins(scores / number, gains / number)

    inside = np.eye(int(model.bins.max()) + 1)[model.bins]  # (N, B)
    centred = model.top_scores - model.top_scores.mean()
    features = np.hstack((inside, inside * centred[:, None], inside * model.gains[:, None]))
    return bootstrap.sums(features, of_bins)


def pearson_of_bins(first: Floats, second: Floats) -> Floats:
    """Pearson's r over the bins with two finite means, (R, B) -> (R,). NaN for fewer than three such bins."""
    there = np.isfinite(first) & np.isfinite(second)
    x, y = np.where(there, first, 0.0), np.where(there, second, 0.0)
    parts = (there.astype(float), x, y, x * x, y * y, x * y)
    r = pearson_of_sums(np.stack([part.sum(axis=1) for part in parts], axis=1))
    return np.where(there.sum(axis=1) < LEAST_BINS, np.nan, r)


def calibration_error(bootstrap: Bootstrap, predicted: Floats, gains: Floats, bins: Bins) -> Estimate:
    """The distance between a bin's mean prediction and its mean gain, averaged over bins by their size."""
    return binned_distance(bootstrap, np.eye(int(bins.max()) + 1)[bins], predicted, gains)


def _explained(bootstrap: Bootstrap, model: ScoreFit) -> Estimate:
    errors = (model.gains - model.predicted) ** 2
    of_constant = (model.gains - model.constant) ** 2
    return bootstrap.sums(np.column_stack((errors, of_constant)), lambda sums: 1.0 - sums[:, 0] / sums[:, 1])


METRICS: tuple[Metric[ScoreFit], ...] = (
    Metric(
        "pearson_r",
        "Pearson r",
        "Agreement of the best score with the gain of its document, request by request.",
        "correlation over requests of s1 with the gain of the document chosen",
        f"after {PEARL}, appendix C.3, which has what is generated in place of the gain",
        2,
        lambda bootstrap, model: bootstrap.pearson(model.top_scores, model.gains),
    ),
    Metric(
        "spearman_rho",
        "Spearman rho",
        "The same for their ranks, which a few very large gains cannot dominate.",
        "correlation over requests of the ranks of s1 and of the gain of the document chosen",
        "-",
        2,
        lambda bootstrap, model: bootstrap.spearman(model.top_scores, model.gains),
    ),
    Metric(
        "binned_r",
        "binned r",
        "The same for groups of requests with similar scores.",
        "correlation over bins of equally many requests by s1 of the bins' mean s1 and mean gain",
        f"after {PEARL}, appendix C.3, which has the bins' starts and what is generated",
        2,
        _binned_pearson,
    ),
    Metric(
        "calibration_error",
        "calibration error",
        "Distance, in nats, of the gain that a line through s1 predicts from the real gain.",
        "gain fitted on s1 over other users; over the bins of s1, the weighed mean of |mean said - mean true|; never "
        "below zero, so chance alone lifts it, more so in resamples",
        "Naeini, Cooper and Hauskrecht 2015, Obtaining well calibrated probabilities using Bayesian binning",
        2,
        lambda bootstrap, model: calibration_error(bootstrap, model.predicted, model.gains, model.bins),
        higher_is_better=False,
    ),
    Metric(
        "constant_error",
        "of a constant",
        "The calibration error, in the same bins, of always predicting the mean gain.",
        "mean gain of other users; the same bins and distances",
        "-",
        2,
        lambda bootstrap, model: calibration_error(bootstrap, model.constant, model.gains, model.bins),
        higher_is_better=False,
    ),
    Metric(
        "variance_explained",
        "variance explained",
        "Reduction of error by that line, against always predicting the mean gain of other users.",
        "1 - squared error of the line over that of the mean, both fitted over other users; below zero it is worse",
        "-",
        3,
        _explained,
    ),
)
# a score that is the same for all requests errs in no bin, for it has but one: errors are not compared between models
COMPARED = tuple(metric for metric in METRICS if metric.higher_is_better)


def calibration_report(everything: Candidates, baselines: Sequence[str], options: CalibrationOptions) -> dict[str, Any]:
    """The figures over all requests, and the figures without near-duplicates of the targets."""
    left, counts = set_aside(everything, options.near_duplicates)
    return {
        "bins": options.bins,
        "folds": options.folds,
        **calibration_table(everything, baselines, options),
        "near_duplicates": {**counts, **calibration_table(left, baselines, options)},
    }


def calibration_table(choices: Candidates, baselines: Sequence[str], options: CalibrationOptions) -> dict[str, Any]:
    """The figures of all models on the same resamples, and how they compare with a constant prediction."""
    if not choices.records:
        return {"n": 0, "models": []}
    drawn = clusters(choices.records)
    bootstrap = Bootstrap(drawn.names)
    models = {name: score_fit(outcomes, drawn.names, options) for name, outcomes in choices.outcomes(k=1).items()}
    measured = {name: figures(METRICS, bootstrap, model) for name, model in models.items()}
    return {
        **drawn.to_json(),
        "models": [
            to_json(measured[name], model=name) | {"reliability": _reliability(bootstrap, model)}
            for name, model in models.items()
        ],
        "differences": differences(COMPARED, measured, measured, [name for name in baselines if name in measured]),
    }


def _reliability(bootstrap: Bootstrap, model: ScoreFit) -> list[dict[str, Any]]:
    """For each bin, in ascending order of s1: the number of requests, the range and mean of s1, and the mean gain."""
    return [
        {
            "n": int(inside.sum()),
            "low": round(float(model.top_scores[inside].min()), DIGITS),
            "high": round(float(model.top_scores[inside].max()), DIGITS),
            "s1": bootstrap.ratio(model.top_scores * inside, inside).to_json(),
            "gain": bootstrap.ratio(model.gains * inside, inside).to_json(),
        }
        for inside in (model.bins == index for index in np.unique(model.bins))
    ]


def calibration_tables(result: Json) -> Iterator[Table]:
    """Yield tables of all requests, differences from the best baselines, each model's bins, and near-duplicates."""
    yield figures_table(result, METRICS)
    yield differences_table(result, COMPARED)
    for model in result["models"]:
        caption = f"{model['model']}: requests by their best score. {caption_of(result)}"
        yield Table.of(caption, model["reliability"], named("low high n s1 gain"), result["command"])
    aside = result["near_duplicates"]
    if aside["n"]:
        yield figures_table(result, METRICS, aside)
        yield differences_table(result, COMPARED, aside)


def reliability_figure(result: Json) -> Figure:
    """Draw the mean gain of each bin over its mean s1 and, below, the distribution of s1."""
    return panels(result["models"], (_draw_bins, _draw_scores))


def _draw_bins(axes: Axes, model: Json) -> None:
    rows = model["reliability"]
    gains, reaches = values_and_reaches(row["gain"] for row in rows)
    axes.errorbar([row["s1"]["value"] for row in rows], gains, yerr=reaches, fmt="o-", color=BLUE, ms=4, lw=1)
    axes.axhline(0.0, color=GREY, lw=0.8, zorder=0)
    axes.set_ylabel("gain of the document chosen (nats)")


def _draw_scores(axes: Axes, model: Json) -> None:
    axes.stairs(model["s1"]["counts"], model["s1"]["edges"], fill=True, color=BLUE)
    axes.set(xlabel="best score s1", ylabel="requests")
