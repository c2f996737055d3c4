"""Reads the fields of a GGUF file, such as its chat template and control tokens.

Why not the library ``gguf``: it takes seven seconds for a large vocabulary, and this under one.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

MAGIC, VERSIONS = b"GGUF", (2, 3)
STRING, LIST = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
USUAL, UNKNOWN, CONTROL = 1, 2, 3  # types of tokens
MERGES = "tokenizer.ggml.merges"  # short texts, many, that llama.cpp reads for itself
DEFAULT_CONTEXT = 2048  # of a file that names none
SAMPLE = 1 << 20  # bytes at both ends that tell a file from another


@dataclass(frozen=True, slots=True)
class ModelFile:
    """The header of a GGUF file: its fields, size and digest."""

    path: Path
    fields: Mapping[str, Any]
    size: int  # bytes
    digest: str  # tells it from other files of the same name

    @property
    def architecture(self) -> str:
        return str(self.fields.get("general.architecture", "unknown"))

    @property
    def context_tokens(self) -> int:
        """Return the context length, in tokens, that the model was trained for."""
        return int(self._of_model("context_length") or DEFAULT_CONTEXT)

    @property
    def chat_template(self) -> str:
        """The model's chat template in Jinja; empty if it has none."""
        return str(self.fields.get("tokenizer.chat_template", ""))

    @property
    def bytes_of_a_token(self) -> int:
        """Return the memory, in bytes, of one token in the context at 16 bits per value; 0 if unknown."""
        heads = self._of_model("attention.head_count")
        shared = self._of_model("attention.head_count_kv") or heads
        layers, width = self._of_model("block_count"), self._of_model("embedding_length")
        if not (heads and layers and width):
            return 0
        size = self._of_model("attention.key_length") or width // (max(heads) if isinstance(heads, list) else heads)
        pairs = sum(shared) if isinstance(shared, list) else shared * layers
        return int(2 * 2 * pairs * size)

    def marks(self) -> dict[str, int]:
        """Return the control tokens by their text. They include texts like <|end|> in the chat template, even if the
        file does not declare them as control tokens."""
        texts = self.fields.get("tokenizer.ggml.tokens", [])
        kinds = self.fields.get("tokenizer.ggml.token_type", [USUAL] * len(texts))
        template = self.chat_template
        return {
            text: token
            for token, (text, kind) in enumerate(zip(texts, kinds, strict=False))
            if text and (kind in (UNKNOWN, CONTROL) or (_like_a_mark(text) and text in template))
        }

    def _of_model(self, field: str) -> Any:
        return self.fields.get(f"{self.architecture}.{field}")


def _like_a_mark(text: str) -> bool:
    return len(text) > 3 and (text[0], text[-1]) in (("<", ">"), ("[", "]"))


@lru_cache(maxsize=4)
def _read(path: Path, size: int, changed: int) -> ModelFile:
    if size < len(MAGIC):
        raise ValueError("it is empty or cut off")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        fields = _Contents(data).fields
        digest = sha256(data[:SAMPLE] + data[-SAMPLE:] + str(size).encode()).hexdigest()[:12]
    return ModelFile(path, fields, size, digest)


def read_gguf(path: Path) -> ModelFile:
    """Read the header of a GGUF file. Raises OSError, and ValueError if it is none or seen to be cut off."""
    status = path.stat()
    return _read(path, status.st_size, status.st_mtime_ns)


class _Contents:
    """The fields of a file that is mapped into memory, without MERGES."""

    def __init__(self, data: mmap.mmap) -> None:
        """Read what stands before the tensors. Raises ValueError if the file is cut off or no GGUF file."""
        self._data = data
        self._position = len(MAGIC)
        if data[: len(MAGIC)] != MAGIC:
            raise ValueError("it does not begin as a GGUF file does")
        try:
            version, tensors, fields = self._number("I"), self._number("Q"), self._number("Q")
            if version not in VERSIONS:
                raise ValueError(f"its format has version {version}; 2 and 3 can be read")
            self.fields: dict[str, Any] = dict(self._field() for _ in range(fields))
            self.fields.pop(MERGES, None)
            last = max((self._tensor_offset() for _ in range(tensors)), default=-1)
        except (struct.error, UnicodeDecodeError) as error:
            raise ValueError("it is cut off before its tensors begin") from error
        if self._position + last >= len(data):
            raise ValueError("it is cut off before its last tensor")

    def _tensor_offset(self) -> int:
        """Read a tensor's description; return its offset from the beginning of the first tensor."""
        self._string()
        _shape, _kind = [self._number("Q") for _ in range(self._number("I"))], self._number("I")
        return int(self._number("Q"))

    def _field(self) -> tuple[str, Any]:
        name = self._string()
        return name, self._value(self._number("I"))

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind == LIST:
            return self._list(self._number("I"), self._number("Q"))
        return self._number(self._code(kind))

    def _list(self, kind: int, size: int) -> list[Any]:
        if kind in (STRING, LIST):
            return [self._value(kind) for _ in range(size)]
        format_ = f"<{size}{self._code(kind)}"
        values = struct.unpack_from(format_, self._data, self._position)
        self._position += struct.calcsize(format_)
        return list(values)

    @staticmethod
    def _code(kind: int) -> str:
        if kind not in NUMBERS:
            raise ValueError(f"it has a value of an unknown kind, {kind}")
        return NUMBERS[kind]

    def _number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self._data, self._position)
        self._position += struct.calcsize(f"<{code}")
        return value

    def _string(self) -> str:
        size = self._number("Q")
        text = self._data[self._position : self._position + size]
        if len(text) < size:
            raise struct.error("a text is cut off")
        self._position += size
        return text.decode(errors="replace")
