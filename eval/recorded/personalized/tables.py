"""Results of ``pearl eval personalized`` and ``pearl eval agreement`` as tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eval.report.tables import NOTHING, Json, Table, shown


def personalized_tables(result: Json) -> Iterator[Table]:
    """All files, what they were right beside what needs no judge, and what is wrong with the data."""
    yield accuracy_table(result)
    yield certainty_table(result)
    yield verdicts_table(result)
    for found in result["files"]:
        if found["counted"]:
            yield baselines_table(result, found)
        if found["preflight"]:
            yield preflight_table(found)


def sweep_tables(result: Json) -> Iterator[Table]:
    """Tables of accuracy and coverage when the judge abstains below other thresholds."""
    for found in result["files"]:
        if found.get("sweep"):
            rows = tuple(
                (f"{row['threshold']:g}", _counts(row), shown(row["interval"], 3), f"{row['coverage']:.1%}")
                for row in found["sweep"]
            )
            columns = ("certainty at least", "right", "accuracy", "coverage")
            yield Table(f"{_name(found)}: abstaining below a threshold.", columns, rows)


def accuracy_table(result: Json) -> Table:
    high = f"certainty {result['threshold']:g} or more"
    rows = tuple(
        (
            _name(found),
            str(found["n"]),
            _counts({"correct": found["correct"], "total": found["counted"]}),
            *_accuracies(found, "accuracy", "high", "low"),
            shown(found["accuracies"]["invalid_dropped"]["interval"], 3),
        )
        for found in result["files"]
    )
    choices = result["choices"]
    caption = (
        f"Preset {result['preset']}: reading {choices['reading']}, without an answer {choices['unparsed']}. "
        "Wilson's 95% intervals."
    )
    columns = ("file", "records", "right", "accuracy", high, "the others", "with an answer only")
    return Table(caption, columns, rows, result["command"])


def _accuracies(found: Json, *names: str) -> Iterator[str]:
    intervals = found.get("intervals", {})
    for name in names:
        counts = f" {_counts(found[name])}" if name != "accuracy" else ""
        yield f"{shown(intervals.get(name), 3)}{counts}"


def _counts(part: Json) -> str:
    return f"{part['correct']:g}/{part['total']}"


def certainty_table(result: Json) -> Table:
    names = {"auroc": "AUROC", "brier": "Brier", "ece": "ECE", "aurc": "AURC", "certainty_correlation": "r"}
    rows = tuple(
        (
            _name(found),
            *(shown(found.get("intervals", {}).get(name), 3) for name in names),
            *(shown(_rate(found, name), 2) for name in ("first", "longer")),
        )
        for found in result["files"]
    )
    caption = "Whether certainty says what is right: 95% intervals by bootstrap over personas. Then the judge's habits."
    return Table(caption, ("file", *names.values(), "takes the first", "takes the longer"), rows)


def _rate(found: Json, name: str) -> Json | None:
    rate: Json | None = found["preferences"][name]["judge"] if "preferences" in found else None
    return rate


def verdicts_table(result: Json) -> Table:
    kinds = [kind for kind in result["files"][0]["verdicts"] if any(each["verdicts"][kind] for each in result["files"])]
    rows = tuple(
        (
            _name(found),
            *(str(found["verdicts"][kind]) for kind in kinds),
            str(found["without_certainty"]),
            str(found["reread"]["raw_replies"]),
            *(str(len(found["reread"][name])) for name in ("answer", "certainty", "acc")),
        )
        for found in result["files"]
    )
    columns = ("file", *kinds, "no certainty", "raw replies", "read otherwise", "certainty otherwise", "acc otherwise")
    return Table("What became of every record, and where our parser and the recorded fields differ.", columns, rows)


def baselines_table(result: Json, found: Json) -> Table:
    rows = tuple(
        (
            f"{row['name']}: {row['description']}",
            shown(row["interval"], 3),
            shown(row["difference"], 3, sign=True),
            f"{row['p_holm']:.3g}",
        )
        for row in found["baselines"]
    )
    caption = f"{_name(found)}: the judge, {_decimal(found['accuracy'])}, less what needs no judge."
    return Table(caption, ("answer", "accuracy", "the judge's less it", "p (McNemar, Holm)"), rows)


def _decimal(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def preflight_table(found: Json) -> Table:
    rows = tuple(
        (finding["check"], finding["level"], str(finding["count"]), finding["message"])
        for finding in found["preflight"]
    )
    return Table(f"{_name(found)}: what is wrong with the records.", ("check", "", "records", "finding"), rows)


def _name(found: Json) -> str:
    return Path(found["file"]).name
