"""Share of experts who prefer the version with the higher score, by the gap between the two scores; and the ranks that
experts gave. The scores are the recorded ones, or those of a reward model or a trivial scorer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import inf
from statistics import median
from typing import Any

import numpy as np

from eval.recorded.quality.experts import MEDIAN, RANK_OF, THREE, VERSIONS, RankedTriplet
from eval.recorded.quality.scorers import TextScorer
from pearl.errors import InputError
from pearl.stats.bootstrap import Bootstrap

EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, inf)
WIDE = 1.0  # points: the paper has a figure for wider gaps
QUARTERS = (0.25, 0.5, 0.75)
RECORDED = "recorded"
RIVALS = ("shorter", "longer", "compression", "type_token")  # perplexity would load a language model
EXPERTS = 3  # that ranked each triplet, as the paper has it
# what the paper prints in sections 6 and 6.1: where it stands in the result, and the figure
PRINTED = (
    ("individual agreement, gap up to 0.5", ("individual", "0-0.5"), 0.55),
    ("individual agreement, gap above 3", ("individual", "3+"), 0.80),
    ("majority agreement", ("majority", "all"), 0.66),
    ("majority agreement, gap above 1", ("majority", "above 1"), 0.722),
    ("mean rank, best edit", ("ranks", "best edit"), 1.58),
    ("mean rank, random edit", ("ranks", "random edit"), 2.09),
    ("mean rank, first draft", ("ranks", "first draft"), 2.26),
    ("mean rank by majority, best edit", ("majority_ranks", "best edit"), 1.58),
    ("mean rank by majority, random edit", ("majority_ranks", "random edit"), 2.09),
    ("mean rank by majority, first draft", ("majority_ranks", "first draft"), 2.26),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertOptions:
    preset: str
    raters: str
    majority: str


@dataclass(frozen=True, slots=True)
class ScoredComparison:
    """A comparison of two versions by an expert or by the experts' majority: whether it prefers the version with the
    higher score (``agrees``), and the gap between the two scores."""

    triplet: str
    versions: tuple[str, str]
    gap: float  # of their scores, above 0
    agrees: int  # 1 where the version with the higher score is preferred
    expert: int | None = None  # index of the expert; None for the majority


def experts_report(triplets: Sequence[RankedTriplet], options: ExpertOptions) -> dict[str, Any]:
    """Report how often experts agree with the scores, by score gap, how they rank versions, and the paper's figures."""
    counts = Counter(len(triplet.rankings) for triplet in triplets)
    counted = of_raters(triplets, options.raters)
    pairs = [pair for triplet in counted for pair in majority_words(triplet, options.majority)]
    decided = [pair for pair in pairs if pair is not None]
    groups: dict[tuple[str, str], list[RankedTriplet]] = defaultdict(list)
    for triplet in triplets:
        groups[triplet.genre, triplet.llm].append(triplet)
    result: dict[str, Any] = {
        "preset": options.preset,
        "choices": {"raters": options.raters, "majority": options.majority},
        "triplets": len(triplets),
        "rankings": sum(len(triplet.rankings) for triplet in triplets),
        "experts_of_a_triplet": {str(number): counts[number] for number in sorted(counts)},
        "equal_scores": sum(not gap for triplet in triplets for gap in _gaps(triplet).values()),
        "random_edits_below_the_draft": sum(
            triplet.scores["random_cot"] < triplet.scores["first_draft"] for triplet in triplets
        ),
        "majority_triplets": len(counted),
        "undecided_pairs": len(pairs) - len(decided),
        "individual": agreement_by_gap([pair for triplet in triplets for pair in individual_words(triplet)]),
        "majority": agreement_by_gap(decided),
        "ranks": _ranks(triplets),
        "majority_ranks": _ranks(_ranked_by_majority(counted, options.majority)),
        "groups": [
            {
                "genre": genre,
                "llm": llm,
                "triplets": len(members),
                "ranks": _ranks(members),
                "majority_ranks": _ranks(_ranked_by_majority(of_raters(members, options.raters), options.majority)),
            }
            for (genre, llm), members in sorted(groups.items())
        ],
    }
    return result | {"printed": [_beside(result, *row) for row in PRINTED]}


def of_raters(triplets: Sequence[RankedTriplet], raters: str) -> list[RankedTriplet]:
    """The triplets that count for majorities; ``raters`` is THREE (exactly three experts) or ANY."""
    return [triplet for triplet in triplets if raters != THREE or len(triplet.rankings) == EXPERTS]


def _gaps(triplet: RankedTriplet) -> Mapping[tuple[str, str], float]:
    scores = triplet.scores
    return {(one, other): scores[one] - scores[other] for one, other in combinations(VERSIONS, 2)}


def individual_words(triplet: RankedTriplet) -> Iterator[ScoredComparison]:
    """Yield what each expert says of every two versions whose scores differ."""
    for (one, other), gap in _gaps(triplet).items():
        if gap:
            for expert, ranks in enumerate(triplet.rankings):
                agrees = (ranks[one] < ranks[other]) == (gap > 0)
                yield ScoredComparison(triplet.id, (one, other), abs(gap), agrees, expert)


def majority_words(triplet: RankedTriplet, rule: str) -> Iterator[ScoredComparison | None]:
    """Yield what the majority says of every two versions whose scores differ; None if there is no majority."""
    for (one, other), gap in _gaps(triplet).items():
        if not gap:
            continue
        lead = _lead(triplet, one, other, rule)
        yield ScoredComparison(triplet.id, (one, other), abs(gap), (lead > 0) == (gap > 0)) if lead else None


def _lead(triplet: RankedTriplet, one: str, other: str, rule: str) -> float:
    """Above 0 if the majority ranks ``one`` higher, below 0 if it ranks ``other`` higher, 0 without a majority."""
    if rule == MEDIAN:
        return median(ranks[other] for ranks in triplet.rankings) - median(ranks[one] for ranks in triplet.rankings)
    return sum(1 if ranks[one] < ranks[other] else -1 for ranks in triplet.rankings)


def _ranked_by_majority(triplets: Sequence[RankedTriplet], rule: str) -> list[RankedTriplet]:
    """The triplets that the majority orders completely, each with this order as its only ranking."""
    ranked = []
    for triplet in triplets:
        ranks = {
            one: 1 + sum(_lead(triplet, one, other, rule) < 0 for other in VERSIONS if other != one) for one in VERSIONS
        }
        if sorted(ranks.values()) == sorted(RANK_OF.values()):
            ranked.append(replace(triplet, rankings=(ranks,)))
    return ranked


def agreement_by_gap(
    comparisons: Sequence[ScoredComparison],
    edges: Sequence[float] = EDGES,
    wide: float | None = WIDE,
) -> list[dict[str, Any]]:
    """Shares of comparisons that agree with the scores: a row for each bin of gaps, one for all gaps, and one for gaps
    above ``wide``. Intervals are over triplets."""
    if not comparisons:
        return []
    bootstrap = Bootstrap([pair.triplet for pair in comparisons])
    gaps = np.array([pair.gap for pair in comparisons])
    agrees = np.array([pair.agrees for pair in comparisons], float)
    bins = [(f"{low:g}+" if high == inf else f"{low:g}-{high:g}", low, high) for low, high in pairwise(edges)]
    above = [] if wide is None else [(f"above {wide:g}", wide, inf)]
    rows = []
    for name, low, high in (*bins, ("all", 0.0, inf), *above):
        inside = (gaps > low) & (gaps <= high)
        rows.append(
            {
                "gap": name,
                "n": int(inside.sum()),
                "agree": int(agrees[inside].sum()),
                "mean_gap": round(float(gaps[inside].mean()), 9) if inside.any() else None,
                "agreement": bootstrap.share(agrees, inside).to_json(),
            }
        )
    return rows


def _ranks(triplets: Sequence[RankedTriplet]) -> list[dict[str, Any]]:
    """For each version, its mean rank and the share of each rank, over all rankings."""
    names = [triplet.id for triplet in triplets for _ in triplet.rankings]
    if not names:
        return []
    bootstrap = Bootstrap(names)
    rows = []
    for version, title in VERSIONS.items():
        given = np.array([ranks[version] for triplet in triplets for ranks in triplet.rankings], float)
        shares = {f"rank_{rank}": bootstrap.share(given == rank).to_json() for rank in RANK_OF.values()}
        rows.append({"version": title, "n": len(given), **shares, "mean_rank": bootstrap.mean(given).to_json()})
    return rows


def _beside(result: Mapping[str, Any], figure: str, where: tuple[str, str], printed: float) -> dict[str, Any]:
    """A figure of the paper with ours, and whether it lies in our interval."""
    part, name = where
    key, wanted = ("version", "mean_rank") if part.endswith("ranks") else ("gap", "agreement")
    ours = next((row[wanted] for row in result[part] if row[key] == name), None)
    within = ours is not None and ours["low"] <= printed <= ours["high"]
    return {"figure": figure, "printed": printed, "ours": ours, "within_interval": within}


def rescored_report(
    triplets: Sequence[RankedTriplet], scorers: Sequence[TextScorer], options: ExpertOptions
) -> list[dict[str, Any]]:
    """The experts' agreement with the recorded scores and with each scorer's scores, and the paired difference over the
    pairs that both can decide. Raises InputError for triplets without texts."""
    without = next((triplet.id for triplet in triplets if len(triplet.texts) < len(VERSIONS)), None)
    if without is not None:
        raise InputError(f"'{without}' has no texts to score: each version needs a candidate.")
    texts = [triplet.texts[version] for triplet in triplets for version in VERSIONS]
    recorded = np.array([triplet.scores[version] for triplet in triplets for version in VERSIONS])
    names = [triplet.id for triplet in triplets for _ in VERSIONS]
    bootstrap = Bootstrap(names)
    rows = []
    for name, scores in ((RECORDED, recorded), *((scorer.name, scorer.scores(texts)) for scorer in scorers)):
        by_triplet = np.asarray(scores, float).reshape(-1, len(VERSIONS)).tolist()
        scored = [
            replace(triplet, scores=dict(zip(VERSIONS, triplet_scores, strict=True)))
            for triplet, triplet_scores in zip(triplets, by_triplet, strict=True)
        ]
        rows.append(
            {
                "scorer": name,
                **_agreements(scored, options),
                "spearman": bootstrap.spearman(scores, recorded).to_json() if name != RECORDED else None,
                "more_than_recorded": _ahead(scored, triplets) if name != RECORDED else None,
            }
        )
    return rows


def _agreements(triplets: Sequence[RankedTriplet], options: ExpertOptions) -> dict[str, Any]:
    """Agreement with individual experts and with majorities, over all pairs and by quarters of the pairs' gaps; bins of
    fixed width would not fit scores on another scale."""
    individual = [word for triplet in triplets for word in individual_words(triplet)]
    counted = of_raters(triplets, options.raters)
    majority = [word for triplet in counted for word in majority_words(triplet, options.majority) if word is not None]
    gaps = [word.gap for word in individual]
    quarters = np.unique(np.quantile(gaps, QUARTERS).round(3)) if gaps else np.array([])
    edges = (0.0, *quarters[quarters > 0].tolist(), np.inf)
    return {
        kind: agreement_by_gap(words, edges, wide=None)
        for kind, words in (("individual", individual), ("majority", majority))
    }


def _ahead(scored: Sequence[RankedTriplet], recorded: Sequence[RankedTriplet]) -> dict[str, float] | None:
    """The paired difference in agreement with individual experts; None if there is no pair that both scores decide."""
    agrees, recorded_agrees = (
        {
            (word.triplet, word.versions, word.expert): word.agrees
            for triplet in some
            for word in individual_words(triplet)
        }
        for some in (scored, recorded)
    )
    shared = [word for word in agrees if word in recorded_agrees]
    if not shared:
        return None
    bootstrap = Bootstrap([triplet for triplet, *_ in shared])
    return bootstrap.mean([float(agrees[word]) - float(recorded_agrees[word]) for word in shared]).to_json()
