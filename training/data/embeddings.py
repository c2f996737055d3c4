"""An encoder that keeps its embeddings in a folder, where later runs find them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError
from pearl.text.files.whole import replaced_file
from retriever.models.encoder import Encoder, Vectors

Halves = NDArray[np.float16]

PROBE = "a request"
AT_ONCE = 1024  # texts of one file: what an interruption loses


class KeptEncoder:
    """An encoder that keeps its vectors on disk, in float16, which changes cosines by less than 0.001.

    ``fingerprint`` identifies the encoder's weights. Raises InputError if the folder has vectors of another encoder.
    """

    def __init__(self, encoder: Encoder, folder: Path, fingerprint: str = "") -> None:
        self.name = encoder.name
        self._encoder = encoder
        self._folder = folder
        self._known: dict[bytes, Halves] = {}
        # some encoders put another prompt before a request than before a document
        self._one_kind = bool(np.allclose(encoder.encode_request(PROBE), encoder.encode_documents([PROBE]), atol=0.02))
        folder.mkdir(parents=True, exist_ok=True)
        _same_encoder(folder / "encoder.txt", f"{encoder.name} {fingerprint}".rstrip())
        for path in sorted(folder.glob("*.npz")):
            with np.load(path) as part:
                self._known.update(zip(map(bytes, part["keys"]), part["vectors"], strict=True))

    def prepare(
        self,
        texts: Sequence[str],
        advance: Callable[[int, bool], None] = lambda count, now: None,
        go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Compute and keep the embeddings that are missing, while ``go_on`` returns True. ``advance`` is called with a
        number of texts and whether they were computed in this run."""
        wanted = {_key(text): text for text in texts}
        missing = [key for key in wanted if key not in self._known]
        advance(len(wanted) - len(missing), False)
        for start in range(0, len(missing), AT_ONCE):
            if not go_on():
                return
            # texts of like length in a batch: none is padded to the length of a much longer one
            keys = sorted(missing[start : start + AT_ONCE], key=lambda key: len(wanted[key]))
            self._keep(keys, self._encoder.encode_documents([wanted[key] for key in keys]).astype(np.float16))
            advance(len(keys), True)

    def knows(self, text: str) -> bool:
        return _key(text) in self._known

    def _keep(self, keys: list[bytes], vectors: Halves) -> None:
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:16]
        with replaced_file(self._folder / f"{name}.npz") as partial, partial.open("wb") as file:
            np.savez(file, keys=np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1), vectors=vectors)
        self._known.update(zip(keys, vectors, strict=True))

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        self.prepare(texts)
        return np.stack([self._known[_key(text)] for text in texts]).astype(np.float32)

    def encode_request(self, text: str) -> Vectors:
        return self.encode_documents([text]) if self._one_kind else self._encoder.encode_request(text)


def _same_encoder(file: Path, name: str) -> None:
    if not file.exists():
        with replaced_file(file) as partial:
            partial.write_text(name, encoding="utf-8")
    before = file.read_text(encoding="utf-8")
    if before != name:
        raise InputError(
            f"{file.parent}: holds embeddings of the encoder '{before}', not of '{name}'; give another --work or "
            "delete it."
        )


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]
