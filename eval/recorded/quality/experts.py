"""Experts' rankings of a first draft and two edited versions of it, with a reward model's score for each version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.asking.choices import PaperChoice, Preset, Presets
from eval.asking.json_lines import at_least_one, check_fields, check_number
from eval.report.tables import Declared, Json, Table, named, rows_tables
from pearl.errors import InputError
from pearl.text.usable import check_id, check_text
from retriever.reward.record_files import parse_objects

VERSIONS = {"first_draft": "first draft", "random_cot": "random edit", "best_cot": "best edit"}
RANK_OF = {"Most Preferred Writing Option": 1, "Second Favorite Writing Option": 2, "Least Preferred Writing Option": 3}

# points that the paper leaves open about experts' majorities
THREE, ANY = "three", "any"
PAIRWISE, MEDIAN = "pairwise", "median_rank"
RATERS = PaperChoice(
    "raters",
    {
        THREE: "majorities are taken over triplets that exactly three experts ranked",
        ANY: "majorities are taken over all triplets; an even vote gives none",
    },
    "The paper has three experts for each triplet; the published file has two to four.",
)
MAJORITY = PaperChoice(
    "majority",
    {
        PAIRWISE: "the version of a pair that more experts rank higher",
        MEDIAN: "the version of a pair with the better median rank; equal ones give no majority",
    },
    "The paper speaks of a majority rank and does not say how it is made.",
)
PRESETS = Presets(
    (RATERS, MAJORITY),
    (
        Preset("as_published", "Gives the paper's 66% over all pairs.", {"raters": THREE, "majority": PAIRWISE}),
        Preset("corrected", "Leaves no ranking out.", {"raters": ANY, "majority": PAIRWISE}),
    ),
)


@dataclass(frozen=True, slots=True)
class RankedTriplet:
    """A first draft and two edits of it, with scores and experts' rankings. Mappings have the keys of VERSIONS."""

    id: str
    genre: str
    llm: str
    scores: Mapping[str, float]
    rankings: tuple[Mapping[str, int], ...]  # one an expert, 1 the best
    texts: Mapping[str, str] = field(default_factory=dict)  # of the versions whose text the record has


def read_triplets(path: Path) -> tuple[RankedTriplet, ...]:
    """Read the triplets of a file. Raises InputError that names file, record and field, and for a duplicate id."""
    known: set[str] = set()

    def distinct(value: dict[str, Any], number: int) -> RankedTriplet:
        triplet = parse_triplet(value)
        if triplet.id in known:
            raise InputError(f"'{triplet.id}' is there already.", param="id")
        known.add(triplet.id)
        return triplet

    return at_least_one(path, parse_objects(path, distinct), "triplet")


def parse_triplet(value: dict[str, Any]) -> RankedTriplet:
    """Parse the JSON object of a triplet. Raises InputError with ``param`` set to the field."""
    check_fields(value, "id", "genre", "llm", "annotations", *VERSIONS)
    rankings = value["annotations"]
    if not isinstance(rankings, list) or not rankings:
        raise InputError("must be a list with a ranking of each expert.", param="annotations")
    return RankedTriplet(
        check_id(value["id"]),
        check_id(value["genre"], param="genre"),
        check_id(value["llm"], param="llm"),
        {name: _score(value[name], f"{name}.wqrm_score") for name in VERSIONS},
        tuple(map(_ranking, rankings)),
        {
            name: check_text(value[name]["candidate"], param=f"{name}.candidate")
            for name in VERSIONS
            if "candidate" in value[name]
        },
    )


def _score(version: Any, param: str) -> float:
    return check_number(version.get("wqrm_score") if isinstance(version, dict) else None, param)


def _ranking(ranking: Any) -> dict[str, int]:
    """The rank of each version, 1 to 3. Raises InputError unless each rank is given once."""
    given = ranking if isinstance(ranking, dict) else {}
    ranks = {name: RANK_OF.get(str(given.get(name)), 0) for name in VERSIONS}
    if sorted(ranks.values()) != sorted(RANK_OF.values()):
        raise InputError(f"each version needs another one of {', '.join(RANK_OF)}.", param="annotations")
    return ranks


RANKS = "version n rank_1 rank_2 rank_3 mean_rank"
TABLES: Declared = {
    "ranks": ("Ranks that experts gave.", RANKS),
    "majority_ranks": ("Ranks by majority, for the triplets whose majority orders all three versions.", RANKS),
    "groups": ("The same by domain and model.", f"genre llm {RANKS}"),
    "printed": ("Figures that the paper prints, and what its file gives.", "figure printed ours within_interval"),
    "rescored": (
        "Scores of the same texts by others, beside the recorded ones: agreement with experts, less that of the "
        "recorded scores over the pairs that both decide, and rank correlation with them. The best edit is the one "
        "that the recorded scores put first of twenty, which favours these.",
        "scorer gap n agreement majorities majority more_than_recorded spearman",
    ),
    "by_gap": (
        "The same by gap, in quarters of the pairs by each scorer's own scale; as many of the experts, and of the "
        "majorities, prefer the higher score.",
        "scorer gap n agreement majorities majority",
    ),
}


def expert_tables(result: Json) -> Iterator[Table]:
    """Yield tables: the experts' agreement with the scores by the gap of the scores, the experts' ranks overall and by
    domain and model, and the paper's figures next to ours."""
    experts = ", ".join(f"{number} of {size}" for size, number in result["experts_of_a_triplet"].items())
    yield Table.of(
        f"Agreement of experts with the order of scores, by their gap: {result['rankings']:,} rankings of "
        f"{result['triplets']:,} triplets (triplets by number of experts: {experts}). Majorities over "
        f"{result['majority_triplets']:,} triplets; {result['undecided_pairs']:,} pairs without one are left out. 95% "
        "intervals by bootstrap over triplets.",
        _beside_majority(result),
        named("gap n agreement majorities majority"),
        result["command"],
    )
    scored = [scorer | row for scorer in result.get("rescored", ()) for row in _beside_majority(scorer)]
    rows = {
        "groups": [group | row for group in result["groups"] for row in group["ranks"]],
        "rescored": [row for row in scored if row["gap"] == "all"],
        "by_gap": [row for row in scored if row["gap"] != "all"],
    }
    yield from rows_tables({**result, **rows}, TABLES)


def _beside_majority(result: Json) -> list[dict[str, Any]]:
    """The agreement of individual experts by gap; each row is joined with the row of the majorities."""
    majority = {row["gap"]: {"majorities": row["n"], "majority": row["agreement"]} for row in result["majority"]}
    return [{**row, "majority": None, **majority.get(row["gap"], {})} for row in result["individual"]]
