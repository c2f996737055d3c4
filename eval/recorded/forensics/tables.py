"""Tables of feedback forensics, made from result files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from eval.report.tables import Columns, Json, Table, figure, shown

DIGITS = 2
TEXTS = ("a", "b", "chosen", "rejected")


def metrics_tables(result: Json) -> Iterator[Table]:
    """The annotators by strength, then people, then trait against trait, where they are in the result."""
    rows = sorted(result["annotators"], key=lambda row: -row["strength"]["value"])
    names = titles(rows)
    columns: Columns = {
        "annotator": lambda row: names[row["id"]],
        "strength": lambda row: shown(row["strength"], DIGITS, sign=True) + star(row),
        "relevance": figure("relevance", DIGITS),
        "agreement": figure("agreement", DIGITS),
        "kappa": figure("kappa", DIGITS, sign=True),
        "kappa, random order": figure("kappa_randomized", DIGITS, sign=True),
        "p, Bonferroni": lambda row: p_cell(row["p_corrected"]),
    }
    yield Table.of(caption(result), rows, columns, result["command"])
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
    if "people" in result:
        columns = {
            "trait": lambda row: short_name(row["name"]),
            "people": lambda row: str(row["people"]),
            "pairs": lambda row: str(row["judged"]),
            "agree on relevance": figure("relevance_agreement", DIGITS),
            "both relevant": lambda row: str(row["both_relevant"]),
            "agree on the side": figure("choice_agreement", DIGITS),
        }
        people = "Judges of traits against the common opinion of people (soft-unanimous); Wilson intervals."
        yield Table.of(people, result["people"], columns)
    if result.get("trait_pairs"):
        columns = {
            "traits": lambda row: f"{short_name(row['trait'])}, {short_name(row['against'])}",
            "kappa": figure("kappa", DIGITS, sign=True),
            "overlap": figure("overlap", DIGITS),
            "pairs": "both",
        }
        traits = "Trait against trait, the 20 strongest: kappa where both choose; overlap, those as a share of either."
        pairs = sorted(result["trait_pairs"], key=lambda row: -abs(row["kappa"]["value"]) if row["kappa"] else 0.0)
        yield Table.of(traits, pairs[:20], columns)


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


def star(row: Json) -> str:
    return "*" if row["significant"] else ""


def p_cell(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}"
