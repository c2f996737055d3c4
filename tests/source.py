"""The five packages' modules, each read, parsed and walked once for every test that looks at source code."""

from __future__ import annotations

import ast
import gc
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("pearl", "retriever", "service", "training", "eval")


@dataclass(frozen=True)
class Source:
    """A module, and the nodes of its syntax that tests look at."""

    path: Path
    text: str
    tree: ast.Module
    imports: list[ast.Import | ast.ImportFrom]
    functions: list[ast.FunctionDef | ast.AsyncFunctionDef]
    classes: list[ast.ClassDef]
    strings: list[ast.Expr]  # that stand alone, as docstrings do
    keywords: list[ast.keyword]

    @property
    def package(self) -> str:
        return self.name.partition("/")[0]

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def imported(self) -> list[tuple[str, int]]:
        """The dotted names of everything that the module imports, anywhere in it, and the lines."""
        names = []
        for node in self.imports:
            if isinstance(node, ast.Import):
                names += [(alias.name, node.lineno) for alias in node.names]
            else:
                assert node.level == 0, f"{self.path}:{node.lineno} imports relatively, which hides the arrow"
                names += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
        return names


def parsed(text: str, path: Path) -> Source:
    tree = ast.parse(text)
    source = Source(path, text, tree, [], [], [], [], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            source.imports.append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            source.functions.append(node)
        elif isinstance(node, ast.ClassDef):
            source.classes.append(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            source.strings.append(node)
        elif isinstance(node, ast.keyword):
            source.keywords.append(node)
    return source


@cache
def sources() -> tuple[Source, ...]:
    gc.disable()  # a third of a million nodes that stay: to look for garbage among them takes longer than to make them
    try:
        paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
        return tuple(parsed(path.read_text(encoding="utf-8"), path) for path in paths)
    finally:
        gc.enable()
