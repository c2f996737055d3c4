"""Digests of model weights and of an artifact's files, reading manifests that list them, and errors when writing
weights."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError

from pearl.errors import InputError
from pearl.settings import EMBEDDED, MPNET
from pearl.text.files.whole import file_digest
from retriever.models.parts import ALL_MPNET_BASE_V2

RecordT = TypeVar("RecordT")

PROBE = 2**20  # bytes: what is left of a disk that has no room for a checkpoint is less

READ = {".json", ".txt", ".model", ".safetensors", ".bin"}  # configurations, vocabularies and weights


def model_fingerprint(name: str) -> str:
    """Identify a model's weights: the digest of a folder's files, a hub model's commit, or the digest of ``mpnet``'s
    files. Empty for ``embedded``, which comes with the package, and if nothing is known."""
    if name == EMBEDDED:
        return ""
    return ALL_MPNET_BASE_V2.fingerprint if name == MPNET else source_digest(name)


def source_digest(source: str) -> str:
    """Return the digest of a folder's files, or a hub model's commit; empty if unknown."""
    folder = Path(source)
    return folder_digest(folder) if folder.is_dir() else _commit(source)


def folder_digest(folder: Path) -> str:
    """Return a digest of all configuration, vocabulary and weight files in a model's folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in READ and path.is_file()):
        digest.update(f"{path.relative_to(folder).as_posix()}:".encode())
        digest.update(bytes.fromhex(file_digest(path)))
    return digest.hexdigest()


def carried_files(folder: Path, besides: Collection[str]) -> dict[str, str]:
    """Return the digests of the files in an artifact's folder, by path, except the files ``besides``."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {name: file_digest(folder / name) for name in names if name not in besides}


def check_carried(folder: Path, files: Mapping[str, str], needed: Iterable[str], besides: Collection[str]) -> None:
    """Compare an artifact's files with the digests in ``files``, by path. ``needed``: files that must exist;
    ``besides``: files to ignore. Raises InputError if a file is missing, changed or foreign."""
    there = carried_files(folder, besides)
    for name in (*needed, *files):
        if name not in there:
            raise InputError(f"{folder}: its file '{name}' is missing; copy the whole folder.")
        if there[name] != files.get(name):
            raise InputError(f"{folder}: its file '{name}' is not the one it was made with; copy the whole folder.")
    foreign = sorted(there.keys() - files.keys())
    if foreign:
        raise InputError(f"{folder}: the file '{foreign[0]}' does not belong to it; remove it.")


def manifest_content(path: Path, format: int, missing: InputError) -> dict[str, Any]:
    """Read the JSON object in a manifest. Raises ``missing`` if there is no such file, InputError if it cannot be read
    or has another format."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise missing from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("format") != format:
        raise InputError(f"{path.parent}: the artifact's format is not {format}; train it again with this version.")
    return content


def manifest_record(kind: type[RecordT], content: Mapping[str, Any], path: Path) -> RecordT:
    """Convert a manifest to a dataclass. Raises InputError that names a missing, unknown or mistyped field."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(content.keys() - names)
    try:
        record = TypeAdapter(kind).validate_python(content)
        problem = f"{unknown[0]}: is not one of them" if unknown else ""
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if problem:
        raise InputError(f"{path}: does not have the fields of this version: {problem}")
    return record


@contextmanager
def saving_tensors(file: Path) -> Iterator[Path]:
    """Yield the path for safetensors to write to, then let others read that file. Raises OSError."""
    with system_errors(file.parent):
        yield file
    file.chmod(0o644)


@contextmanager
def system_errors(folder: Path) -> Iterator[None]:
    """Turn the errors of safetensors and torch when they write to ``folder``, such as for a full disk, into OSError."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error
    except RuntimeError:
        with TemporaryFile(dir=folder) as file:  # if this can be written, the cause was another
            file.write(bytes(PROBE))
        raise


def _commit(name: str) -> str:
    from transformers.utils.hub import cached_file, extract_commit_hash

    try:
        return extract_commit_hash(cached_file(name, "config.json"), None) or ""
    except (OSError, ValueError):  # not all encoders have such a configuration; who loads the model says what is wrong
        return ""
