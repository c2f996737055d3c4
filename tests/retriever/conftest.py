from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from retriever.baselines.likelihood import LikelihoodRetriever
from retriever.models.encoder import SentenceEncoder


@pytest.fixture(scope="session")
def encoder() -> SentenceEncoder:
    """The real embedded encoder, loaded once."""
    return SentenceEncoder()


@pytest.fixture(scope="session")
def embedded_once() -> Iterator[None]:
    """SmolLM2 is unpacked once, for commands too, which takes ten seconds."""
    from retriever.models.causal import CausalAuxiliary

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CausalAuxiliary, "embedded", cache(CausalAuxiliary.embedded))
        yield


@pytest.fixture(scope="session")
def likelihood(embedded_once: None) -> LikelihoodRetriever:
    """With the real embedded model, loaded once."""
    return LikelihoodRetriever()
