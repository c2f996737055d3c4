"""Help lines and the first lines of docstrings say what a thing is, returns or does: they begin with that."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.source import Source, parsed, sources

# openings of clauses and adverbials, which a reader meets before the subject
OPENINGS = ("As", "How", "Likewise", "None of", "Of", "Only", "So", "What", "Where", "Whether", "Which", "Who", "Whom")


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


def test_the_check_sees_through_strings() -> None:
    source = "a = Option(help='Of ' + 'b')\nb = Option(help=f'Whether {a}')\ndef c():\n    'Offers d.'\n"
    said = lines(parsed(source, Path("module.py")))
    assert [unidiomatic(line) for _, line in said if line] == [True, True, False]
