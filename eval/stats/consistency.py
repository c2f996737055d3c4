"""Agreement among the draws of a judge of style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pearl.stats import RESAMPLES

NOTHING_READ = "no draw has a label"


def self_consistency(
    drawn: dict[tuple[str, str], str], labels: Sequence[str], clusters: Mapping[str, str], seed: int
) -> dict[str, Any]:
    """Randolph's kappa of the labels that were ``drawn`` for items, by item and draw, with its interval over the
    ``clusters`` of items; null with a reason."""
    if not drawn:
        return {"randolph_kappa": None, "band": None, "undefined": {"randolph_kappa": NOTHING_READ}}
    from eval.stats.coefficients import Agreement  # here, for a judge's help needs no statistics
    from eval.stats.ratings import ratings_of

    ratings = ratings_of(drawn, labels)
    names = [clusters[item] for item in ratings.items]
    kappa = Agreement(ratings, resamples=RESAMPLES, seed=seed, clusters=names).randolph()
    return {
        "randolph_kappa": kappa.to_json(),
        "band": kappa.band,
        "undefined": {} if kappa.estimate else {"randolph_kappa": kappa.reason},
    }
