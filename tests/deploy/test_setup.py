"""The Makefile and what continuous integration runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

TARGETS = {
    *("help", "setup", "serve", "test", "train", "lint", "types", "format", "docs", "bench", "lock", "clean"),
    *("sbom", "audit", "endure", "test-all"),
}


def make(root: Path, *words: str) -> str:
    # not as a part of the `make test` that may be running: its flags and arguments are none of ours
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "ARGS"))}
    done = subprocess.run(["make", *words], cwd=root, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_help_lists_every_target(root: Path) -> None:
    listed = re.findall(r"^make ([\w-]+) +\S", make(root), flags=re.MULTILINE)
    assert set(listed) == TARGETS
    phony = re.search(r"^\.PHONY: (.*)$", (root / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == TARGETS


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("serve", ".venv/bin/pearl serve --sample"),
        ("test", ".venv/bin/python -m pytest"),
        ("test-all", "--no-loadscope-reorder -m ''"),
        ("lint", ".venv/bin/ruff check ."),
        ("types", ".venv/bin/mypy"),
        ("docs", ".venv/bin/python docs/generate.py"),
        ("bench", ".venv/bin/python -m benchmarks"),
        ("lock", '--generate-hashes --custom-compile-command "make lock"  --output-file requirements.lock'),
        ("sbom", ".venv/bin/cyclonedx-py requirements"),
        ("audit", ".venv/bin/pip-audit"),
    ],
)
def test_targets_do_what_they_say(root: Path, target: str, command: str) -> None:
    assert command in make(root, "--dry-run", target)


def test_the_readme_and_the_help_say_how_to_serve_on_another_port(root: Path) -> None:
    assert "--sample --port 8123" in make(root, "--dry-run", "serve", "ARGS=--port 8123")
    assert 'make serve ARGS="--port 8123"' in (root / "README.md").read_text(encoding="utf-8")
    assert 'ARGS="--port 8123"' in make(root)


def test_serving_does_not_install_what_only_development_needs(root: Path) -> None:
    assert "requirements-dev.lock" not in make(root, "--dry-run", "--always-make", "serve")
    assert "requirements-dev.lock" in make(root, "--dry-run", "--always-make", "test")


def test_ci_runs_what_a_person_runs_and_the_tests_last(root: Path) -> None:
    script = root / ".ci" / "run"
    assert os.access(script, os.X_OK)
    commands = re.findall(r"^make ([\w-]+)", script.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert commands == ["setup", "lint", "audit", "types", "test", "test-all"]
    assert "\nmake test-all ARGS='-m slow'" in script.read_text(encoding="utf-8"), "what make test ran is not run again"
    assert "set -euo pipefail" in script.read_text(encoding="utf-8")


@pytest.mark.parametrize("failing", ["nothing", "setup", "lint", "audit", "types", "test", "test-all"])
def test_ci_fails_where_anything_fails(root: Path, tmp_path: Path, failing: str) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(root / ".ci" / "run", tmp_path / ".ci" / "run")
    for program, does in (("make", f'echo "ran $1"\n[ "$1" != {failing} ]'), ("apt-get", "false")):
        (tmp_path / program).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / program).chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([tmp_path / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False)
    # a vulnerability that was found today is said and no fault of a change
    assert (done.returncode == 0) == (failing in ("nothing", "audit"))
    assert ("ran types" in done.stdout) == (failing == "types")  # what it says is shown where it failed
    for tests in ("test", "test-all"):
        assert (f"ran {tests}\n" in done.stdout) == (failing not in ("setup", "lint"))


def test_commit_hooks_use_the_same_tools(root: Path) -> None:
    content = yaml.safe_load((root / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repository,) = content["repos"]
    assert repository["repo"] == "local", "no hub is needed"
    assert [hook["id"] for hook in repository["hooks"]] == ["lint", "format", "types"]
    assert all(hook["entry"].startswith(".venv/bin/") for hook in repository["hooks"])


@pytest.mark.parametrize("target", ["serve", "setup"])
def test_the_command_is_named_by_its_path(root: Path, target: str) -> None:
    (line,) = [line for line in make(root, "--dry-run", target).replace("\\\n", "").splitlines() if "printf" in line]
    said = subprocess.run(line, shell=True, capture_output=True, text=True, check=True).stderr
    assert said == (
        f"The command is {root}/.venv/bin/pearl. To call it pearl in a terminal:\n"
        f'  export PATH="{root}/.venv/bin:$PATH"\n'
    )


def test_what_is_installed_is_compiled_once_for_all(root: Path) -> None:
    """pip leaves it undone, so that all cores can do it."""
    recipes = re.findall(
        r"^\$\(VENV\)/\S+\.stamp:.*\n((?:\t.*\n)+)", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    installing = [recipe for recipe in recipes if "$(INSTALL)" in recipe]
    assert len(installing) == 2
    for recipe in installing:
        assert recipe.index("$(BYTECODE)") > recipe.rindex("$(INSTALL)")
