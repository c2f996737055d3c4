"""The builders by the name of what they build from, and the table of what a build took and dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eval.benchmarks.empathic import empathic_pairs
from eval.benchmarks.opinionqa import opinionqa_pairs
from eval.benchmarks.pairs import BuildOptions, Ledger, PersonaPair, built
from eval.benchmarks.prism import prism_pairs
from eval.benchmarks.reddit import Encode, reddit_pairs
from eval.report.tables import Json, Table, checks_table
from pearl.errors import InputError

Build = Callable[[Path, BuildOptions, Ledger, Encode], list[PersonaPair]]
SOURCES: dict[str, Build] = {
    "prism": lambda folder, options, ledger, encode: prism_pairs(folder, options, ledger),
    "opinionqa": lambda folder, options, ledger, encode: opinionqa_pairs(folder, options, ledger),
    "empathic": lambda folder, options, ledger, encode: empathic_pairs(folder, options, ledger),
    "reddit": reddit_pairs,
}


def build_items(
    source: str, folder: Path, options: BuildOptions, encode: Encode
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The items and the figures of the build. Raises InputError for files that are not as published, and where no item
    is left."""
    if options.own_family and source != "prism":
        raise InputError(f"--own-family: the texts of {source} are people's own; leave it out.", param="own_family")
    if options.ties and source not in ("prism", "empathic"):
        raise InputError(f"--ties: in {source} nobody says that two texts are a tie; leave it out.", param="ties")
    ledger = Ledger()
    pairs = SOURCES[source](folder, options, ledger, encode)
    ledger.check_left(f"--data {folder}", pairs)
    items, figures = built(pairs, ledger, options.seed)
    return items, {"source": source, "choices": dict(options.choices), **figures}


def build_tables(result: Json) -> Iterator[Table]:
    """Tables of the counts of a build and of the faults of its items."""
    rows = [("read", what, f"{count:,}", "") for what, count in result["read"].items()]
    rows += [("dropped", row["reason"], f"{row['count']:,}", ", ".join(row["first"][:2])) for row in result["dropped"]]
    rows.append(("taken", f"items of {result['personas']:,} personas", f"{result['items']:,}", ""))
    rows += [
        ("taken", f"of them preferred {letter}", f"{count:,}", "") for letter, count in result["preferred"].items()
    ]
    yield Table(f"Built from {result['source']}.", ("", "what", "number", "such as"), tuple(rows), result["command"])
    yield from checks_table(result["preflight"])
