"""docs/deploying.md and docs/installing.md name settings, files and commands that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pearl.cli.main import COMMANDS
from pearl.settings import PREFIX, Settings


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return "".join((root / "docs" / name).read_text(encoding="utf-8") for name in ("deploying.md", "installing.md"))


def test_settings_exist(page: str) -> None:
    named = set(re.findall(r"\bPEARL_[A-Z_]+", page))
    assert named
    assert named <= {PREFIX + name.upper() for name in Settings.model_fields}


def test_files_exist(page: str, root: Path) -> None:
    named = set(re.findall(r"\bdeploy/[\w.-]+\w", page)) - {"deploy/.env"}  # which is made from deploy/env.example
    assert named == {f"deploy/{path.name}" for path in (root / "deploy").iterdir() if path.name != ".env"}


def test_commands_exist(page: str) -> None:
    named = set(re.findall(r"pearl (?=([a-z]+))", page)) - {"pearl"}  # compose's service of that name
    assert {"serve", "keys", "import"} <= named <= set(COMMANDS)
