from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pearl import __version__
from pearl.cli import COMMANDS

PEARL = Path(sys.executable).with_name("pearl")


def test_help_lists_every_command(run_pearl):
    run = run_pearl("--help")
    assert (run.status, run.err) == (0, "")
    for name, (_, text) in COMMANDS.items():
        assert f"  {name} " in run.out
        assert text in " ".join(run.out.split())


def test_without_anything_it_shows_help(run_pearl):
    run = run_pearl()
    assert run.status == 2
    assert "Commands" in run.out + run.err


def test_the_version(run_pearl):
    run = run_pearl("--version")
    assert (run.status, run.out, run.err) == (0, f"pearl {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["dance"], ["--dance"], ["rank", "--dance"], ["rank", "extra"]])
def test_unusable_options(run_pearl, arguments):
    run = run_pearl(*arguments)
    assert (run.status, run.out) == (2, "")
    assert "dance" in run.err or "extra" in run.err or "Missing option" in run.err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [(["rnak"], "'rank'"), (["keys", "creat"], "'create'"), (["serve", "--prot", "1"], "--port")],
)
def test_a_misspelt_command_or_option_is_told_its_neighbours(run_pearl, arguments, meant):
    run = run_pearl(*arguments)
    assert (run.status, run.out) == (2, "")
    assert meant in run.err.splitlines()[-1]


def test_an_unusable_setting_is_one_line(run_pearl, monkeypatch):
    monkeypatch.setenv("PEARL_LLM", "magic")
    run = run_pearl("keys", "list")
    assert (run.status, run.out) == (2, "")
    assert run.err.startswith("pearl: PEARL_LLM='magic': ")
    assert run.err.count("\n") == 1


def test_as_a_program():
    done = subprocess.run([PEARL, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"pearl {__version__}\n", "")


def test_a_reader_who_leaves_is_no_disaster(tmp_path):
    line = '{"request": "a", "documents": [' + ", ".join(['{"text": "words"}'] * 200) + "]}\n"
    (tmp_path / "in.jsonl").write_text(line * 2000)
    command = f"{PEARL} rank --model random --input {tmp_path / 'in.jsonl'} --output - | head -1 | wc -l"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "1"
    assert "Traceback" not in done.stderr
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_on_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([PEARL, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    said = "pearl: The disk that the output goes to is full; free some space and run it again.\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.parametrize("module", ["typer", "rich"])  # loaded before main() runs, and with the command
def test_an_interrupt_while_it_loads_ends_it_quietly(module, tmp_path):
    heeded = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # in a shell's background it is ignored
    (tmp_path / f"{module}.py").write_text(f"import os, signal\n{heeded}\nos.kill(os.getpid(), signal.SIGINT)\n")
    search = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([PEARL, "rank", "--help"], env=search, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


def test_an_interrupt_between_loading_and_work_ends_it_quietly(run_pearl, monkeypatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pearl.cli.app", interrupted)
    run = run_pearl("--version")
    assert (run.status, run.out, run.err) == (130, "", "")
