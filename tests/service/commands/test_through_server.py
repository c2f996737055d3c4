"""Commands that use the server of their home: a real server on a real socket, and the real command line."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from pearl.settings import load_settings
from service.commands.common import open_database
from service.process import home_socket
from service.sample import load_sample

ASK = ("draft", "Ask about the costume rails", "--voice", "email")
DRAFT_ID = re.compile(r"draft_\w+")
NOT_USED = "The server of this home is not used: "


@pytest.fixture(autouse=True)
def sample(own_home: Path) -> None:
    settings = load_settings(home=own_home)
    with open_database(settings) as database:
        load_sample(database, settings)


def shown(ran: Any) -> tuple[int, str, str]:
    """Everything that a command shows, but for what differs from run to run."""
    out = re.sub(r'"timings": \{[^}]*\}', "", ran.out)
    return ran.status, DRAFT_ID.sub("ID", out), DRAFT_ID.sub("ID", ran.err)


@pytest.mark.parametrize(
    "words",
    [
        ASK,
        (*ASK, "--json", "-"),
        (*ASK, "--json", "-", "--variants", "2", "--revise", "always", "-k", "2", "--no-edges"),
        (*ASK, "--variants", "2", "--intent", "decline", "--length", "40", "--to", "nan@example.org", "--thread", "t1"),
        ("draft", "write", "--user", "nobody"),
        ("draft", "write", "--voice", "emial"),
        ("draft", "write", "--candidates", "2"),
        ("draft", "write", "--instructions", "short, " * 60_000),
        ("check", "draft.txt", "--request", "Thank Nan", "--user", "sample"),
        ("check", "draft.txt", "--request", "Thank Nan", "--sample", "draft.txt", "--voice", "email", "--json", "-"),
        ("check", "draft.txt", "--request", "Thank Nan", "--voice", "emial"),
    ],
)
def test_the_server_answers_as_the_command_does(
    command: Any, endpoint: Any, serve_home: Any, words: tuple[str, ...], tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("draft.txt").write_text("Nan, the buttons are improved at 10:30.")
    here, asked = shown(command(*words)), len(endpoint.requests)
    serve_home()
    assert shown(command(*words)) == here
    assert len(endpoint.requests) == 2 * asked


def test_a_model_that_fails_is_told_with_its_status(command: Any, endpoint: Any, serve_home: Any) -> None:
    endpoint.status = 500
    here = shown(command(*ASK))
    serve_home()
    assert shown(command(*ASK)) == here
    assert here[0] == 1


def test_no_other_address_answers_commands(pearl: Any) -> None:
    assert pearl.client.post("/command", content=b"{}").status_code == 404


def test_a_server_with_other_settings_is_not_used(
    command: Any, endpoint: Any, serve_home: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from service.services import Services

    serve_home()
    monkeypatch.setattr("service.commands.writing.Services", Services, raising=False)
    monkeypatch.setenv("PEARL_MAX_DRAFT_TOKENS", "64")
    monkeypatch.setenv("PEARL_LOG_LEVEL", "error")  # which decides on no draft
    ran = command(*ASK)
    assert ran.status == 0
    assert ran.err.startswith(f"{NOT_USED}it has PEARL_MAX_DRAFT_TOKENS otherwise than here.\n")
    monkeypatch.setattr(home_socket, "__version__", "0.0.9")  # of server and command alike: they run in one process
    assert NOT_USED in command(*ASK).err
    monkeypatch.setenv("PEARL_HOME", str(tmp_path / "elsewhere"))
    assert "There is no user" in command("draft", "write", "--user", "sample").err


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path, patch: path.chmod(0o660), "is open to other users (mode 660); start the server again"),
        (lambda path, patch: patch.setattr(os, "geteuid", lambda: 4242), "belongs to another user"),
        (lambda path, patch: (path.unlink(), path.write_text("")), "is no socket; delete it"),
    ],
)
def test_a_socket_that_others_may_have_made_is_not_used(
    command: Any, endpoint: Any, own_home: Path, monkeypatch: pytest.MonkeyPatch, spoil: Any, reason: str
) -> None:
    path = own_home / home_socket.NAME
    with home_socket.listening(own_home), monkeypatch.context() as patch:
        assert home_socket.refusal(path) is None
        spoil(path, patch)
        ran = command(*ASK)
        assert (ran.status, ran.err.splitlines()[0]) == (0, f"{NOT_USED}{path} {reason}.")


def test_a_socket_that_a_killed_server_left_is_passed_over_and_replaced(
    command: Any, endpoint: Any, serve_home: Any, own_home: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(own_home / home_socket.NAME))
        (own_home / home_socket.NAME).chmod(0o600)
    assert "draft_" in (ran := command(*ASK)).err
    assert NOT_USED not in ran.err
    serve_home()
    assert command(*ASK).status == 0


def test_a_home_whose_path_is_too_long_for_a_socket_is_served_without(tmp_path: Path, caplog: Any) -> None:
    home = tmp_path / ("deep" * 30)
    home.mkdir()
    with home_socket.listening(home) as bound:
        assert bound is None
    assert "cannot be made (AF_UNIX path too long)" in caplog.text
    assert list(home.iterdir()) == []


def test_the_server_that_was_started_last_has_the_socket(own_home: Path) -> None:
    path = own_home / home_socket.NAME
    with ExitStack() as first:
        first.enter_context(home_socket.listening(own_home))
        with home_socket.listening(own_home):
            later = path.lstat().st_ino
            first.close()
            assert path.lstat().st_ino == later
        assert not path.exists()


@pytest.fixture
def server(process: Any, endpoint: Any, own_home: Path, until: Any) -> Iterator[Callable[..., Popen[str]]]:
    """Start `pearl serve` in a process of its own."""
    running: list[Popen[str]] = []

    def start(*options: str) -> Popen[str]:
        running.append(process("serve", "--port", "0", *options))
        until(lambda: (own_home / home_socket.NAME).exists() or running[-1].poll() is not None)
        return running[-1]

    yield start
    for each in running:
        each.kill()
        if each.stdout and not each.stdout.closed:
            end(each)


def began(running: Popen[str]) -> str:
    assert running.stdout is not None
    return running.stdout.readline()


def end(running: Popen[str]) -> tuple[str, str]:
    """Read the rest, which is too short to fill a pipe."""
    assert running.stdout is not None
    assert running.stderr is not None
    with running.stdout as out, running.stderr as err:
        said = out.read(), err.read()
    running.wait()
    return said


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--workers", "2")])
def test_the_words_come_as_the_model_writes_them(
    process: Any, server: Any, endpoint: Any, command: Any, own_home: Path, until: Any, options: tuple[str, ...]
) -> None:
    serving = server(*options)
    endpoint.text = "The rails\nare late, come by at nine."
    endpoint.go_on.clear()
    running = process(*ASK, "--no-edges")
    assert began(running) == "The rails\n"
    assert running.poll() is None
    endpoint.go_on.set()
    out, err = end(running)
    assert (running.returncode, out) == (0, "are late, come by at nine.\n"), err
    serving.send_signal(signal.SIGTERM)
    _, log = end(serving)
    assert " POST /command 200 " in log
    assert not (own_home / home_socket.NAME).exists()


@pytest.mark.slow
def test_ctrl_c_stops_the_servers_work(process: Any, server: Any, endpoint: Any, command: Any) -> None:
    serving = server()
    endpoint.text = "The rails\nare late, come by at nine."
    endpoint.go_on.clear()
    running = process(*ASK, "--no-edges")
    assert began(running) == "The rails\n"
    running.send_signal(signal.SIGINT)
    end(running)
    assert running.returncode == 130
    endpoint.go_on.set()
    assert command(*ASK).status == 0
    assert len(command("drafts", "list", "--json", "-").json["drafts"]) == 1
    serving.send_signal(signal.SIGTERM)
    assert "Traceback" not in end(serving)[1]


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_ends_in_mid_draft(
    process: Any, server: Any, endpoint: Any, command: Any, until: Any, how: signal.Signals
) -> None:
    """With words shown it is an error; before the first one the command writes the draft itself."""
    serving = server("--grace", "1")
    endpoint.text = "The rails\nare late, come by at nine."
    endpoint.go_on.clear()
    shows, silent = process(*ASK, "--no-edges"), process(*ASK, "--no-edges", "--json", "-")
    assert began(shows) == "The rails\n"
    until(lambda: len(endpoint.requests) == 2)
    serving.send_signal(how)
    out, err = end(shows)
    gone = "The server of this home ended before the draft did; run the command again."
    assert (shows.returncode, out) == (1, "are late,\n")  # and no second half
    assert err == f"pearl: {gone}\n"
    endpoint.go_on.set()
    out, err = end(silent)
    assert (silent.returncode, err.splitlines()[0]) == (0, f"{gone} It is written without it.")
    assert '"are late' not in out
    assert len(command("drafts", "list", "--json", "-").json["drafts"]) == 1
