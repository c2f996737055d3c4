"""Folders that are written atomically, locks that keep two runs apart, and checks of paths before the work."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from pearl.cli.options import check_unread
from pearl.errors import InputError
from pearl.text.files.whole import replaced_file
from retriever.calibrated.artifact import MANIFEST

RETRIEVER = "retriever"  # the kind of an artifact whose manifest names none


@contextmanager
def replaced(folder: Path) -> Iterator[Path]:
    """Yield a new folder to write to, which replaces ``folder`` in the end; after an error ``folder`` is unchanged."""
    folder = folder.resolve()
    partial, old = (folder.with_name(f".{folder.name}.{ending}") for ending in ("partial", "old"))
    if old.exists() and not folder.exists():
        old.rename(folder)  # a run ended between the two names
    for leftover in (partial, old):
        shutil.rmtree(leftover, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        if folder.exists():
            folder.rename(old)
        partial.rename(folder)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def last_checkpoint(folder: Path) -> str | None:
    """Return the checkpoint that transformers' trainer can resume from, or None. Deletes half-written checkpoints."""
    from transformers.trainer import TRAINER_STATE_NAME
    from transformers.trainer_utils import get_last_checkpoint

    for path in folder.glob("checkpoint-*"):
        if not (path / TRAINER_STATE_NAME).exists():  # it is written last
            shutil.rmtree(path)
    last: str | None = get_last_checkpoint(str(folder))  # type: ignore[no-untyped-call]
    if last is not None:
        file = Path(last) / TRAINER_STATE_NAME
        state = json.loads(file.read_text(encoding="utf-8"))
        if best := state["best_model_checkpoint"]:
            with replaced_file(file) as partial:
                partial.write_text(
                    json.dumps(state | {"best_model_checkpoint": str(folder / Path(best).name)}), encoding="utf-8"
                )
    return last


@contextmanager
def alone_in(folder: Path, option: str) -> Iterator[None]:
    """Lock ``folder``, made if missing, so that no other run works in it; ``option`` names the folder in errors.

    The lock ends with the process. Raises InputError if another run holds the lock.
    """
    with _locked(folder / ".lock", folder, option):
        yield


@contextmanager
def alone_with(file: Path, option: str) -> Iterator[None]:
    """Lock a file that a command adds to, so that no other run writes to it. Raises InputError if another run does."""
    with _locked(file.with_name(f".{file.name}.lock"), file, option):
        yield


@contextmanager
def _locked(place: Path, named: Path, option: str) -> Iterator[None]:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place, timeout=0)
        lock.acquire()
    except Timeout as error:
        raise InputError(
            f"--{option} {named}: another run is computing there; wait for its end, or name another."
        ) from error
    except OSError as error:
        raise InputError(f"--{option} {named}: cannot be used ({error}); name another.") from error
    try:
        yield
    finally:
        lock.release()


def check_place(option: str, path: Path) -> None:
    """Check that something can be written at ``path``, whose folder may be missing. Raises InputError if not."""
    there = next(folder for folder in path.resolve().parents if os.access(folder, os.F_OK))
    if not there.is_dir():
        raise InputError(f"--{option} {path}: {there} is a file; name another place.")
    if not os.access(there, os.W_OK):
        raise InputError(f"--{option} {path}: nothing can be written in {there}; name another place.")


def check_file(option: str, path: Path, inputs: Iterable[Path]) -> None:
    """Check that a file can be written at ``path``. Raises InputError if not, or if it is one of ``inputs``."""
    check_place(option, path)
    if path.is_dir():
        raise InputError(f"--{option} {path}: that is a folder; name a file.")
    check_unread(f"--{option}", path, inputs)


def check_replaceable(folder: Path, work: Path, kind: str = RETRIEVER) -> None:
    """Check that an artifact of this kind can be written to ``folder``, which may be missing, empty, or hold an earlier
    artifact of the kind. Raises InputError if not."""
    check_place("out", folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--out {folder}: that is a file; name a folder.")
    if folder.is_dir() and any(folder.iterdir()):
        manifest = folder / MANIFEST
        if not manifest.exists():
            raise InputError(f"--out {folder}: holds something else than an artifact; name another folder.")
        with suppress(ValueError, AttributeError):  # a damaged one may be replaced
            held = json.loads(manifest.read_bytes()).get("kind", RETRIEVER)
            if held != kind:
                raise InputError(f"--out {folder}: holds a model of another kind ({held}); name another folder.")
    check_outside(work, folder)


def work_folder(given: Path | None, out: Path) -> Path:
    """Return the folder that an interrupted training is resumed from: ``given``, or OUT.work."""
    return given or Path(f"{out}.work")


def check_outside(work: Path, folder: Path) -> None:
    """Check that neither ``work`` nor the current folder lies in ``folder``, which is replaced. Raises InputError."""
    if Path.cwd().is_relative_to(folder.resolve()):
        raise InputError(f"{folder}: the command runs in this folder, and replaces it; change to another one.")
    if work.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"--work {work}: lies in {folder}, which is replaced; name another folder.")
