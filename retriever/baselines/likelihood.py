"""The likelihood of the request given a document, log p(q given d) under a small model (Sachan et al. 2022).

``likelihood`` asks the embedded model, ``likelihood:google/flan-t5-base`` the paper's, or any other.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pearl.clock import Clock
from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from pearl.templates import fill
from retriever.base import Index, Retriever, Scores

if TYPE_CHECKING:
    from retriever.models.auxiliary import AuxiliaryModel, RememberedPrompts

PROMPT = """A person wrote this text:

{document}

It is what the person answered to this request:
"""
DOCUMENT_TOKENS, REQUEST_TOKENS = 160, 256  # as the auxiliary scores cut them
REMEMBERED_TOKENS = 32_768  # of one history; 750 MB of SmolLM2's caches in bfloat16


class LikelihoodRetriever(Retriever):
    """Scores in nats a token of the request. The model is loaded on first use."""

    name = "likelihood"

    def __init__(self, model: str = EMBEDDED) -> None:
        """``model``: embedded, or a transformers model or folder, causal or seq2seq."""
        self._model_name = model
        if model != EMBEDDED:
            self.name = f"{LikelihoodRetriever.name}:{model}"
        self._model: AuxiliaryModel | None = None
        self._lock = threading.Lock()

    def load(self) -> AuxiliaryModel:
        """Load the weights now, to a GPU where torch can use one. Raises InputError for what is no model."""
        import torch

        from retriever.models.auxiliary import load_auxiliary

        with self._lock:
            if self._model is None:
                device = "cuda" if torch.cuda.is_available() else "cpu"
                self._model = load_auxiliary(self._model_name, device=device)
            return self._model

    def index(self, documents: Sequence[Document]) -> Index:
        model = self.load()
        texts = [model.decode(model.encode(document.text, DOCUMENT_TOKENS)) for document in documents]
        prompts = [tuple(model.encode(fill(PROMPT, document=text))) for text in texts]
        return LikelihoodIndex(model, model.remember(prompts, REMEMBERED_TOKENS), len(documents))


class LikelihoodIndex:
    """The model's state after each document; only the request is left to compute."""

    def __init__(self, model: AuxiliaryModel, memory: RememberedPrompts, size: int) -> None:
        self._model = model
        self._memory = memory
        self._size = size

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        target = tuple(self._model.encode(request.text, REQUEST_TOKENS))
        if not target:
            return np.zeros(self._size, np.float32)
        return np.array([likelihood.mean for likelihood in self._memory.likelihoods(target)], np.float32)
