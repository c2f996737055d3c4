"""Result files as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from eval.report.metric import Metric
from pearl.text.usable import counted

Json = Mapping[str, Any]  # of a result file
Cell: TypeAlias = str | Callable[[Json], str]  # a field of the row, or what is made of the row
Columns: TypeAlias = dict[str, Cell]  # by the title above them
NOTHING = "-"
DIGITS = {"kappa": 2, "randolph_kappa": 2, "cohen_kappa": 2, "pearson_r": 2, "rho": 2}  # of other figures 3
SIGNED = ("difference", "relative_change")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of cells as they are read."""

    caption: str
    columns: tuple[str, ...]  # the first names the row
    rows: tuple[tuple[str, ...], ...]
    command: str = ""  # makes the result again

    @classmethod
    def of(cls, caption: str, rows: Iterable[Json], columns: Columns, command: str = "") -> Table:
        """Make a table with a row for each of ``rows`` and a cell for each of ``columns``."""
        made = [partial(field, cell) if isinstance(cell, str) else cell for cell in columns.values()]
        return cls(caption, tuple(columns), tuple(tuple(cell(row) for cell in made) for row in rows), command)


def field(name: str, row: Json) -> str:
    """A field of a row: an interval, a number or a name; NOTHING where it is empty."""
    value = row[name]
    if isinstance(value, dict):
        return shown(value, DIGITS.get(name, 3), sign=name in SIGNED)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else value or NOTHING


def interval(name: str, digits: int = 3, *, sign: bool = False) -> Callable[[Json], str]:
    """The cell of an interval."""
    return lambda row: shown(row[name], digits, sign=sign)


def shown(interval: Json | None, digits: int, *, sign: bool = False) -> str:
    """``17.6 [15.9, 19.4]``"""
    if interval is None:
        return NOTHING
    form = f"{'+' if sign else ''}.{digits}f"
    return f"{interval['value']:{form}} [{interval['low']:{form}}, {interval['high']:{form}}]"


def kappa_cell(part: Json) -> str:
    """Randolph's kappa and its band, or why it is undefined."""
    undefined = part["undefined"].get("randolph_kappa")
    return f"{NOTHING} ({undefined})" if undefined else f"{shown(part['randolph_kappa'], 2)}, {part['band']}"


def counts_cell(counts: Mapping[str, int]) -> str:
    """``empty 3, no_verdict 1,024``"""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or NOTHING


def gap_cell(gap: Json | None, digits: int) -> str:
    """A difference and what it is from: ``+1.2 [0.3, 2.1] bm25``"""
    return NOTHING if gap is None else f"{shown(gap, digits, sign=True)} {gap['against']}"


def figures_table(result: Json, metrics: Iterable[Metric[Any]], part: Json | None = None) -> Table:
    """The metrics of every model and of the trivial baselines; of ``part`` of the result, its near-duplicates or one
    of its slices."""
    of = part or result
    columns: Columns = {"model": "model", **{metric.title: interval(metric.name, metric.digits) for metric in metrics}}
    return Table.of(caption_of(result, part), (*of["models"], *of.get("baselines", ())), columns, result["command"])


def differences_table(result: Json, metrics: Iterable[Metric[Any]], part: Json | None = None) -> Table:
    """Each model less the baseline that is best in the metric, on the same requests."""

    def gap(name: str, digits: int) -> Cell:
        return lambda row: gap_cell(row.get(name), digits)

    columns: Columns = {"model": "model", **{metric.title: gap(metric.name, metric.digits) for metric in metrics}}
    caption = f"Paired differences from the best baseline, which is named. {caption_of(result, part)}"
    return Table.of(caption, (part or result)["differences"], columns, result["command"])


def pairs_tables(result: Json) -> Iterator[Table]:
    """Tables of how often the row's model gains more than the column's, and by how much."""
    pairs = {(row["model"], row["against"]): row for row in result["pairs"]}
    names = [row["model"] for row in result["models"]]
    if len(names) < 2:
        return
    for figure, digits, sentence in (
        ("win_rate", 2, "Share of requests on which the row gains more than the column, equal gains counting a half."),
        ("top1_gain", 1, "Paired difference of the top-1 gains, the row's less the column's."),
    ):
        rows = [
            (row, *(shown(pairs[row, column][figure], digits) if row != column else "" for column in names))
            for row in names
        ]
        yield Table(f"{sentence} {caption_of(result)}", ("model", *names), tuple(rows), result["command"])


def checks_table(findings: Sequence[Json], of: str = "the items") -> Iterator[Table]:
    """A table of what is wrong with the items; none where nothing is."""
    if findings:
        columns: Columns = {"check": "check", "level": "level", "items": "count", "what": "message"}
        yield Table.of(f"Checks of {of}.", findings, columns)


def metrics_table(metrics: Sequence[Metric[Any]]) -> Table:
    """A table that says what each figure means and how it is computed."""
    rows = tuple((metric.title, metric.description, metric.how, metric.citation) for metric in metrics)
    return Table("", ("figure", "what it says", "how it is computed", "source"), rows)


def file_names(paths: Sequence[Path]) -> list[str]:
    """The names of files; whole paths where two have the same name."""
    names = Counter(path.name for path in paths)
    return [path.name if names[path.name] == 1 else str(path) for path in paths]


def caption_of(result: Json, part: Json | None = None) -> str:
    """The number of requests and users of a result, or of a part of it, and what the part is."""
    of = part or result
    counts = counted(of["n"], "request") + (f" of {counted(of['users'], 'user')}" if of["users"] else "")
    sentences = [f"{counts}; 95% intervals by bootstrap over {of['resampled']}."]
    if part is not None and "threshold" in part:
        sentences.append(
            f"Near-duplicates set aside ({part['documents_set_aside']:,}): documents that contain at least "
            f"{part['threshold']:.0%} of the target's word trigrams; requests without any other document are left out "
            f"({part['records_left_without_documents']:,})."
        )
    if part is not None and "by" in part:
        sentences.append(f"{part['by'].replace('_', ' ').capitalize()} from {part['low']} to {part['high']}.")
    return " ".join(sentences)


def missing_words(count: int) -> str:
    """The part of a caption on ratings that are missing; empty where none is."""
    return f", {count:,} missing" if count else ""
