"""A Llama in GGUF, llama.cpp's files: fields about it and its tokenizer, and tensors packed in blocks of a few bits.

Why not the library ``gguf``: it gives a million arrays a slice of the file each, and takes seven seconds for what takes
a fifth of one here; the embedded model is to be ready in five.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Kind = Literal["F32", "Q4_1", "Q8_0"]

MAGIC, VERSION = b"GGUF", 3
BLOCK = 32  # values that share a scale
KINDS: dict[int, Kind] = {0: "F32", 3: "Q4_1", 8: "Q8_0"}
STRING, LIST = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
HEADS = {"attn_q": "llama.attention.head_count", "attn_k": "llama.attention.head_count_kv"}  # matrices that rotate
BYTES_OF_A_BLOCK = {"F32": 4 * BLOCK, "Q4_1": 2 + 2 + BLOCK // 2, "Q8_0": 2 + BLOCK}


@dataclass(frozen=True, slots=True)
class Blocks:
    """A matrix of whole numbers with a scale and an offset for each 32 of a row: ``codes * scales + offsets``.

    ``codes`` are (rows, groups, 32), uint8 below 16 where there are offsets and int8 where there are none; ``scales``
    and ``offsets`` (rows, groups, 1).
    """

    codes: NDArray[Any]
    scales: Floats
    offsets: Floats | None

    def values(self) -> Floats:
        """(rows, 32 x groups)"""
        values = self.codes * self.scales
        if self.offsets is not None:
            values += self.offsets
        return values.reshape(len(values), -1)

    @staticmethod
    def joined(parts: Sequence[Blocks]) -> Blocks:
        """The matrices of one kind one below the other."""
        codes, scales = (np.concatenate([getattr(part, name) for part in parts]) for name in ("codes", "scales"))
        offsets = [part.offsets for part in parts if part.offsets is not None]
        return Blocks(codes, scales, np.concatenate(offsets) if offsets else None)


@dataclass(frozen=True, slots=True)
class _Tensor:
    kind: Kind
    shape: tuple[int, ...]
    place: int  # in the file


class GgufFile:
    """A file, mapped into memory: a tensor is unpacked each time that it is asked for."""

    def __init__(self, path: Path) -> None:
        """Map the file. Raises OSError, and ValueError for one that is cut off or packed in another way than these."""
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[:4] != MAGIC:
            raise ValueError("it does not begin as a GGUF file does")
        self._place = len(MAGIC)
        try:
            version, tensors, fields = self._number("I"), self._number("Q"), self._number("Q")
            if version != VERSION:
                raise ValueError(f"its format has version {version}, not {VERSION}")
            self.fields: dict[str, Any] = {self._string(): self._value(self._number("I")) for _ in range(fields)}
            self.tensors = dict(self._tensor() for _ in range(tensors))
        except (struct.error, UnicodeDecodeError) as error:
            raise ValueError("it is cut off before its tensors begin") from error
        alignment = self.fields.get("general.alignment", 32)
        self._begin = -(-self._place // alignment) * alignment
        for name, tensor in self.tensors.items():
            if self._begin + tensor.place + self._size(tensor) > len(self._data):
                raise ValueError(f"it is cut off before the end of {name}")

    def blocks(self, name: str) -> Blocks:
        """A packed matrix. Raises LookupError where there is none of that name."""
        tensor = self.tensors[name]
        rows, columns = tensor.shape
        data = self._rows(name).reshape(rows, columns // BLOCK, -1)
        scales, offsets = (data[:, :, at : at + 2].copy().view(np.float16).astype(np.float32) for at in (0, 2))
        if tensor.kind == "Q8_0":
            return Blocks(data[:, :, 2:].view(np.int8), scales, None)
        return Blocks(np.concatenate([data[:, :, 4:] & 15, data[:, :, 4:] >> 4], axis=2), scales, offsets)

    def values(self, name: str) -> Floats:
        """A tensor's numbers in its shape. Raises LookupError where there is none of that name."""
        tensor = self.tensors[name]
        if tensor.kind == "F32":
            return self._rows(name).view(np.float32).reshape(tensor.shape)
        return self.blocks(name).values()

    def _rows(self, name: str) -> NDArray[np.uint8]:
        """(rows, bytes of each). Of a head that rotates the file has the rows of both halves in turn; here the second
        half follows the first, as in other libraries."""
        tensor = self.tensors[name]
        rows = np.frombuffer(self._data, np.uint8, self._size(tensor), self._begin + tensor.place)
        rows = rows.reshape(tensor.shape[0], -1)
        field = HEADS.get(name.split(".")[-2])
        if field is None:
            return rows
        order = np.arange(len(rows)).reshape(self.fields[field], -1, 2).swapaxes(1, 2)
        return rows[order.ravel()]

    @staticmethod
    def _size(tensor: _Tensor) -> int:
        return prod(tensor.shape) * BYTES_OF_A_BLOCK[tensor.kind] // BLOCK

    def _number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self._data, self._place)
        self._place += struct.calcsize(f"<{code}")
        return value

    def _string(self) -> str:
        size = self._number("Q")
        text = self._data[self._place : self._place + size]
        if len(text) < size:
            raise struct.error("a text is cut off")
        self._place += size
        return text.decode()

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind == LIST:
            kind, size = self._number("I"), self._number("Q")
            return [self._value(kind) for _ in range(size)]
        if kind not in NUMBERS:
            raise ValueError(f"it has a value of an unknown kind, {kind}")
        return self._number(NUMBERS[kind])

    def _tensor(self) -> tuple[str, _Tensor]:
        name = self._string()
        shape = tuple(self._number("Q") for _ in range(self._number("I")))[::-1]  # GGUF begins with the columns
        kind, place = self._number("I"), self._number("Q")
        if kind not in KINDS:
            raise ValueError(
                f"{name} is packed in a way that is not supported, {kind}; {', '.join(KINDS.values())} are"
            )
        return name, _Tensor(KINDS[kind], shape, place)
