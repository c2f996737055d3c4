"""Keep of `pearl forensics compare --json` what the page on six people's manner shows.

    pearl forensics compare --pairs commits.json --pairs mails.json --reference person --by user --json compared.json
    python docs/experiments/manner.py compared.json

A comparison of 38 traits in six columns holds every figure of every cell and every difference, 400 KB; the page shows
strength and relevance, and the largest difference of a row.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pearl.options import write_json

KEPT = ("strength", "relevance", "significant")
RESULT = Path(__file__).parents[1] / "results" / "manner.json"
DIGITS = 4


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


def main() -> None:
    compared = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    annotators = [
        {
            **{name: row[name] for name in ("name", "id")},
            "columns": [cell and {name: cell[name] for name in KEPT} for cell in row["columns"]],
            "max_difference": row["max_difference"]
            and {name: row["max_difference"][name] for name in ("strength", "significant")},
        }
        for row in compared["annotators"]
    ]
    columns = [{name: column[name] for name in ("name", "pairs", "n")} for column in compared["columns"]]
    head = {name: compared[name] for name in ("command", "version")}
    write_json(str(RESULT), head | rounded({"columns": columns, "annotators": annotators}))


if __name__ == "__main__":
    main()
