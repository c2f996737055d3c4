"""The size of the house. Each figure may only fall: lower it with the change that makes it smaller; a raise needs a
reason in a comment beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from pearl.cli.commands import click_command
from pearl.cli.main import COMMANDS
from pearl.settings import Settings
from tests.source import ROOT, sources

MOST = {
    "lines of pearl": 12_022,  # 1,100 more: claims, intent and length, languages, recipients, tells of assistants
    "lines of retriever": 6068,  # 25 more: the wanted language
    "lines of service": 24_764,  # 3,100 more: the page, nine archives, two APIs, variants, texts set apart, recipients
    "lines of training": 7586,
    "lines of eval": 24_463,  # 215 more: pearl eval claims, claims in every table of drafts
    "lines of docs/*.py and benchmarks": 5099,
    "modules": 544,  # 23 more: an importer each, the page, the two APIs
    "modules under 60 lines": 85,  # three more: an importer, variants, turns of a chat
    "words of Markdown": 38_356,  # 4,200 more: clients, the page, nine archives, what was tried for drafts
    "commands": 94,  # nine more: the archives; one: pearl eval claims
    "options": 971,  # about a hundred more: each of nine importers has those of all importers
    "settings": 26,
}
SHORT = 60  # lines


def size() -> dict[str, int]:
    """Count what MOST limits."""
    modules = [source for source in sources() if source.path.name != "__init__.py"]
    lines = Counter[str]()
    for source in sources():
        lines[f"lines of {source.package}"] += source.text.count("\n")
    scripts = [path for folder in ("docs", "benchmarks") for path in ROOT.glob(f"{folder}/**/*.py")]
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")]
    commands = [command for name in COMMANDS for command in below(click_command(import_module(COMMANDS[name][0])))]
    return lines | {
        "lines of docs/*.py and benchmarks": sum(path.read_text(encoding="utf-8").count("\n") for path in scripts),
        "modules": len(modules),
        "modules under 60 lines": sum(source.text.count("\n") < SHORT for source in modules),
        "words of Markdown": sum(len(path.read_text(encoding="utf-8").split()) for path in pages),
        "commands": len(commands),
        "options": sum(parameter.name != "help" for command in commands for parameter in command.params),
        "settings": len(Settings.model_fields),
    }


def below(command: Any) -> Iterator[Any]:
    """Yield a command, or those below a group."""
    if hasattr(command, "list_commands"):
        for name in command.list_commands(None):
            yield from below(command.get_command(None, name))
    else:
        yield command


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    return size()


@pytest.mark.parametrize("figure", MOST)
def test_no_figure_rises(sizes, figure):
    assert sizes[figure] <= MOST[figure], f"{figure}: {sizes[figure]}, at most {MOST[figure]}"


@pytest.mark.parametrize("figure", MOST)
def test_a_figure_that_fell_stays_low(sizes, figure):
    """A budget with room invites growth: within two hundredths, or five, of what is there."""
    room = max(5, MOST[figure] // 50)
    assert sizes[figure] >= MOST[figure] - room, f"{figure}: {sizes[figure]}; lower the limit {MOST[figure]}"
