"""The chat model that the settings ask for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from pearl.chat.base import ChatModel
from pearl.settings import Settings


def make_chat_model(
    settings: Settings, undisturbed: Callable[[], AbstractContextManager[None]] = nullcontext
) -> ChatModel:
    """Raises InputError when the settings lack something. Weights are loaded on first use.

    ``undisturbed`` is entered while this machine itself generates.
    """
    if settings.uses_endpoint:
        from pearl.chat.endpoint import EndpointChatModel

        return EndpointChatModel.from_settings(settings)
    from pearl.chat.embedded import EmbeddedChatModel

    return EmbeddedChatModel(context_tokens=settings.embedded_context_tokens, undisturbed=undisturbed)
