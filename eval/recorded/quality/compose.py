"""Making a set of the WQ benchmark from ranked responses (papers/writing-quality-rewards.txt, section 4 and E.1).

A line of the file is a response to an instruction, with a rank by each rater. All pairs of responses to an instruction
are taken, and the majority of raters decides which is better. A preference for an origin, such as authors over models,
is written as one rank.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, combinations
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import Any

from eval.asking.choices import PaperChoice, Preset, Presets
from eval.asking.json_lines import at_least_one, check_fields
from eval.recorded.quality.experts import VERSIONS, parse_triplet
from eval.report.tables import Json, Table
from pearl.errors import InputError
from pearl.text.usable import check_id, check_text, json_type
from pearl.text.words import count_words
from retriever.reward.record_files import parse_objects

BOTH, ONE = "both", "one"
ORDERS = PaperChoice(
    "orders",
    {
        BOTH: "each pair stands there twice, once in each order",
        ONE: "each pair stands there once, and each place is preferred half of the times",
    },
    "Four of the paper's sets hold both orders, which makes them look twice as large; LM Arena holds one.",
)
PRESETS = Presets(
    (ORDERS,),
    (
        Preset("corrected", "A pair counts once.", {"orders": ONE}),
        Preset("as_published", "Both orders; choose orders=one for LM Arena.", {"orders": BOTH}),
    ),
)


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """The number of pairs in a set, and their origins, as printed in table 1 and appendix E.1."""

    pairs: int
    origins: Mapping[str, int]  # percent of the pairs
    about: str = ""


PUBLISHED: Mapping[str, PublishedSet] = {
    "art-or-artifice": PublishedSet(
        144,
        {"human-AI": 25, "AI-AI": 75},
        "Four stories a prompt, one of them human, make six pairs with three that are human-AI: 50%, not 25%.",
    ),
    "lamp-test": PublishedSet(1206, {"edited-AI": 33, "AI-AI": 66}, "Three responses make two pairs with the edited."),
    "style-mimic": PublishedSet(300, {"human-human": 100}),
    "synthetic-mirror": PublishedSet(1120, {"human-AI": 100}),
    "lm-arena": PublishedSet(1959, {"AI-AI": 100}),
}


@dataclass(frozen=True, slots=True)
class RankedResponse:
    """A response to an instruction, with the raters' ranks."""

    instruction: str
    text: str
    origin: str
    ranks: tuple[float, ...]  # one a rater, 1 the best; the same order of raters in all responses to an instruction


def read_responses(path: Path) -> tuple[RankedResponse, ...]:
    """Read ranked responses; a published triplet is read as three of them. Raises InputError that names file, line and
    field, and if responses to one instruction have different numbers of ranks."""
    raters: dict[str, tuple[int, int]] = {}

    def parse(value: dict[str, Any], number: int) -> tuple[RankedResponse, ...]:
        responses = _of_triplet(value) if "annotations" in value else (_response(value),)
        for response in responses:
            first, count = raters.setdefault(response.instruction, (number, len(response.ranks)))
            if count != len(response.ranks):
                raise InputError(f"has {len(response.ranks)} raters, and line {first} has {count}.", param="ranks")
        return responses

    return at_least_one(path, chain.from_iterable(parse_objects(path, parse)), "response")


def _response(value: dict[str, Any]) -> RankedResponse:
    check_fields(value, "instruction", "text", "origin", "ranks")
    return RankedResponse(
        check_id(value["instruction"], param="instruction"),
        check_text(value["text"]),
        check_id(value["origin"], param="origin"),
        _ranks(value["ranks"]),
    )


def _of_triplet(value: dict[str, Any]) -> tuple[RankedResponse, ...]:
    """The three responses of a triplet, with the experts' ranks: a model's draft and two edits by a model."""
    triplet = parse_triplet(value)
    for version in VERSIONS:
        if version not in triplet.texts:
            raise InputError("is missing; a pair needs the text.", param=f"{version}.candidate")
    return tuple(
        RankedResponse(triplet.id, triplet.texts[version], "AI", tuple(ranks[version] for ranks in triplet.rankings))
        for version in VERSIONS
    )


def _ranks(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise InputError(f"must be a list with a rank of each rater, not {json_type(value)}.", param="ranks")
    for rank in value:
        if isinstance(rank, bool) or not isinstance(rank, (int, float)) or not math.isfinite(rank):
            raise InputError("must hold numbers, 1 for the best.", param="ranks")
    return tuple(map(float, value))


def compose(
    responses: Sequence[RankedResponse], orders: str, seed: int, published: str | None
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Make pairs in the benchmark's form, and figures of the set. ``orders``: both or one order of each pair;
    ``published``: the name of a published set to compare with. Raises InputError if no pair is left."""
    by_instruction: dict[str, list[RankedResponse]] = defaultdict(list)
    for response in responses:
        by_instruction[response.instruction].append(response)
    dropped: Counter[str] = Counter()
    decided = []
    for of_one in by_instruction.values():
        for one, other in combinations(of_one, 2):
            lead = sum((a < b) - (a > b) for a, b in zip(one.ranks, other.ranks, strict=True))
            if one.text.strip() == other.text.strip():
                dropped["the same text twice"] += 1
            elif not lead:
                dropped["no majority"] += 1
            else:
                decided.append((one, other) if lead > 0 else (other, one))
    if not decided:
        raise InputError("no pair is left: each instruction needs two responses with different ranks.")
    Random(seed).shuffle(decided)
    pairs = [
        _pair(better, worse, swapped)
        for index, (better, worse) in enumerate(decided)
        for swapped in ((False, True) if orders == BOTH else (index % 2 == 1,))
    ]
    lengths = [count_words(pair[name]) for pair in pairs for name in ("paragraph1", "paragraph2")]
    origins = Counter(pair["origin"] for pair in pairs)
    return pairs, {
        "responses": len(responses),
        "instructions": len(by_instruction),
        "pairs": len(pairs),
        "orders": orders,
        "origins": [
            {"origin": origin, "pairs": count, "share": round(count / len(pairs), 9)}
            for origin, count in origins.most_common()
        ],
        "words": {name: round(value) for name, value in zip(("p25", "p50", "p75"), quantiles(lengths), strict=True)},
        "dropped": dict(dropped),
        "published": None if published is None else {"set": published, **asdict(PUBLISHED[published])},
    }


def _pair(better: RankedResponse, worse: RankedResponse, swapped: bool) -> dict[str, Any]:
    first, second = (worse, better) if swapped else (better, worse)
    return {
        "paragraph1": first.text,
        "paragraph2": second.text,
        "reference_preference": "2" if swapped else "1",
        "origin": "-".join(sorted((first.origin, second.origin), key=lambda origin: (origin == "AI", origin))),
        "original_id": better.instruction,
    }


def compose_tables(result: Json) -> Iterator[Table]:
    """A table of the pairs' origins, compared with the paper's figures for the set."""
    known = result["published"] or {"origins": {}, "pairs": None, "about": ""}
    rows = [
        {**row, "printed (%)": known["origins"].get(row["origin"])}
        for row in ({"origin": "all", "pairs": result["pairs"], "share": 1.0}, *result["origins"])
    ]
    dropped = ", ".join(f"{reason} {count:,}" for reason, count in result["dropped"].items()) or "none"
    caption = (
        f"Pairs of {result['responses']:,} responses to {result['instructions']:,} instructions; half of the texts "
        f"have {result['words']['p25']:,} to {result['words']['p75']:,} words. Left out: {dropped}."
        + (f" The paper prints {known['pairs']:,} pairs. {known['about']}" if known["pairs"] else "")
    )
    yield Table.plain(caption, rows, result["command"])
