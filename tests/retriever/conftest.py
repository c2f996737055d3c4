from __future__ import annotations

import pytest

from retriever.baselines.likelihood import LikelihoodRetriever
from retriever.models.encoder import SentenceEncoder


@pytest.fixture(scope="session")
def encoder() -> SentenceEncoder:
    """The real embedded encoder, loaded once."""
    return SentenceEncoder()


@pytest.fixture(scope="session")
def likelihood(embedded_once) -> LikelihoodRetriever:
    """With the real embedded model, loaded once."""
    return LikelihoodRetriever()
