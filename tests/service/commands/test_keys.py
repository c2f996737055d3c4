from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pearl.settings import load_settings
from service.commands.common import open_database
from service.store import keys, users


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")


def identify(home: Path, key: str, acting_for: str | None = None) -> str:
    with open_database(load_settings(home=home)) as database, database.read() as connection:
        return keys.identify(connection, key, acting_for).user.name


def test_a_users_key(command: Any, own_home: Path) -> None:
    made = command("keys", "create", "--user", "ada")
    assert made.status == 0
    assert made.out.startswith("pearl_")
    assert identify(own_home, made.out.strip()) == "ada"


def test_as_json_it_is_exactly_the_key(command: Any, own_home: Path, tmp_path: Path) -> None:
    made = command("keys", "create", "--user", "ada", "--json", "-")
    assert list(json.loads(made.out)) == ["key"]
    assert identify(own_home, json.loads(made.out)["key"]) == "ada"
    quiet = command("keys", "create", "--user", "ada", "--json", tmp_path / "key.json")
    assert (quiet.status, quiet.out) == (0, "")
    assert identify(own_home, json.loads((tmp_path / "key.json").read_text())["key"]) == "ada"
    assert (tmp_path / "key.json").stat().st_mode & 0o777 == 0o600


def test_list_and_revoke(command: Any, own_home: Path) -> None:
    key = command("keys", "create", "--user", "ada").out.strip()
    command("keys", "create", "--service", "--grant", "ada")
    command("keys", "create", "--service", "--grant-all")
    listed = command("keys", "list").out
    assert key not in listed
    assert [line.rstrip().split("  ")[-1].strip() for line in listed.splitlines()] == [
        "of",
        "ada",
        "service for ada",
        "service for *",
    ]
    first, second, _ = json.loads(command("keys", "list", "--json", "-").out)["keys"]
    assert (first["user"], first["may_act_as"]) == ("ada", [])
    assert (second["user"], second["may_act_as"]) == (None, ["ada"])
    assert key.startswith(first["shown"])
    revoked = command("keys", "revoke", first["id"])
    assert (revoked.status, revoked.out) == (0, "")
    with pytest.raises(Exception, match="not valid"):
        identify(own_home, key)
    again = command("keys", "revoke", first["id"])
    assert (again.status, again.err) == (2, f"pearl: There is no key '{first['id']}'; see 'pearl keys list'.\n")


def test_names_and_expiry(command: Any, own_home: Path) -> None:
    key = command("keys", "create", "--user", "ada", "--name", "laptop", "--expires", "90d").out.strip()
    assert identify(own_home, key) == "ada"
    (made,) = command("keys", "list", "--json", "-").json["keys"]
    assert (made["name"], made["last_used_at"]) == ("laptop", None)
    assert made["expires_at"] - made["created_at"] == pytest.approx(90 * 86_400, abs=60)
    _, row = command("keys", "list").out.splitlines()
    assert row.split()[1] == "laptop"
    assert row.split()[5:7] != ["-", "never"]


def test_an_expired_key_is_listed_as_such(command: Any, own_home: Path) -> None:
    with open_database(load_settings(home=own_home)) as database, database.write() as connection:
        keys.create_for_user(connection, "ada", terms=keys.KeyTerms(expires_at=1_700_000_000.0))
    assert "expired 2023-11-1" in command("keys", "list").out


def test_a_lifetime_past_the_calendars_end(command: Any, own_home: Path) -> None:
    run = command("keys", "create", "--user", "ada", "--expires", "99999y")
    assert (run.status, run.out) == (2, "")
    assert run.err == "pearl: --expires 99999y: give at most 100y, or leave it out: then the key does not expire.\n"
    assert command("keys", "create", "--user", "ada", "--expires", "100y").status == 0
    assert command("keys", "list").status == 0


@pytest.mark.parametrize("lifetime", ["90", "d", "0d", "-1d", "1.5d", "90 d", "soon", "999999d", ""])
def test_lifetimes_that_cannot_be_read(command: Any, own_home: Path, lifetime: str) -> None:
    run = command("keys", "create", "--user", "ada", f"--expires={lifetime}")
    assert (run.status, run.out) == (2, "")
    assert run.err == f"pearl: --expires {lifetime}: give a number of hours, days, weeks or years: 12h, 90d, 4w, 1y.\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--user", "ada", "--service"),
        ("--user", "ada", "--grant", "ben"),
        ("--user", "ada", "--grant-all"),
        ("--user", ""),
        ("--user", "a\tb"),
        ("--service", "--grant", "nobody"),
        ("--colour", "blue"),
        ("--user", "ada", "--json", "/nowhere/key.json"),
    ],
)
def test_what_cannot_be_made(command: Any, arguments: tuple[str, ...]) -> None:
    ran = command("keys", "create", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err
    assert "Traceback" not in ran.err
    assert json.loads(command("keys", "list", "--json", "-").out) == {"keys": []}


@pytest.mark.parametrize("json_options", [(), ("--json", "-"), ("--json", "key.json")])
def test_a_key_is_shown_only_when_it_is_stored(
    command: Any,
    own_home: Path,
    files_of_at_most: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    json_options: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"user-{number}" for number in range(1500)]
    with open_database(load_settings(home=own_home)) as database, database.write() as connection:
        users.ensure(connection, set(names))
    granted = [word for name in names for word in ("--grant", name)]  # more than the log of changes may hold
    with files_of_at_most(40_000):  # of which 32 KiB are for the index of that log
        made = command("keys", "create", "--service", *granted, *json_options)
    assert (made.status, made.out) == (1, "")
    assert "full" in made.err
    assert not (tmp_path / "key.json").exists()
    assert command("keys", "list").out == ""


def test_a_key_that_could_not_be_shown_is_withdrawn(command: Any, tmp_path: Path) -> None:
    command("keys", "create", "--user", "ada", "--name", "first")
    made = command("keys", "create", "--user", "ada", "--json", "/dev/full")
    assert (made.status, made.err) == (2, "pearl: --json /dev/full: No space left on device\n")
    assert [key["name"] for key in command("keys", "list", "--json", "-").json["keys"]] == ["first"]


def test_a_budget_of_tokens(command: Any, own_home: Path) -> None:
    command("keys", "create", "--user", "ada", "--tokens-per-day", "200000")
    command("keys", "create", "--user", "ada")
    assert " 0 of 200,000 " in command("keys", "list").out
    listed = json.loads(command("keys", "list", "--json", "-").out)["keys"]
    assert [(key["tokens_per_day"], key["tokens_today"]) for key in listed] == [(200_000, 0), (None, None)]


@pytest.mark.parametrize("tokens", ["0", "-5", "many", "1.5", "1000000000001", ""])
def test_a_budget_that_is_none(command: Any, own_home: Path, tokens: str) -> None:
    refused = command("keys", "create", "--user", "ada", "--tokens-per-day", tokens)
    assert refused.status == 2
    assert "--tokens-per-day" in refused.err
    assert json.loads(command("keys", "list", "--json", "-").out)["keys"] == []
