from __future__ import annotations

import pytest

from pearl.chat.fake import FakeChatModel


@pytest.fixture
def fake():
    """A chat model that answers from a queue."""
    return FakeChatModel()
