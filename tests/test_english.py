"""Help lines and the first lines of docstrings say what a thing is, returns or does: they begin with that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from pearl.cli.commands import click_command
from pearl.cli.main import COMMANDS
from tests.source import Source, parsed, sources

# openings of clauses and adverbials, which a reader meets before the subject
OPENINGS = (
    "As",
    "How",
    "Likewise",
    "None of",
    "Of",
    "Only",
    "So",
    "What",
    "Where",
    "Whether",
    "Which",
    "Who",
    "Whom",
    "Whose",
)


def text(node: ast.expr) -> str:
    """The literal text at the beginning of a string, an f-string or a sum of them; empty if it begins with a value."""
    if isinstance(node, ast.BinOp):
        return text(node.left)
    if isinstance(node, ast.JoinedStr):
        return text(node.values[0])
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def lines(source: Source) -> Iterator[tuple[int, str]]:
    """Line numbers and texts of every `help=` and of every docstring's first line."""
    yield from ((node.value.lineno, text(node.value)) for node in source.keywords if node.arg == "help")
    for node in (source.tree, *source.functions, *source.classes):
        yield getattr(node, "lineno", 1), (ast.get_docstring(node) or "").partition("\n")[0]


def unidiomatic(line: str) -> bool:
    return any(line == opening or line.startswith((f"{opening} ", f"{opening},")) for opening in OPENINGS)


def test_docstrings_say_what_is_returned_before_what_is_raised() -> None:
    late = [
        f"{source.name}:{number}: {line}"
        for source in sources()
        if source.package in ("pearl", "retriever", "service")
        for number, line in lines(source)
        if line.startswith("Raises ")
    ]
    assert late == []


def test_help_and_docstrings_begin_with_what_they_name() -> None:
    wrong = [
        f"{source.name}:{number}: {line}" for source in sources() for number, line in lines(source) if unidiomatic(line)
    ]
    assert wrong == [], "\n".join(wrong)


def helps(words: str, command: Any) -> Iterator[tuple[str, str]]:
    """The help of a command, of its options and arguments, and of the commands below it, as they are shown."""
    yield words, command.help or ""
    yield from ((f"{words} {param.name}", getattr(param, "help", None) or "") for param in command.params)
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from helps(f"{words} {name}", command.get_command(None, name))


def test_help_that_is_made_from_parts_begins_so_too() -> None:
    """Such as that of each importer."""
    shown = [
        help for name, (module, _) in COMMANDS.items() for help in helps(name, click_command(import_module(module)))
    ]
    assert "import me" in dict(shown)
    assert [f"{words}: {help}" for words, help in shown if unidiomatic(help) or help[:1].islower()] == []


def test_the_check_sees_through_strings() -> None:
    source = "a = Option(help='Of ' + 'b')\nb = Option(help=f'Whether {a}')\ndef c():\n    'Offers d.'\n"
    said = lines(parsed(source, Path("module.py")))
    assert [unidiomatic(line) for _, line in said if line] == [True, True, False]
