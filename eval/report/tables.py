"""Tables made from a result's JSON, and the formatting of their cells."""

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
Declared: TypeAlias = Mapping[str, tuple[str, str]]  # by the name of a result's rows: a caption, the fields shown
# of other figures 3
DIGITS = {"kappa": 2, "randolph_kappa": 2, "cohen_kappa": 2, "pearson_r": 2, "rho": 2, "win_rate": 2}
SIGNED = ("difference", "relative_change", "gain")


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose cells are formatted text."""

    caption: str
    columns: tuple[str, ...]  # the first names the row
    rows: tuple[tuple[str, ...], ...]
    command: str = ""  # makes the result again

    @classmethod
    def of(cls, caption: str, rows: Iterable[Json], columns: Columns, command: str = "") -> Table:
        """Make a table with a row for each of ``rows`` and a column for each of ``columns``."""
        made = [partial(field, cell) if isinstance(cell, str) else cell for cell in columns.values()]
        return cls(caption, tuple(columns), tuple(tuple(cell(row) for cell in made) for row in rows), command)

    @classmethod
    def plain(cls, caption: str, rows: Sequence[Json], command: str = "") -> Table:
        """Make a table of rows whose keys are the columns' titles."""
        cells = (tuple(value_cell(value, title) for title, value in row.items()) for row in rows)
        return cls(caption, tuple(rows[0]) if rows else (), tuple(cells), command)

    @classmethod
    def facts(cls, caption: str, facts: Json, command: str = "") -> Table:
        """Make a table with two columns, the name and the value of each fact."""
        return cls.plain(caption, [{"figure": name, "value": value} for name, value in facts.items()], command)


def rows_tables(result: Json, declared: Declared) -> Iterator[Table]:
    """Yield a table for each declared list of rows that the result has; empty lists are skipped."""
    for name, (caption, fields) in declared.items():
        if rows := result.get(name):
            yield Table.of(caption, rows, named(fields))


def named(fields: str) -> Columns:
    """Columns for field names separated by spaces, which are also the titles. ``a.b`` is the field b of the field a."""
    return {name.replace("_", " ").replace(".", " "): name for name in fields.split()}


def value_of(name: str, row: Json) -> Any:
    """The value of a row's field, whose name may be ``a.b``; None if the row does not have it."""
    value: Any = row
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def field(name: str, row: Json) -> str:
    """The value of a row's field, whose name may be ``a.b``, formatted for a table."""
    return value_cell(value_of(name, row), name.rpartition(".")[2])


def value_cell(value: Any, name: str = "") -> str:
    """Format a value for a table: an interval, a number, a name, or several of these. NOTHING if it is empty."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        if "low" in value:
            return _with_baseline(value, DIGITS.get(name, 3), sign=name in SIGNED)
        parts = ((key, value_cell(of, key), isinstance(of, Mapping) and "low" not in of) for key, of in value.items())
        return "; ".join(f"{key} ({said})" if several else f"{key} {said}" for key, said, several in parts) or NOTHING
    if isinstance(value, list | tuple):
        return ", ".join(map(value_cell, value)) or NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else value or NOTHING


def interval(name: str, digits: int = 3, *, sign: bool = False) -> Callable[[Json], str]:
    """Make a function that formats the interval in a row's field ``name``."""
    return lambda row: shown(value_of(name, row), digits, sign=sign)


def shown(interval: Json | None, digits: int, *, sign: bool = False) -> str:
    """Format an interval as ``17.6 [15.9, 19.4]``; NOTHING for None."""
    if interval is None:
        return NOTHING
    form = f"{'+' if sign else ''}.{digits}f"
    return f"{interval['value']:{form}} [{interval['low']:{form}}, {interval['high']:{form}}]"


def _with_baseline(interval: Json | None, digits: int, *, sign: bool = False) -> str:
    """Format an interval and, if it is a difference, its baseline: ``+1.2 [+0.3, +2.1] bm25``."""
    against = (interval or {}).get("against", "")
    return f"{shown(interval, digits, sign=sign or bool(against))} {against}".rstrip()


def kappa_cell(part: Json) -> str:
    """Randolph's kappa and its verbal band, or the reason why it is undefined."""
    undefined = part["undefined"].get("randolph_kappa")
    return f"{NOTHING} ({undefined})" if undefined else f"{shown(part['randolph_kappa'], 2)}, {part['band']}"


def counts_cell(counts: Mapping[str, int]) -> str:
    """Format counts as ``empty 3, no_verdict 1,024``; NOTHING if there are none."""
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or NOTHING


def metric_columns(metrics: Iterable[Metric[Any]], less: str = "") -> Columns:
    """A column for each metric and, if ``less`` names a baseline, a column for the difference from it."""

    def cell(metric: Metric[Any], of: str = "") -> Cell:
        return lambda row: _with_baseline(value_of(of + metric.name, row), metric.digits, sign=bool(of))

    columns: Columns = {}
    for metric in metrics:
        columns[metric.title] = cell(metric)
        if less:
            columns[f"{metric.title}, less {less}"] = cell(metric, "less.")
    return columns


def figures_table(result: Json, metrics: Iterable[Metric[Any]], part: Json | None = None) -> Table:
    """A table of the metrics of all models and trivial baselines. ``part``: a part of the result, such as a slice."""
    of = part or result
    columns: Columns = {"model": "model", **metric_columns(metrics)}
    return Table.of(caption_of(result, part), (*of["models"], *of.get("baselines", ())), columns, result["command"])


def differences_table(result: Json, metrics: Iterable[Metric[Any]], part: Json | None = None) -> Table:
    """A table of each model's differences from the best baseline of each metric, on the same requests."""
    caption = f"Paired differences from the best baseline, which is named. {caption_of(result, part)}"
    columns: Columns = {"model": "model", **metric_columns(metrics)}
    return Table.of(caption, (part or result)["differences"], columns, result["command"])


def checks_table(findings: Sequence[Json], of: str = "the items") -> Iterator[Table]:
    """Yield a table of the faults that checks found; nothing if there are no faults."""
    if findings:
        columns: Columns = {"check": "check", "level": "level", "items": "count", "what": "message"}
        yield Table.of(f"Checks of {of}.", findings, columns)


def metrics_table(metrics: Sequence[Metric[Any]]) -> Table:
    """A table that says what each figure means and how it is computed."""
    rows = tuple((metric.title, metric.description, metric.how, metric.citation) for metric in metrics)
    return Table("", ("figure", "what it says", "how it is computed", "source"), rows)


def file_names(paths: Sequence[Path]) -> list[str]:
    """The files' names without folders; whole paths if two files have the same name."""
    names = Counter(path.name for path in paths)
    return [path.name if names[path.name] == 1 else str(path) for path in paths]


def caption_of(result: Json, part: Json | None = None) -> str:
    """A caption with the numbers of requests and users of a result, or of its ``part``, which it also describes."""
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
    """The words of a caption that say how many ratings are missing; empty if none is missing."""
    return f", {count:,} missing" if count else ""
