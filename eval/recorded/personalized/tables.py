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
    for found in result["files"]:
        if found["counted"]:
            yield baselines_table(found)
        if found["preflight"]:
            yield preflight_table(found)


def sweep_tables(result: Json) -> Iterator[Table]:
    """Tables of accuracy and coverage when the judge abstains below other thresholds."""
    columns: Columns = {
        "certainty at least": lambda row: f"{row['threshold']:g}",
        "right": _counts,
        "accuracy": lambda row: shown(row["interval"], 3),
        "coverage": lambda row: f"{row['coverage']:.1%}",
    }
    for found in result["files"]:
        if found.get("sweep"):
            yield Table.of(f"{_name(found)}: abstaining below a threshold.", found["sweep"], columns)


def accuracy_table(result: Json) -> Table:
    columns: Columns = {
        "file": _name,
        "records": lambda found: str(found["n"]),
        "right": lambda found: _counts({"correct": found["correct"], "total": found["counted"]}),
        "accuracy": partial(_interval, "accuracy"),
        f"certainty {result['threshold']:g} or more": lambda found: (
            f"{_interval('high', found)} {_counts(found['high'])}"
        ),
        "the others": lambda found: f"{_interval('low', found)} {_counts(found['low'])}",
        "with an answer only": lambda found: shown(found["accuracies"]["invalid_dropped"]["interval"], 3),
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
    kinds = [kind for kind in result["files"][0]["verdicts"] if any(each["verdicts"][kind] for each in result["files"])]
    columns: Columns = {
        "file": _name,
        **{kind: partial(_number, "verdicts", kind) for kind in kinds},
        "no certainty": lambda found: str(found["without_certainty"]),
        "raw replies": partial(_number, "reread", "raw_replies"),
        "read otherwise": lambda found: str(len(found["reread"]["answer"])),
        "certainty otherwise": lambda found: str(len(found["reread"]["certainty"])),
        "acc otherwise": lambda found: str(len(found["reread"]["acc"])),
    }
    caption = "What became of every record, and where our parser and the recorded fields differ."
    return Table.of(caption, result["files"], columns)


def baselines_table(found: Json) -> Table:
    columns: Columns = {
        "answer": lambda row: f"{row['name']}: {row['description']}",
        "accuracy": lambda row: shown(row["interval"], 3),
        "the judge's less it": lambda row: shown(row["difference"], 3, sign=True),
        "p (McNemar, Holm)": lambda row: f"{row['p_holm']:.3g}",
    }
    accuracy = NOTHING if found["accuracy"] is None else f"{found['accuracy']:.3f}"
    return Table.of(f"{_name(found)}: the judge, {accuracy}, less what needs no judge.", found["baselines"], columns)


def preflight_table(found: Json) -> Table:
    columns: Columns = {
        "check": lambda finding: finding["check"],
        "": lambda finding: finding["level"],
        "records": lambda finding: str(finding["count"]),
        "finding": lambda finding: finding["message"],
    }
    return Table.of(f"{_name(found)}: what is wrong with the records.", found["preflight"], columns)


def _name(found: Json) -> str:
    return Path(found["file"]).name


def _interval(name: str, found: Json) -> str:
    return shown(found.get("intervals", {}).get(name), 3)


def _counts(part: Json) -> str:
    return f"{part['correct']:g}/{part['total']}"


def _rate(name: str, found: Json) -> str:
    return shown(found["preferences"][name]["judge"] if "preferences" in found else None, 2)


def _number(part: str, name: str, found: Json) -> str:
    return str(found[part][name])
