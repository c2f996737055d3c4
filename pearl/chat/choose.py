"""The chat model that the settings ask for."""

from __future__ import annotations

from pearl.chat.base import ChatModel
from pearl.settings import Settings


def make_chat_model(settings: Settings) -> ChatModel:
    """Raises InputError when the settings lack something. Weights are loaded on first use."""
    if settings.uses_endpoint:
        from pearl.chat.endpoint import EndpointChatModel

        return EndpointChatModel.from_settings(settings)
    from pearl.chat.embedded import EmbeddedChatModel

    return EmbeddedChatModel(context_tokens=settings.embedded_context_tokens)
