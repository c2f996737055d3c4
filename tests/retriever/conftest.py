from __future__ import annotations

import pytest

from retriever.encoder import SentenceEncoder
from retriever.likelihood import LikelihoodRetriever


@pytest.fixture(scope="session")
def encoder() -> SentenceEncoder:
    """The real embedded encoder, loaded once."""
    return SentenceEncoder()


@pytest.fixture(scope="session")
def likelihood() -> LikelihoodRetriever:
    """With the real embedded model, loaded once."""
    return LikelihoodRetriever()
