"""Keep of a command's JSON what the pages show, and write it to docs/results.

    pearl forensics compare --pairs commits.json --pairs mails.json --reference person --by user --json compared.json
    python docs/experiments/kept.py manner compared.json
    pearl eval personalized --records ... --json judged.json
    python docs/experiments/kept.py personalized judged.json

    pearl eval experts --annotations WQRM_annotations.json.gz --model embedded --json experts.json
    python docs/experiments/kept.py experts experts.json

A comparison of 38 traits in six columns holds every figure of every cell and every difference; the page shows strength,
relevance and the largest difference of a row. A check lists every record that it is about; the pages show how many.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pearl.cli.options import write_json

RESULTS = Path(__file__).parents[1] / "results"
OF_A_CELL = ("strength", "relevance", "significant")
DIGITS = 4
FINE = 5  # for figures shown with three digits


def manner(compared: dict[str, Any]) -> dict[str, Any]:
    annotators = [
        {
            **{name: row[name] for name in ("name", "id")},
            "columns": [cell and {name: cell[name] for name in OF_A_CELL} for cell in row["columns"]],
            "max_difference": row["max_difference"]
            and {name: row["max_difference"][name] for name in ("strength", "significant")},
        }
        for row in compared["annotators"]
    ]
    columns = [{name: column[name] for name in ("name", "pairs", "n")} for column in compared["columns"]]
    head = {name: compared[name] for name in ("command", "version")}
    cells: dict[str, Any] = rounded({"columns": columns, "annotators": annotators})
    return head | cells


def rounded(value: Any, digits: int = DIGITS) -> Any:
    if isinstance(value, float):
        return round(value, digits)
    if isinstance(value, dict):
        return {name: rounded(part, digits) for name, part in value.items()}
    return [rounded(part, digits) for part in value] if isinstance(value, list) else value


def with_ranges(checked: dict[str, Any], parts: str, findings: str) -> dict[str, Any]:
    """The records of each finding as ranges: ["1-524", "526"]."""
    for part in checked[parts]:
        for finding in part[findings]:
            finding["records"] = ranges(finding["records"])
    return checked


def ranges(numbers: Sequence[int]) -> list[str]:
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1] = [found[-1][0], number]
        else:
            found.append([number])
    return ["-".join(map(str, ends)) for ends in found]


def experts(ranked: dict[str, Any]) -> dict[str, Any]:
    """Agreement by gap for the recorded scores and for the model, of trivial scorers the agreement alone."""
    for row in ranked["rescored"][2:]:
        for kind in ("individual", "majority"):
            row[kind] = [part for part in row[kind] if part["gap"] == "all"]
    return ranked


KEPT: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "manner": manner,
    "personalized": partial(with_ranges, parts="files", findings="preflight"),
    "experts": experts,
    # all of it
    **dict.fromkeys(("best-of", "content", "content-prompts", "edits", "quality"), dict),
    "quality-triplets": partial(with_ranges, parts="sets", findings="findings"),
}


def main() -> None:
    name, file = sys.argv[1:]
    result = json.loads(Path(file).read_text(encoding="utf-8"))
    write_json(str(RESULTS / f"{name}.json"), rounded(KEPT[name](result), FINE))


if __name__ == "__main__":
    main()
