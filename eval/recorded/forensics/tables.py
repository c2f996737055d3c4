"""Tables of feedback forensics, made from result files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from eval.report.tables import NOTHING, Json, Table, shown

DIGITS = 2
TEXTS = ("a", "b", "chosen", "rejected")
SIGNIFICANT, NOT_SIGNIFICANT = "*", ""


def metrics_tables(result: Json) -> Iterator[Table]:
    """The annotators by strength, then people, then trait against trait, where they are in the result."""
    rows = sorted(result["annotators"], key=lambda row: -strength_of(row))
    names = titles(rows)
    cells = tuple(
        (
            names[row["id"]],
            shown(row["strength"], DIGITS, sign=True) + star(row),
            shown(row["relevance"], DIGITS),
            shown(row["agreement"], DIGITS),
            shown(row["kappa"], DIGITS, sign=True),
            shown(row["kappa_randomized"], DIGITS, sign=True),
            p_cell(row["p_corrected"]),
        )
        for row in rows
    )
    columns = ("annotator", "strength", "relevance", "agreement", "kappa", "kappa, random order", "p, Bonferroni")
    yield Table(caption(result), columns, cells, result["command"])
    overall = result["overall"]
    yield Table(
        "How the reference chooses; lengths in characters.",
        ("figure", "value"),
        (
            ("chooses text a", shown(overall["text_a_chosen"], DIGITS)),
            ("chooses the longer text", shown(overall["longer_chosen"], DIGITS)),
            *((f"mean length, {name}", shown(overall[f"length_{name}"], 1)) for name in TEXTS),
        ),
    )
    yield from _people_tables(result)
    yield from _trait_pair_tables(result)


def caption(result: Json) -> str:
    """The pairs behind the figures, and what the intervals and stars mean."""
    left_out = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in result["left_out"].items())
    return (
        f"Agreement with {result['reference']['name']} over the {result['n']:,} of {result['pairs']:,} pairs on which "
        "it chooses a response; 95% intervals by bootstrap over pairs; * at p < .05, one-tailed binomial, Bonferroni "
        f"over all rows.{f' Left out: {left_out}.' if left_out else ''}"
    )


def titles(rows: Sequence[Json]) -> dict[str, str]:
    """The names of annotators by id, in short, and with the id where two have the same."""
    times = Counter(row["name"] for row in rows)
    return {
        row["id"]: short_name(row["name"]) if times[row["name"]] == 1 else f"{short_name(row['name'])} ({row['id']})"
        for row in rows
    }


def short_name(name: str) -> str:
    """The name without the words that all traits begin with."""
    return name.removeprefix("Select the response that ").strip()


def strength_of(row: Json) -> float:
    return float(row["strength"]["value"])


def star(row: Json) -> str:
    return SIGNIFICANT if row["significant"] else NOT_SIGNIFICANT


def p_cell(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}"


def _people_tables(result: Json) -> Iterator[Table]:
    people = result.get("people")
    if not people:
        return
    rows = tuple(
        (
            short_name(row["name"]),
            str(row["people"]),
            str(row["judged"]),
            shown(row["relevance_agreement"], DIGITS),
            str(row["both_relevant"]),
            shown(row["choice_agreement"], DIGITS),
        )
        for row in people
    )
    yield Table(
        "Judges of traits against the common opinion of people (soft-unanimous); Wilson intervals.",
        ("trait", "people", "pairs", "agree on relevance", "both relevant", "agree on the side"),
        rows,
    )


def _trait_pair_tables(result: Json) -> Iterator[Table]:
    pairs = result.get("trait_pairs")
    if not pairs:
        return
    rows = tuple(
        (
            f"{short_name(row['trait'])}, {short_name(row['against'])}",
            shown(row["kappa"], DIGITS, sign=True),
            shown(row["overlap"], DIGITS),
            f"{row['both']:,}",
        )
        for row in sorted(pairs, key=lambda row: -abs(row["kappa"]["value"]) if row["kappa"] else 0.0)[:20]
    )
    caption = "Trait against trait, the 20 strongest: kappa where both choose; overlap, those as a share of either."
    yield Table(caption, ("traits", "kappa", "overlap", "pairs"), rows or ((NOTHING,) * 4,))
