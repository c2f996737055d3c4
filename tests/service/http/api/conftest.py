from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest


@pytest.fixture
def served(listen: Any) -> Any:
    """The service at an address, with two documents of ann's."""
    listening = listen()
    listening.house.add("ann", "Kettle's on. Swap with Bea.", "The rear wheel is true again.")
    return listening


@pytest.fixture
def client(served: Any) -> Iterator[openai.OpenAI]:
    """OpenAI's client with ann's key."""
    with openai.OpenAI(
        base_url=f"{served.address}/v1", api_key=served.house.key("ann"), max_retries=0, timeout=60
    ) as made:
        yield made


@pytest.fixture
def ann(pearl: Any) -> Any:
    return pearl.as_user("ann")
