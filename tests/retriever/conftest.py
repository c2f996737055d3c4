from __future__ import annotations

import pytest

from retriever.encoder import SentenceEncoder


@pytest.fixture(scope="session")
def encoder() -> SentenceEncoder:
    """The real embedded encoder, loaded once."""
    return SentenceEncoder()
