"""The weights behind a model's name, so that results of other weights are not taken for theirs."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pearl.settings import EMBEDDED, MPNET
from retriever.models.mpnet import ALL_MPNET_BASE_V2

READ = {".json", ".txt", ".model", ".safetensors", ".bin"}  # configurations, vocabularies and weights


def model_fingerprint(name: str) -> str:
    """A digest of a folder's configuration and weights, or the commit of a hub's model; empty where neither is known.

    What is embedded comes with the package, under one name; the files of ``mpnet`` are pinned.
    """
    if name == EMBEDDED:
        return ""
    if name == MPNET:
        return ALL_MPNET_BASE_V2.fingerprint
    folder = Path(name)
    return _digest(folder) if folder.is_dir() else _commit(name)


def _digest(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in READ and path.is_file()):
        with path.open("rb") as file:
            found.update(f"{path.relative_to(folder).as_posix()}:".encode())
            found.update(hashlib.file_digest(file, "sha256").digest())
    return found.hexdigest()


def _commit(name: str) -> str:
    from transformers import AutoConfig

    try:
        return getattr(AutoConfig.from_pretrained(name), "_commit_hash", None) or ""
    except (OSError, ValueError):  # not all encoders have such a configuration; who loads the model says what is wrong
        return ""
