"""Measures of a fitted retriever on the dev split: the gain of the best-scored document, how well its score predicts
that gain, and the lead over baselines.

Dimensions in comments: C candidates of a request, N requests, R resamples of the users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
from numpy.typing import NDArray

from pearl.stats.bootstrap import Bootstrap
from retriever.base import Helps
from retriever.baselines.bm25 import BM25Retriever
from retriever.baselines.dense import DenseRetriever
from retriever.baselines.trivial import RecentRetriever
from retriever.calibrated.head import Floats
from retriever.models.encoder import Encoder
from training.data.records import Example, clusters_of

SURE = 0.9  # of resamples of dev's users, in which a part must make the artifact better to be in it
ASKED = 0.05  # of the requests of a kind of text may at most end in a question


@dataclass(frozen=True, slots=True)
class Fit:
    """Figures of a fitted retriever: mean gain (nats) of the documents with the highest scores, the share of the best
    possible gain, and Pearson's r of scores and gains."""

    top1_gain: float
    share: float
    pearson_r: float

    @property
    def quality(self) -> float:
        """Return the number by which fits are compared: share + r / 4."""
        return self.share + self.pearson_r / 4


def measure(scores: Sequence[Floats], gains: Sequence[Floats]) -> Fit:
    """Compute a fit's figures from the scores and the gains of each request's candidates, (C,) per request."""
    top, chosen = best_of(scores, gains)
    best = sum(float(own.max()) for own in gains)
    return Fit(float(chosen.mean()), float(chosen.sum() / best) if best > 0 else 0.0, pearson(top, chosen))


def measure_domains(scores: Sequence[Floats], gains: Sequence[Floats], domains: Sequence[str]) -> Fit:
    """Compute a fit's figures in each domain (kind of text); return their unweighted mean."""
    fits = []
    for domain in sorted(set(domains)):
        own = [place for place, name in enumerate(domains) if name == domain]
        fits.append(astuple(measure([scores[place] for place in own], [gains[place] for place in own])))
    return Fit(*np.mean(fits, axis=0).tolist())


def better_in(
    scores: Sequence[Floats], others: Sequence[Floats], gains: Sequence[Floats], users: Sequence[str], seed: int
) -> float:
    """Return the share of bootstrap resamples of users in which ``scores`` have a higher ``Fit.quality``."""
    bootstrap = Bootstrap(users, seed=seed)
    own, theirs = (qualities(bootstrap, compared, gains) for compared in (scores, others))
    return float((own > theirs).mean())


def qualities(bootstrap: Bootstrap, scores: Sequence[Floats], gains: Sequence[Floats]) -> NDArray[np.float64]:
    """Return the quality of a fit with these scores (``Fit.quality``) in each bootstrap resample: (R,)."""
    top, chosen = best_of(scores, gains)
    share = bootstrap.ratio(chosen, [own.max() for own in gains]).resampled
    r = bootstrap.pearson(top, chosen).resampled
    return np.nan_to_num(share) + np.nan_to_num(r) / 4


def best_of(scores: Sequence[Floats], gains: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return the highest score (s1) of each request and the gain of the document that has it, (N,) each."""
    chosen = [int(np.argmax(mine)) for mine in scores]
    return (
        np.array([mine[place] for mine, place in zip(scores, chosen, strict=True)], np.float32),
        np.array([own[place] for own, place in zip(gains, chosen, strict=True)], np.float32),
    )


def pearson(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    """Compute Pearson's r of two variables, (N,) each; 0 where either is constant."""
    from scipy.stats import pearsonr

    if not np.ptp(first) or not np.ptp(second):
        return 0.0
    return float(pearsonr(np.asarray(first, np.float64), np.asarray(second, np.float64)).statistic)


def floor_of(scores: Floats, gains: Floats) -> float | None:
    """Return the score up to which documents are expected not to help (gain at most 0); None if all are expected to
    help.

    The expected gain is the isotonic regression of gains, (N,), on scores, (N,).
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(scores, kind="stable")
    expected = isotonic_regression(gains[order]).x
    useless = int((expected <= 0.0).sum())
    if useless == 0:
        return None
    return float(scores[order][min(useless, len(order) - 1)])


def helps_of(scores: Sequence[Floats], gains: Sequence[Floats]) -> Helps | None:
    """Fit a logistic regression of whether a document helps (gain above 0) on its score. Scores and gains are (C,) per
    request. None if all documents help, none helps, or higher scores mean less help."""
    from sklearn.linear_model import LogisticRegression

    every, helped = np.concatenate(scores).astype(np.float64), np.concatenate(gains) > 0
    if helped.all() or not helped.any() or not np.ptp(every):
        return None
    fitted = LogisticRegression(C=np.inf).fit(every[:, None], helped)
    slope, intercept = float(fitted.coef_[0, 0]), float(fitted.intercept_[0])
    return Helps(slope, intercept) if slope > 0 else None


def floors(
    scores: Sequence[Floats], gains: Sequence[Floats], kinds: Sequence[str]
) -> tuple[float | None, float | None]:
    """Return two thresholds: the score below which a document is not shown, and the score of the best document (s1)
    below which the user is asked a question instead.

    The second leaves at most the share ASKED of dev's requests below it, in each of the ``kinds`` of text.
    """
    top, _ = best_of(scores, gains)
    kind = np.asarray(kinds)
    seconds = [np.sort(top[kind == of_kind]) for of_kind in np.unique(kind)]
    return (
        floor_of(np.concatenate(scores), np.concatenate(gains)),
        min(float(own[int(ASKED * len(own))]) for own in seconds),
    )


LEAST_REQUESTS = 30
LEADS = 0.95  # of resamples, in which it must be better than the best baseline


@dataclass(frozen=True, slots=True)
class LeadOverBaseline:
    """A retriever compared with the best baseline on dev: the mean gains (nats) of the documents that each chooses, and
    the share of bootstrap resamples in which the retriever gains more. ``own``: the retriever did not learn from these
    requests."""

    requests: int
    top1_gain: float
    baseline: str
    baseline_top1_gain: float
    better_in: float
    own: bool

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return the reasons not to use the retriever, each a clause; empty if there are none."""
        clauses = []
        if not self.own:
            clauses.append("nothing was left to choose by but what it was trained on")
        if self.requests < LEAST_REQUESTS:
            clauses.append(
                f"{self.requests} scored request{'s' * (self.requests != 1)} to choose by, fewer than {LEAST_REQUESTS}"
            )
        if self.better_in < LEADS:
            clauses.append(
                f"not surely better than {self.baseline} on dev: {self.top1_gain:.3g} nats and "
                f"{self.baseline_top1_gain:.3g}, better in {100 * self.better_in:.4g}% of resamples"
            )
        return tuple(clauses)


def compare_with_baselines(
    scores: Sequence[Floats], dev: Sequence[Example], encoder: Encoder, *, own: bool, seed: int
) -> LeadOverBaseline:
    """Compare a fitted retriever with baselines on dev; ``scores``: of each request's candidates, (C,) each."""
    gains = [example.gains for example in dev]
    _, chosen = best_of(scores, gains)
    others = {}
    for retriever in (BM25Retriever(), DenseRetriever(encoder), RecentRetriever()):
        own_scores = [retriever.index(example.documents).scores(example.request) for example in dev]
        _, others[retriever.name] = best_of(own_scores, gains)
    best = max(others, key=lambda name: float(others[name].mean()))
    bootstrap = Bootstrap(clusters_of(dev), seed=seed)
    more = bootstrap.mean((chosen - others[best]).astype(np.float64))
    return LeadOverBaseline(
        len(dev),
        float(chosen.mean()),
        best,
        float(others[best].mean()),
        float((more.resampled > 0).mean()),
        own,
    )
