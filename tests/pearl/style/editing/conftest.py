from __future__ import annotations

import pytest

from tests.fake_chat import FakeChatModel


@pytest.fixture
def fake():
    """A chat model that answers from a queue."""
    return FakeChatModel()
