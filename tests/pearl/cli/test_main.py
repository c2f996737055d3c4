from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pearl import __version__
from pearl.cli.commands import click_command
from pearl.cli.main import COMMANDS, GROUPS

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
    assert all(f"\n{title}:\n" in run.err for title in GROUPS)
    assert "pearl draft" in run.err.partition("Examples:")[2]


def test_the_version(run_pearl):
    run = run_pearl("--version")
    assert (run.status, run.out, run.err) == (0, f"pearl {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dance"], "No such command 'dance'. See 'pearl --help'."),
        (["rnak"], "No such command 'rnak'. Did you mean 'rank'? See 'pearl --help'."),
        (["keys", "creat"], "No such command 'creat'. Did you mean 'create'? See 'pearl keys --help'."),
        (["--dance"], "No such option: --dance. See 'pearl --help'."),
        (["rank", "-x"], "No such option: -x. See 'pearl rank --help'."),
        (["serve", "--prot", "1"], "No such option: --prot. Did you mean --host or --port? See 'pearl serve --help'."),
        (
            ["train", "fit", "--lora", "8"],
            "--lora went: a cross-encoder is trained whole; leave it out. See 'pearl train fit --help'.",
        ),
        (
            ["eval", "quality", "--resamples", "100"],
            "--resamples went: it is a constant now; leave it out. See 'pearl eval quality --help'.",
        ),
        (["eval", "manner"], "manner went: commit 847c86b2 has it. See 'pearl eval --help'."),
        (["rank"], "Missing option '--model'. See 'pearl rank --help'."),
        (["rank", "--model"], "Option '--model' requires an argument."),
        (["keys", "revoke"], "Missing argument 'ID'. See 'pearl keys revoke --help'."),
        (
            ["serve", "--port", "70000"],
            "Invalid value for '--port': Input should be less than or equal to 65535. See 'pearl serve --help'.",
        ),
        (["keys", "list", "a\nb"], "Got unexpected extra argument(s) (a\\x0ab). See 'pearl keys list --help'."),
    ],
)
def test_unusable_words_are_one_line(run_pearl, arguments, said):
    run = run_pearl(*arguments)
    assert (run.status, run.out, run.err) == (2, "", f"pearl: {said}\n")


def every_command() -> Iterator[tuple[list[str], Any]]:
    for name, (module, _) in COMMANDS.items():
        command = click_command(import_module(module))
        if name == "import":  # its first word is a kind
            yield [name, "jsonl"], command
        elif below := getattr(command, "commands", None):
            yield from (([name, word], one) for word, one in below.items())
        else:
            yield [name], command


def test_unusable_options_of_every_command_are_one_line(run_pearl):
    for words, command in every_command():
        see = f"See 'pearl {' '.join(words)} --help'.\n"
        run = run_pearl(*words, "--without-compare")
        assert (run.status, run.out) == (2, "")
        assert run.err.startswith("pearl: No such option: --without-compare.")
        assert run.err.endswith(f" {see}")
        assert run.err.count("\n") == 1
        number = next((one.opts[0] for one in command.params if one.type_descriptor.annotation in (int, float)), None)
        if number and number.startswith("--"):
            run = run_pearl(*words, number, "many")
            assert (run.status, run.out) == (2, "")
            assert run.err.startswith(f"pearl: Invalid value for '{number}': Input should be a valid ")
            assert run.err.endswith(f". {see}")
            assert run.err.count("\n") == 1


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


def test_an_output_beyond_a_limit_is_one_line(tmp_path):
    command = f"ulimit -f 0; exec {PEARL} --version > {tmp_path / 'out'}"
    done = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    said = "pearl: The disk that the output goes to takes no more (File too large); free some space and run it again.\n"
    assert (done.returncode, done.stderr) == (1, said)


@pytest.mark.parametrize("words", [("import", "jsonl"), ("train", "select", "--out", "o", "--scores")])
def test_a_name_that_is_too_long_is_one_line(tmp_path, words):
    path = tmp_path / ("x" * 300)
    environment = {**os.environ, "PEARL_HOME": str(tmp_path)}
    done = subprocess.run([PEARL, *words, path], env=environment, capture_output=True, text=True, check=False)
    said = f"pearl: {path}: a name in this path is too long; choose a shorter one.\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_a_locale_that_lacks_a_letter_is_no_disaster(tmp_path):
    # the terminal of a locale such as en_US, without .UTF-8
    environment = {**os.environ, "PEARL_HOME": str(tmp_path), "PYTHONIOENCODING": "ascii"}
    subprocess.run([PEARL, "keys", "create", "--user", "Jörg"], env=environment, capture_output=True, check=True)
    piped = subprocess.run([PEARL, "users", "list"], env=environment, capture_output=True, check=False)
    assert (piped.returncode, piped.stderr) == (0, b"")
    assert "Jörg" in piped.stdout.decode()
    terminal, its_end = pty.openpty()
    shown = subprocess.run(
        [PEARL, "users", "list"], env=environment, stdout=its_end, stderr=subprocess.PIPE, check=False
    )
    os.close(its_end)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"J?rg" in os.read(terminal, 65536)
    os.close(terminal)


@pytest.mark.parametrize("module", ["typer", "rich"])  # loaded before main() runs, and with the command
def test_an_interrupt_while_it_loads_ends_it_quietly(module, tmp_path):
    heeded = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # in a shell's background it is ignored
    (tmp_path / f"{module}.py").write_text(f"import os, signal\n{heeded}\nos.kill(os.getpid(), signal.SIGINT)\n")
    search = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([PEARL, "rank", "--help"], env=search, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


def test_an_interrupt_between_loading_and_work_ends_it_quietly(run_pearl, monkeypatch):
    def interrupted(prog_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pearl.cli.main.app", interrupted)
    run = run_pearl("--version")
    assert (run.status, run.out, run.err) == (130, "", "")
