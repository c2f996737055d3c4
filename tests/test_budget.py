"""The size of the house. A figure may rise only where others of its kind fall as much in the same change."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import pytest

from pearl.cli.commands import click_command
from pearl.cli.main import COMMANDS
from pearl.settings import Settings
from tests.source import ROOT, sources

MOST = {
    "lines of packages": {
        "lines of pearl": 14_030,
        "lines of retriever": 5_121,
        "lines of service": 31_003,
        "lines of training": 7_064,
        "lines of eval": 22_642,
    },
    "lines beside the packages": {
        "lines of docs/*.py and benchmarks": 2_935,
        "lines of tests": 71_484,
    },
    "modules": {"modules": 498},
    "short modules": {"modules under 60 lines": 41},
    "words": {"words of Markdown": 44_626},
    "commands": {"commands": 77},
    "ways to ask": {"options": 563, "choices": 117, "settings": 32},
    "seconds": {"seconds of make test": 360},  # on two quiet cores; pytest's last line says what it took
}
FIGURES = {name: most for kind, figures in MOST.items() if kind != "seconds" for name, most in figures.items()}
SHORT = 60  # lines
CHOICES = (" PaperChoice(", " NumberChoice(", "= choice(")  # what --choose NAME=VALUE takes


def size() -> dict[str, int]:
    """Count what MOST limits."""
    modules = [source for source in sources() if source.path.name != "__init__.py"]
    lines = Counter[str]()
    for source in sources():
        lines[f"lines of {source.package}"] += source.text.count("\n")
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")]
    commands = [command for name in COMMANDS for command in below(click_command(import_module(COMMANDS[name][0])))]
    return lines | {
        "lines of docs/*.py and benchmarks": lines_below("docs", "benchmarks"),
        "lines of tests": lines_below("tests"),
        "modules": len(modules),
        "modules under 60 lines": sum(source.text.count("\n") < SHORT for source in modules),
        "words of Markdown": sum(len(path.read_text(encoding="utf-8").split()) for path in pages),
        "commands": len(commands),
        "options": sum(parameter.name != "help" for command in commands for parameter in command.params),
        "choices": sum(source.text.count(name) for source in sources() for name in CHOICES),
        "settings": len(Settings.model_fields),
    }


def lines_below(*folders: str) -> int:
    """Count the lines of the Python files below these folders."""
    return sum(
        path.read_text(encoding="utf-8").count("\n") for name in folders for path in ROOT.glob(f"{name}/**/*.py")
    )


def below(command: Any) -> Iterator[Any]:
    """Yield a command, or those below a group."""
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from below(command.get_command(None, name))
    else:
        yield command


def raised(before: Mapping[str, Mapping[str, int]], after: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return by how much the limits of each kind rose together, for the kinds that rose.

    A figure that only one of them has is new or gone, and pays for nothing.
    """
    rises = {
        kind: sum(after[kind][name] - before[kind][name] for name in after[kind].keys() & before[kind].keys())
        for kind in after.keys() & before.keys()
    }
    return {kind: rise for kind, rise in rises.items() if rise > 0}


def limits_before() -> Mapping[str, Mapping[str, int]]:
    """Return the limits of the last commit that has others than these, or these if none of the last two has."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    for commit in ("HEAD", "HEAD^"):
        shown = subprocess.run(
            ["git", "-C", str(ROOT), "show", f"{commit}:tests/test_budget.py"], capture_output=True, text=True
        )
        if shown.returncode:
            pytest.skip(f"git knows no {commit} here: {shown.stderr.strip()}")
        limits = next(
            ast.literal_eval(node.value)
            for node in ast.parse(shown.stdout).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MOST"
        )
        if limits != MOST:
            break
    return limits if isinstance(next(iter(limits.values())), dict) else MOST


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    return size()


@pytest.mark.parametrize("figure", FIGURES)
def test_no_figure_rises(sizes, figure):
    assert sizes[figure] <= FIGURES[figure], f"{figure}: {sizes[figure]}, at most {FIGURES[figure]}"


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_that_fell_stays_low(sizes, figure):
    """A budget with room invites growth: within two hundredths, or five, of what is there."""
    room = max(5, FIGURES[figure] // 50)
    assert sizes[figure] >= FIGURES[figure] - room, f"{figure}: {sizes[figure]}; lower the limit {FIGURES[figure]}"


def test_no_limit_rises_where_none_of_its_kind_falls_as_much():
    rises = raised(limits_before(), MOST)
    assert not rises, f"raised without a fall of the same kind in the same change: {rises}"


@pytest.mark.parametrize(
    ("after", "rises"),
    [
        ({"pearl": 10, "service": 20}, {}),
        ({"pearl": 13, "service": 17}, {}),  # paid in the same kind
        ({"pearl": 11, "service": 20}, {"lines": 1}),
        ({"pearl": 12, "service": 19, "new": 5}, {"lines": 1}),  # what is new pays for nothing
    ],
)
def test_a_raise_is_paid_in_its_own_kind(after, rises):
    before = {"lines": {"pearl": 10, "service": 20}, "words": {"words": 9}}
    assert raised(before, {"lines": after, "words": {"words": 1}}) == rises
