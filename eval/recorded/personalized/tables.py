"""Results of ``pearl eval personalized`` as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from eval.report.tables import NOTHING, Json, Table, shown

Columns = Mapping[str, Callable[[Json], str]]


def personalized_tables(result: Json) -> Iterator[Table]:
    """All files, what they were right beside what needs no judge, and what is wrong with the data."""
    yield accuracy_table(result)
    yield certainty_table(result)
    yield verdicts_table(result)
    for file in result["files"]:
        if file["counted"]:
            yield baselines_table(file)
        if file["preflight"]:
            yield preflight_table(file)


def sweep_tables(result: Json) -> Iterator[Table]:
    """Tables of accuracy and coverage when the judge abstains below other thresholds."""
    columns: Columns = {
        "certainty at least": lambda row: f"{row['threshold']:g}",
        "right": _counts,
        "accuracy": lambda row: shown(row["interval"], 3),
        "coverage": lambda row: f"{row['coverage']:.1%}",
    }
    for file in result["files"]:
        if file.get("sweep"):
            yield Table.of(f"{_name(file)}: abstaining below a threshold.", file["sweep"], columns)


def accuracy_table(result: Json) -> Table:
    columns: Columns = {
        "file": _name,
        "records": lambda file: str(file["n"]),
        "right": lambda file: _counts({"correct": file["correct"], "total": file["counted"]}),
        "accuracy": partial(_interval, "accuracy"),
        f"certainty {result['threshold']:g} or more": lambda file: f"{_interval('high', file)} {_counts(file['high'])}",
        "the others": lambda file: f"{_interval('low', file)} {_counts(file['low'])}",
        "with an answer only": lambda file: shown(file["accuracies"]["invalid_dropped"]["interval"], 3),
    }
    choices = result["choices"]
    caption = (
        f"Preset {result['preset']}: reading {choices['reading']}, without an answer {choices['unparsed']}. "
        "Wilson's 95% intervals."
    )
    return Table.of(caption, result["files"], columns, result["command"])


def certainty_table(result: Json) -> Table:
    figures = {"AUROC": "auroc", "Brier": "brier", "ECE": "ece", "AURC": "aurc", "r": "certainty_correlation"}
    columns: Columns = {
        "file": _name,
        **{title: partial(_interval, name) for title, name in figures.items()},
        "takes the first": partial(_rate, "first"),
        "takes the longer": partial(_rate, "longer"),
    }
    caption = "Whether certainty says what is right: 95% intervals by bootstrap over personas. Then the judge's habits."
    return Table.of(caption, result["files"], columns)


def verdicts_table(result: Json) -> Table:
    kinds = [kind for kind in result["files"][0]["verdicts"] if any(file["verdicts"][kind] for file in result["files"])]

    def number(kind: str) -> Callable[[Json], str]:
        return lambda file: str(file["verdicts"][kind])

    columns: Columns = {
        "file": _name,
        **{kind: number(kind) for kind in kinds},
        "no certainty": lambda file: str(file["without_certainty"]),
        "raw replies": lambda file: str(file["reread"]["raw_replies"]),
        "read otherwise": lambda file: str(len(file["reread"]["answer"])),
        "certainty otherwise": lambda file: str(len(file["reread"]["certainty"])),
        "acc otherwise": lambda file: str(len(file["reread"]["acc"])),
    }
    caption = "What became of every record, and where our parser and the recorded fields differ."
    return Table.of(caption, result["files"], columns)


def baselines_table(file: Json) -> Table:
    columns: Columns = {
        "answer": lambda row: f"{row['name']}: {row['description']}",
        "accuracy": lambda row: shown(row["interval"], 3),
        "the judge's less it": lambda row: shown(row["difference"], 3, sign=True),
        "p (McNemar, Holm)": lambda row: f"{row['p_holm']:.3g}",
    }
    accuracy = NOTHING if file["accuracy"] is None else f"{file['accuracy']:.3f}"
    return Table.of(f"{_name(file)}: the judge, {accuracy}, less what needs no judge.", file["baselines"], columns)


def preflight_table(file: Json) -> Table:
    columns: Columns = {
        "check": lambda finding: finding["check"],
        "": lambda finding: finding["level"],
        "records": lambda finding: str(finding["count"]),
        "finding": lambda finding: finding["message"],
    }
    return Table.of(f"{_name(file)}: what is wrong with the records.", file["preflight"], columns)


def _name(file: Json) -> str:
    return Path(file["file"]).name


def _interval(name: str, file: Json) -> str:
    return shown(file.get("intervals", {}).get(name), 3)


def _counts(part: Json) -> str:
    return f"{part['correct']:g}/{part['total']}"


def _rate(name: str, file: Json) -> str:
    return shown(file["preferences"][name]["judge"] if "preferences" in file else None, 2)
