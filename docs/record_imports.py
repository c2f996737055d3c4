"""Record what becomes of real blogs and vaults: ``python docs/record_imports.py NAME=FOLDER ...``.

``import-markdown-sample.toml`` names them and says where they come from; their texts are not ours to copy, so each is
given as a folder. Every one is imported by the command, in a PEARL_HOME of its own, and the dates that it gives to the
files of the sample are compared with those read by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from pearl.options import write_json

RESULTS = Path(__file__).resolve().parent / "results"
SAMPLE = RESULTS / "import-markdown-sample.toml"
RESULT = RESULTS / "import-markdown.json"
PEARL = Path(sys.executable).parent / "pearl"
DATES = """
import json
from pearl.settings import load_settings
from pearl.texts import format_timestamp
from service.commands.common import open_database
from service.store import documents, users
with open_database(load_settings()) as database, database.read() as connection:
    found = documents.all_of_user(connection, users.get(connection, "owner").id)
print(json.dumps({document.id: format_timestamp(document.timestamp) for document in found}))
"""


def main() -> None:
    sources = tomllib.loads(SAMPLE.read_text(encoding="utf-8"))
    recorded = []
    for argument in sys.argv[1:]:
        name, _, folder = argument.partition("=")
        recorded.append({"name": name, **_record(sources[name], Path(folder).expanduser())})
    write_json(str(RESULT), {"command": "python docs/record_imports.py", "sources": recorded})


def _record(source: dict[str, Any], folder: Path) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PEARL_HOME": home}
        me = [word for name in source.get("me", ()) for word in ("--me", name)]
        command = [PEARL, "import", str(folder), "--user", "owner", *me, "--json", "-"]
        summary = json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
        found = subprocess.run([sys.executable, "-c", DATES], env=environment, check=True, capture_output=True)
    dates = json.loads(found.stdout)
    wanted = source["dates"]
    return {
        "engine": source["engine"],
        "origin": source["origin"],
        "files": len({name.partition("#")[0] for name in dates}) + sum(summary["left_out"].values()),
        "files_imported": len({name.partition("#")[0] for name in dates}),
        "documents": summary["imported"],
        "left_out": summary["left_out"],
        "dates_read_by_hand": len(wanted),
        "dates_right": sum(dates.get(name) == date for name, date in wanted.items()),
        "dates_wrong": {name: dates.get(name) for name, date in wanted.items() if dates.get(name) != date},
    }


if __name__ == "__main__":
    main()
