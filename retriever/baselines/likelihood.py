"""Scoring documents by the request's log-likelihood given the document under a small model (Sachan et al. 2022).

The name ``likelihood`` stands for the embedded model, ``likelihood:google/flan-t5-base`` for the paper's model.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pearl.clock import Clock
from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from pearl.text.templates import fill
from retriever.base import Index, Retriever, Scores

if TYPE_CHECKING:
    from retriever.models.auxiliary import AuxiliaryModel, Tokens

PROMPT = """A person wrote this text:

{document}

It is what the person answered to this request:
"""
DOCUMENT_TOKENS, REQUEST_TOKENS = 160, 256  # as the auxiliary scores cut them


class LikelihoodRetriever(Retriever):
    """Scores documents by log p(request given document), in nats per token; the first request loads the model."""

    name = "likelihood"

    def __init__(self, model: str = EMBEDDED) -> None:
        """``model``: ``embedded``, or the name or folder of a causal or encoder-decoder model of transformers."""
        self._model_name = model
        if model != EMBEDDED:
            self.name = f"{LikelihoodRetriever.name}:{model}"
        self._model: AuxiliaryModel | None = None
        self._lock = threading.Lock()

    def load(self) -> AuxiliaryModel:
        """Load the weights now. Raises InputError if they cannot be loaded."""
        import torch

        from retriever.models.load_auxiliary import load_auxiliary

        with self._lock:
            if self._model is None:
                device = "cuda" if torch.cuda.is_available() else "cpu"
                self._model = load_auxiliary(self._model_name, device=device)
            return self._model

    def index(self, documents: Sequence[Document]) -> Index:
        return LikelihoodIndex(self, [document.text for document in documents])


class LikelihoodIndex:
    """A history's documents, which are tokenized at the first request."""

    def __init__(self, retriever: LikelihoodRetriever, texts: Sequence[str]) -> None:
        self._retriever = retriever
        self._texts = texts

    def scores(self, request: Request, clock: Clock | None = None) -> Scores:
        from retriever.models.auxiliary import PairGroup

        model = self._retriever.load()
        target = tuple(model.encode(request.text, REQUEST_TOKENS))
        if not target:
            return np.zeros(len(self._texts), np.float32)
        scored = model.likelihoods([PairGroup((prompt,), (target,)) for prompt in self._prompts])
        return np.array([likelihood.mean for (likelihood,) in scored], np.float32)

    @cached_property
    def _prompts(self) -> list[Tokens]:
        model = self._retriever.load()
        texts = (model.decode(model.encode(text, DOCUMENT_TOKENS)) for text in self._texts)
        return [tuple(model.encode(fill(PROMPT, document=text))) for text in texts]
