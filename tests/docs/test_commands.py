"""Commands that the docs show can be typed, and of those that result files name no part went without a word."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer._click.core import Context
from typer._click.exceptions import UsageError

from pearl.cli.commands import gone
from pearl.cli.main import app

ROOT = Path(__file__).parents[2]
# extending.md has plug-ins that its own tests install
PAGES = [ROOT / "README.md", *(page for page in sorted(ROOT.glob("docs/**/*.md")) if page.name != "extending.md")]
RESULTS = sorted(ROOT.glob("docs/*/*.json"))


def typed(page: str) -> Iterator[str]:
    """The lines of a page that call pearl, without prompts, variables, comments and what follows in the shell."""
    for line in page.replace("\\\n", " ").splitlines():
        if found := re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?(pearl .*)", line):
            yield re.split(r"\s+#|\s*[|;&>]", found[1])[0]


def fault(line: str) -> str | None:
    """Why a line could not be typed; a command is found as the shell's words say, and its options are not run."""
    command, words = typer.main.get_command(app), shlex.split(line)[1:]
    while words and hasattr(command, "get_command") and (below := command.get_command(None, words[0])):
        command, words = below, words[1:]
    if hasattr(command, "get_command"):
        return None if not words or words[0].startswith("-") or "/" in words[0] else f"no command {words[0]}"
    try:
        command.make_parser(Context(command)).parse_args(words)
    except UsageError as error:
        return error.format_message()
    return None


def went(line: str) -> bool:
    """True if the command went, or every option that is not there any more: typed, they say what took their place."""
    command, path, words = typer.main.get_command(app), "pearl", shlex.split(line)[1:]
    while words and hasattr(command, "get_command"):
        below = command.get_command(None, words[0])
        if below is None:
            return gone(path, words[0]) is not None
        command, path, words = below, f"{path} {words[0]}", words[1:]
    there = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    return all(gone(path, word) for word in words if word.startswith("--") and word not in there)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_pages(page: Path) -> None:
    lines = typed(page.read_text(encoding="utf-8"))
    assert [(line, why) for line in lines if (why := fault(line))] == []


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: file.name)
def test_commands_of_results(file: Path) -> None:
    found = re.findall(r'"pearl (?:[^"\\]|\\.)*"', file.read_text(encoding="utf-8"))
    lines = {json.loads(line) for line in found}
    assert [(line, why) for line in lines if (why := fault(line)) and not went(line)] == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("pearl import jsonl FILE --user me --batch-size 10", "No such option: --batch-size"),
        ("pearl import markdown vault --user me --folders-as-voices", None),
        ("pearl eval retrieval --gain FILE", "No such option: --gain (Possible options: --baseline, --gains)"),
        ("pearl evaluate", "no command evaluate"),
        ("pearl import ~/mail/Sent.mbox --user me", None),
    ],
)
def test_what_is_a_fault(line: str, why: str | None) -> None:
    assert fault(line) == why
