"""The least an import can cost: the lines parsed by ``json`` and put into one SQLite table, unchecked.

``python -m benchmarks.sqlite_floor HISTORY.jsonl.gz DATABASE``
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

TABLE = (
    "CREATE TABLE documents (seq INTEGER PRIMARY KEY, user_id TEXT, id TEXT, timestamp REAL, request TEXT, text TEXT, "
    "UNIQUE (user_id, id))"
)
INSERT = "INSERT INTO documents (user_id, id, timestamp, request, text) VALUES (?, ?, ?, ?, ?)"


def fill(history: Path, database: Path) -> int:
    """The number of documents, in one transaction."""
    with closing(sqlite3.connect(database)) as connection, gzip.open(history, "rb") as lines:
        connection.execute("PRAGMA journal_mode=WAL")
        with connection:
            connection.execute(TABLE)
            return connection.executemany(INSERT, _rows(lines)).rowcount


def _rows(lines: Iterator[bytes]) -> Iterator[tuple[str, str, float, str, str]]:
    for line in lines:
        value = json.loads(line)
        yield value["user_id"], value["id"], value["timestamp"], value.get("request"), value["text"]


if __name__ == "__main__":
    started = time.perf_counter()
    documents = fill(Path(sys.argv[1]), Path(sys.argv[2]))
    print(json.dumps({"imported": documents, "seconds": time.perf_counter() - started}))
