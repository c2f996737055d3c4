"""The pages for operators name settings, files and commands that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pearl.cli.main import COMMANDS
from pearl.settings import PREFIX, Settings


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    pages = ("deploying", "installing", "monitoring", "operating")
    return "".join((root / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in pages)


def test_settings_exist(page: str) -> None:
    named = set(re.findall(r"\bPEARL_[A-Z_]+", page))
    assert named
    assert named <= {PREFIX + name.upper() for name in Settings.model_fields}


def test_files_exist(page: str, root: Path) -> None:
    made = {".env", "pearl.key"}  # by the operator
    named = {Path(name).name for name in re.findall(r"(?<!tests/)\bdeploy/[\w.-]+\w", page)} - made
    assert named == {path.name for path in (root / "deploy").iterdir()} - made


def test_commands_exist(page: str) -> None:
    named = set(re.findall(r"pearl (?=([a-z]+))", page)) - {"pearl"}  # compose's service of that name
    assert {"serve", "keys", "import"} <= named <= set(COMMANDS)
