"""A cross-encoder that is carried as its difference from weights which it does not carry (LoRA, Hu et al. 2021).

adapter.json          which weights, their digest, and how their tensors are named in the cross-encoder
adapter.safetensors   of each adapted matrix the two factors of its low-rank difference; other trained tensors whole
config.json           the cross-encoder's configuration

On first use the difference is added to the weights and the sum is kept below PEARL_HOME, a folder like that of any
cross-encoder. Dimensions in comments: O outputs and I inputs of a matrix, R rank.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.settings import EMBEDDED, MPNET, load_settings
from retriever.models.encoder import encoder_source
from retriever.models.files import folder_digest, model_fingerprint, saving_tensors
from retriever.models.made_once import made_once
from retriever.models.quantized import RANGE, SCALE, MappedWeights, packed

MANIFEST = "adapter.json"
FACTORS = "adapter.safetensors"
CONFIG = "config.json"
WEIGHTS = "model.safetensors"
DOWN, UP = ".down", ".up"  # (R, I) and (O, R)
TOKENIZER = {".json", ".txt", ".model"}  # suffixes of its files


@dataclass(frozen=True, slots=True)
class Adapter:
    """The description of a low-rank difference from other weights."""

    base: str  # the name of the weights
    digest: str  # of the weights
    rank: int
    prefix: str  # of their tensors' names in the cross-encoder
    left_out: tuple[str, ...]  # tensors that the cross-encoder does not use

    def write(self, folder: Path) -> None:
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def base_folder(base: str) -> Path:
    """The folder of the weights under an adapter: those of ``embedded``, of ``mpnet``, or a folder's.

    Raises InputError for anything else, and PearlError for weights that are not installed or not usable.
    """
    folder = Path(encoder_source(base))
    if not (folder / WEIGHTS).is_file():
        raise InputError(
            f"The base '{base}' has no file {WEIGHTS} that an adapter could be added to; name '{EMBEDDED}', '{MPNET}' "
            "or a folder with that file.",
            param="base",
            code="model_not_found",
        )
    return folder


def base_digest(base: str, folder: Path) -> str:
    """A digest of the weights, of their configuration and vocabulary. Those of ``mpnet`` are checked as they are
    unpacked."""
    return model_fingerprint(MPNET) if base == MPNET else folder_digest(folder)


def is_adapter(folder: Path) -> bool:
    return (folder / MANIFEST).exists()


def merged_folder(folder: Path) -> Path:
    """Return the folder of the cross-encoder that an adapter makes of its base; merge them if they are not yet.

    Raises InputError for a damaged adapter and for one of other weights, PearlError for weights that are not installed.
    """
    try:
        fields = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        adapter = Adapter(**fields | {"left_out": tuple(fields["left_out"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{folder / MANIFEST}: cannot be read ({error}); copy the whole folder again.", code="damaged_file"
        ) from error
    base = base_folder(adapter.base)
    if base_digest(adapter.base, base) != adapter.digest:
        raise InputError(
            f"{folder}: is an adapter for other weights than those of '{adapter.base}' in {base}; put back the weights "
            "that it was trained over, or train it again.",
            code="other_weights",
        )
    made_of = folder_digest(folder)  # the base's digest among it
    return made_once(load_settings().home, f"merged-{made_of[:16]}", partial(_merge, folder, base, adapter))


def _merge(folder: Path, base: Path, adapter: Adapter, out: Path) -> None:
    from safetensors.numpy import save_file

    for path in base.iterdir():
        if path.suffix in TOKENIZER and path.is_file():
            shutil.copyfile(path, out / path.name)
    shutil.copyfile(folder / CONFIG, out / CONFIG)
    try:
        tensors = dict(_merged(adapter, MappedWeights(base / WEIGHTS), MappedWeights(folder / FACTORS)))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder}: cannot be added to the weights of '{adapter.base}' ({error}); train it again.",
            code="damaged_file",
        ) from error
    with saving_tensors(out / WEIGHTS) as file:
        save_file(tensors, file)


def _merged(adapter: Adapter, base: MappedWeights, factors: MappedWeights) -> Iterator[tuple[str, NDArray[np.generic]]]:
    """Yield the cross-encoder's tensors by name, matrices packed. Raises ValueError where shapes do not fit."""
    for name in base.names:
        if name in adapter.left_out:
            continue
        inner = name if name.startswith(adapter.prefix) else adapter.prefix + name
        values = base[name]
        if inner + UP in factors:
            values = values + factors[inner + UP].astype(np.float32) @ factors[inner + DOWN].astype(
                np.float32
            )  # (O, I)
        yield from _stored(inner, values)
    for name in factors.names:
        if not name.endswith((UP, DOWN, RANGE)):
            yield from _stored(name, factors[name].astype(np.float32))


def _stored(name: str, values: NDArray[np.generic]) -> Iterator[tuple[str, NDArray[np.generic]]]:
    if values.ndim != 2:
        yield name, values
        return
    matrix, scale = packed(values)
    yield name, matrix
    yield name + SCALE, scale[:, 0].copy()
