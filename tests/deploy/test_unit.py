"""The systemd units, of a server and of a user's desktop, and the desktop entry."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from service.commands.serve import REQUESTS_END_S
from service.services import LOADING_ENDS_S


@pytest.fixture
def unit(root: Path) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(root / "deploy" / "pearl.service", encoding="utf-8")
    return parser


def test_it_starts_the_server_with_options_that_exist(unit: configparser.ConfigParser, serve_options: set[str]) -> None:
    program, command, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert (Path(program).name, command) == ("pearl", "serve")
    assert {word for word in arguments if word.startswith("-")} <= serve_options


def test_it_has_a_user_a_folder_and_secrets_in_a_file(unit: configparser.ConfigParser) -> None:
    service = unit["Service"]
    assert service["User"] != "root"
    assert f"PEARL_HOME=%S/{service['StateDirectory']}" in service["Environment"].split()
    assert service["EnvironmentFile"] == "-/etc/pearl.env"
    assert int(service["TimeoutStopSec"]) >= REQUESTS_END_S + LOADING_ENDS_S + 5


@pytest.mark.parametrize(
    ("name", "checks"),
    [
        ("pearl.service", [["verify", "--man=no"], ["security", "--offline=true", "--threshold=25"]]),
        ("pearl-user.service", [["--user", "verify", "--man=no"]]),
    ],
)
def test_systemd_accepts_it_and_finds_it_safe(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, checks: list[list[str]]
) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    here = Path(sys.executable).with_name("pearl")
    text = (root / "deploy" / name).read_text(encoding="utf-8")
    copy = tmp_path / "pearl.service"
    copy.write_text(text.replace("/opt/pearl/bin/pearl", str(here)), encoding="utf-8")
    for words in checks:
        done = subprocess.run(["systemd-analyze", *words, copy], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "pearl.service:" not in done.stderr, done.stderr  # a line it could not read is only a warning


def test_the_users_unit_serves_and_has_time_to_end(root: Path) -> None:
    text = (root / "deploy" / "pearl-user.service").read_text(encoding="utf-8")
    assert "\nExecStart=/usr/bin/env pearl serve\n" in text
    assert int(re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)[0]) >= REQUESTS_END_S + LOADING_ENDS_S + 5


def test_the_desktop_entry_is_valid(root: Path) -> None:
    if shutil.which("desktop-file-validate") is None:
        pytest.skip("desktop-file-validate is not installed (apt-get install desktop-file-utils)")
    words = ["desktop-file-validate", "--warn-kde", root / "deploy" / "pearl.desktop"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
