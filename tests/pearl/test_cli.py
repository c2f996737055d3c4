from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pearl import __version__
from pearl.cli import COMMANDS, main

PEARL = Path(sys.executable).with_name("pearl")


@pytest.fixture
def pearl(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line: exit status, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["pearl", *arguments])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def test_help_lists_every_command(pearl):
    status, out, err = pearl("--help")
    assert (status, err) == (0, "")
    for name, (_, text) in COMMANDS.items():
        assert f"  {name} " in out
        assert text in " ".join(out.split())


def test_without_anything_it_shows_help(pearl):
    status, out, err = pearl()
    assert status == 2
    assert "Commands" in out + err


def test_the_version(pearl):
    assert pearl("--version") == (0, f"pearl {__version__}\n", "")


@pytest.mark.parametrize("arguments", [["dance"], ["--dance"], ["rank", "--dance"], ["rank", "extra"]])
def test_unusable_options(pearl, arguments):
    status, out, err = pearl(*arguments)
    assert (status, out) == (2, "")
    assert "dance" in err or "extra" in err or "Missing option" in err


def test_an_unusable_setting_is_one_line(pearl, monkeypatch):
    monkeypatch.setenv("PEARL_LLM", "magic")
    status, out, err = pearl("keys", "list")
    assert (status, out) == (2, "")
    assert err.startswith("pearl: PEARL_LLM='magic': ")
    assert err.count("\n") == 1


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
