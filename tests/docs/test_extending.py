"""docs/extending.md: its examples are run as they stand there, in a copy of the packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("pearl", "retriever", "service", "eval")
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = {part.partition("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
FILE = re.compile(r"^`([^`]+)`, [^\n]+:\n\n```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
WRAPPERS = {
    "pearl": '"{python}" -c "from pearl.cli.main import main; main()" "$@"',
    # as pip installs it, without asking an index
    "pip": 'shift; "{python}" -m pip install --quiet --no-index --no-deps --no-build-isolation --target "{site}" "$@"',
}


def edited(text: str, diff: str) -> str:
    """The text with the diff's lines put in; hunks are divided by a line of three dots."""
    for hunk in diff.split("...\n"):
        lines = hunk.splitlines(keepends=True)
        assert {line[0] for line in lines if line.strip()} <= {" ", "+"}, hunk
        before = "".join(line[1:] for line in lines if line.startswith(" "))
        assert text.count(before) == 1, f"not there once:\n{before}"
        text = text.replace(before, "".join(line[1:] or "\n" for line in lines))
    return text


def linked(source: str, target: str) -> None:
    """Python files are copied, to be edited; models and data stay where they are."""
    if source.endswith(".py"):
        shutil.copyfile(source, target)
    else:
        Path(target).symlink_to(source)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages with everything of the page put in."""
    top = tmp_path_factory.mktemp("house")
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, top / package, copy_function=linked, ignore=shutil.ignore_patterns("__pycache__")
        )
    for path, language, body in FILE.findall(PAGE):
        file = top / path
        if language == "diff":
            file.write_text(edited(file.read_text(encoding="utf-8"), body), encoding="utf-8")
        else:
            assert not file.exists(), f"{path} is there already"
            file.parent.mkdir(exist_ok=True)
            file.write_text(body, encoding="utf-8")
    (top / "bin").mkdir()
    for name, command in WRAPPERS.items():
        script = top / "bin" / name
        script.write_text(f"#!/bin/sh\n{command.format(python=sys.executable, site=top / 'site')}\n")
        script.chmod(0o755)
    return top


def steps(section: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a section's examples, each with the lines that it must print."""
    for console in CONSOLE.findall(section):
        for step in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
            command, *said = step.splitlines()
            yield command, said


@pytest.mark.parametrize("name", SECTIONS)
def test_the_example_does_what_the_page_says(name: str, house: Path, tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{house / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": f"{house}{os.pathsep}{house / 'site'}",
        "PEARL_HOME": str(tmp_path / "home"),
        "COLUMNS": "120",
    }
    for command, said in steps(SECTIONS[name]):
        done = subprocess.run(
            command, shell=True, cwd=house, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        printed = done.stdout.replace('": ', '":')
        assert [line for line in said if line not in printed] == [], done.stdout + done.stderr


@pytest.mark.parametrize("name", [name for name in SECTIONS if FILE.search(SECTIONS[name])])
def test_two_files_are_enough(name: str) -> None:
    assert len({path for path, _, _ in FILE.findall(SECTIONS[name]) if not path.startswith(("docs/", "tests/"))}) <= 2


def test_what_is_on_the_page() -> None:
    assert {"A retriever", "An importer", "A report", "A chat engine"} <= set(SECTIONS)
    assert len(FILE.findall(SECTIONS["A report"])) == 1  # one new file, and nothing else changes
    assert all(list(steps(SECTIONS[name])) for name in SECTIONS if FILE.search(SECTIONS[name]))
