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
    from eval.stats.coefficients import Agreement, landis_koch  # here, for a judge's help needs no statistics
    from eval.stats.ratings import ratings_of

    ratings = ratings_of(drawn, labels)
    names = [clusters[item] for item in ratings.items]
    coefficient = Agreement(ratings, resamples=RESAMPLES, seed=seed, clusters=names).randolph()
    kappa = coefficient.estimate
    return {
        "randolph_kappa": kappa.to_json() if kappa else None,
        "band": landis_koch(kappa.value) if kappa else None,
        "undefined": {} if kappa else {"randolph_kappa": coefficient.reason},
    }
