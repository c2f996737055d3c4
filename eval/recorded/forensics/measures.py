"""Measures of an annotator's agreement with a reference, with intervals and tests.

All measures are functions of five counts over the pairs on which the reference chooses a response. The five counts:
both choose a, both choose b, the annotator chooses a and the reference b, the annotator chooses b and the reference a,
and the annotator chooses neither.

Dimensions in comments: K annotators, R resamples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from typer import Option

from eval.recorded.forensics.votes import A, B, Codes, chooses
from eval.stats.proportions import ratio
from pearl.stats.bootstrap import Estimate, Floats
from pearl.stats.proportions import Interval, Z

RESAMPLES = 10_000
TOGETHER = 64  # annotators whose resamples are in memory at once
AA, BB, AB, BA, NONE = range(5)


@dataclass(frozen=True, slots=True)
class PairMeasure:
    """A measure that ``of`` computes from the five counts, (..., 5). ``how``: its formula; ``source``: its paper."""

    name: str
    title: str
    how: str
    source: str
    of: Callable[[Floats], Floats]


def agreed(counts: Floats) -> Floats:
    return np.asarray(counts[..., AA] + counts[..., BB])


def disagreed(counts: Floats) -> Floats:
    return np.asarray(counts[..., AB] + counts[..., BA])


def relevance(counts: Floats) -> Floats:
    """The share of pairs on which the annotator chooses a response."""
    return ratio(agreed(counts) + disagreed(counts), counts.sum(axis=-1))


def agreement(counts: Floats) -> Floats:
    """The share of agreeing votes among the pairs on which both choose a response; NaN if there are no such pairs."""
    return ratio(agreed(counts), agreed(counts) + disagreed(counts))


def agreement_of_all(counts: Floats) -> Floats:
    """The share of pairs with agreeing votes, among all pairs on which the reference chooses a response."""
    return ratio(agreed(counts), counts.sum(axis=-1))


def accuracy(counts: Floats) -> Floats:
    """The same as :func:`agreement`, but 0.5 if there is no pair on which both choose a response."""
    share = agreement(counts)
    return np.where(np.isnan(share), 0.5, share)


def kappa(counts: Floats) -> Floats:
    """Cohen's kappa over the pairs on which both choose; 0 without such pairs, NaN if the expected agreement is 1."""
    both = agreed(counts) + disagreed(counts)
    annotator_a, reference_a = counts[..., AA] + counts[..., AB], counts[..., AA] + counts[..., BA]
    chance = ratio(annotator_a * reference_a + (both - annotator_a) * (both - reference_a), both**2)
    beyond = ratio(agreement(counts) - chance, np.where(np.abs(1 - chance) < 1e-12, 0.0, 1 - chance))
    return np.where(both == 0, 0.0, beyond)


def kappa_randomized(counts: Floats) -> Floats:
    """Cohen's kappa with an expected agreement of one half, because the annotator sees the texts in random order."""
    return 2 * accuracy(counts) - 1


def strength(counts: Floats) -> Floats:
    """Agreeing minus disagreeing votes, divided by the number of pairs. Equals randomized kappa times relevance."""
    return ratio(agreed(counts) - disagreed(counts), counts.sum(axis=-1))


PAPER, CODE = "papers/feedback-forensics.txt", "the public package"
MEASURES = (
    PairMeasure("relevance", "Relevance", "(A + D) / n", f"{PAPER}, 2.1", relevance),
    PairMeasure("agreement", "Agreement", "A / (A + D)", f"{PAPER}, B", agreement),
    PairMeasure("agreement_of_all", "Agreement of all", "A / n", CODE, agreement_of_all),
    PairMeasure("accuracy", "Accuracy", "A / (A + D), 0.5 if there is none", CODE, accuracy),
    PairMeasure("kappa", "Cohen's kappa", "(p_o - p_e) / (1 - p_e) where both choose", f"{PAPER}, 2.1", kappa),
    PairMeasure("kappa_randomized", "Kappa, random order", "2 accuracy - 1", f"{PAPER}, footnote 3", kappa_randomized),
    PairMeasure("strength", "Strength", "(A - D) / n", f"{PAPER}, 2.1", strength),
)


@dataclass(frozen=True, slots=True)
class Resampling:
    """Options of the bootstrap. ``prior`` votes of each kind (agreeing, disagreeing, none) are added before resampling,
    so that unanimous votes have an interval, too. The default of 1 is the public package's; the paper adds none."""

    prior: Annotated[
        float, Option(min=0.0, max=1000.0, help="Number of votes of each kind to add before resampling.")
    ] = 1.0


def five_counts(codes: Codes, reference: Codes) -> Floats:
    """The five counts of each annotator, (K, 5), from all annotators' votes, (N, K), and the reference's, (N,)."""
    chosen = chooses(reference)
    a, b = (codes == A)[chosen], (codes == B)[chosen]
    for_a = (reference == A)[chosen][:, None]
    counts = np.stack([(a & for_a), (b & ~for_a), (a & ~for_a), (b & for_a)], axis=-1).sum(axis=0)
    return np.column_stack([counts, chosen.sum() - counts.sum(axis=-1)]).astype(np.float64)


def intervals(counts: Floats, resampling: Resampling) -> dict[str, list[Interval | None]]:
    """Compute every measure, with its bootstrap interval over pairs, for each annotator. ``counts``: (K, 5), without
    the prior votes. A list has None where the measure is undefined."""
    generator = np.random.default_rng(0)
    prior = np.array([0.5, 0.5, 0.5, 0.5, 1.0]) * resampling.prior  # of an agreeing, a disagreeing, another vote
    by_measure: dict[str, list[Interval | None]] = {measure.name: [] for measure in MEASURES}
    for start in range(0, len(counts), TOGETHER):
        some = counts[start : start + TOGETHER]
        total = (some + prior).sum(axis=-1, keepdims=True)
        number, size = np.rint(total[:, 0]).astype(np.int64), (RESAMPLES, len(some))
        drawn = generator.multinomial(number, (some + prior) / total, size=size).astype(np.float64)  # (R, K, 5)
        for measure in MEASURES:
            values, resamples = measure.of(some), measure.of(drawn)
            by_measure[measure.name] += [
                Estimate(float(value), of_annotator).interval
                for value, of_annotator in zip(values, resamples.T, strict=True)
            ]
    return by_measure


def closed_form(counts: Floats) -> list[Interval]:
    """Each annotator's strength s with the interval s +- 1.96 sqrt((relevance - s^2) / n), to check the bootstrap."""
    values = strength(counts)
    errors = np.sqrt(np.maximum(relevance(counts) - values**2, 0) / counts.sum(axis=-1))
    return [normal_interval(value, error) for value, error in zip(values, errors, strict=True)]


def normal_interval(value: float, error: float) -> Interval:
    """A figure and its 95% interval from its standard error, by the normal approximation."""
    value, reach = float(value), Z * float(error)
    return Interval(value, value - reach, value + reach)


def p_values(counts: Floats) -> Floats:
    """One-tailed binomial p-values, (K,): for many agreeing votes or, if most votes disagree, for few."""
    from scipy.stats import binom

    agreeing, both = agreed(counts), agreed(counts) + disagreed(counts)
    more = agreeing > both - agreeing
    tail = np.where(more, binom.sf(agreeing - 1, both, 0.5), binom.cdf(agreeing, both, 0.5))
    return np.where(both == 0, 1.0, tail)
