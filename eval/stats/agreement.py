"""Agreement beyond chance between raters: the figures of ``pearl eval agreement``, and of a judge's draws (repeated
judgements)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eval.stats.coefficients import Agreement
from eval.stats.ratings import Ratings, ratings_of

NOTHING_READ = "no draw has a label"
TITLES = {
    "raw_agreement": "raw agreement",
    "randolph_kappa": "Randolph's kappa",
    "fleiss_kappa": "Fleiss' kappa",
    "cohen_kappa": "Cohen's kappa, mean of pairs",
    "krippendorff_alpha_nominal": "Krippendorff's alpha, nominal",
    "krippendorff_alpha_ordinal": "Krippendorff's alpha, ordinal",
    "krippendorff_alpha_interval": "Krippendorff's alpha, interval",
}


def agreement_report(ratings: Ratings, *, clusters: Sequence[str] | None = None) -> dict[str, Any]:
    """Every coefficient of agreement with its interval and verbal band, or null and the reason; and the agreement of
    every two raters. ``clusters``: of the items, for resampling."""
    agreement = Agreement(ratings, clusters=clusters)
    pairs = agreement.pairs()
    coefficients = {
        "raw_agreement": agreement.raw(),
        "randolph_kappa": agreement.randolph(),
        "fleiss_kappa": agreement.fleiss(),
        "cohen_kappa": agreement.cohen(pairs),
        **{f"krippendorff_alpha_{level}": agreement.alpha(level) for level in ("nominal", "ordinal", "interval")},
    }
    number = (ratings.codes >= 0).sum(axis=1)
    return {
        "n": int(number.sum()),
        "missing": ratings.missing,
        "items": len(ratings.items),
        "items_rated_once": int((number == 1).sum()),
        "raters": list(ratings.raters),
        "labels": ratings.used,
        "coefficients": {name: coefficient.to_json() for name, coefficient in coefficients.items()},
        "items_used": {name: coefficient.items for name, coefficient in coefficients.items()},
        "bands": {name: coefficients[name].band for name in coefficients if name != "raw_agreement"},
        "undefined": {name: absent.reason for name, absent in coefficients.items() if absent.estimate is None},
        "pairs": [
            {
                "rater": pair.first,
                "against": pair.second,
                "items": pair.kappa.items,
                "agreement": pair.agreement.to_json(),
                "cohen_kappa": pair.kappa.to_json(),
                "band": pair.kappa.band,
                "reason": pair.kappa.reason or None,
            }
            for pair in pairs
        ],
    }


def self_consistency(
    drawn: dict[tuple[str, str], str], labels: Sequence[str], clusters: Mapping[str, str], seed: int
) -> dict[str, Any]:
    """Randolph's kappa between the draws of a judge, with an interval over ``clusters`` (by item); null with a reason
    if undefined. ``drawn``: the label of each item and draw; ``labels``: all possible labels."""
    if not drawn:
        return {"randolph_kappa": None, "band": None, "undefined": {"randolph_kappa": NOTHING_READ}}
    ratings = ratings_of(drawn, labels)
    names = [clusters[item] for item in ratings.items]
    kappa = Agreement(ratings, seed=seed, clusters=names).randolph()
    return {
        "randolph_kappa": kappa.to_json(),
        "band": kappa.band,
        "undefined": {} if kappa.estimate else {"randolph_kappa": kappa.reason},
    }
