"""The chat model that the settings ask for."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pearl.chat.base import ChatModel
from pearl.settings import Settings


def make_chat_model(
    settings: Settings, undisturbed: Callable[[], AbstractContextManager[None]] = nullcontext, in_flight: int = 1
) -> ChatModel:
    """The chat model of the settings; weights are loaded on first use. Raises InputError when a setting is missing.

    ``undisturbed`` is entered while this machine itself generates, ``in_flight`` is how many calls there are at once.
    """
    if settings.uses_endpoint:
        from pearl.chat.endpoint import EndpointChatModel

        return EndpointChatModel.from_settings(settings)
    from pearl.chat.embedded import EmbeddedChatModel

    return EmbeddedChatModel(
        context_tokens=settings.embedded_context_tokens,
        undisturbed=undisturbed,
        copies=calls_at_once(settings, in_flight),
    )


def calls_at_once(settings: Settings, most: int) -> int:
    """The number of calls worth making at once: ``most`` for an endpoint, one per processor for the embedded model."""
    return most if settings.uses_endpoint else min(most, os.cpu_count() or 1)
