"""The chat model that the settings ask for."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from pearl.errors import InputError
from pearl.models.chat.base import ChatModel
from pearl.models.runtime.ray_workers import Placement
from pearl.settings import AUTO, EMBEDDED_ENGINE, ENDPOINT_ENGINE, ENGINES, NO_ENGINE, SERVED_INSTEAD, Settings
from pearl.text.shown_urls import is_loopback

if TYPE_CHECKING:
    from pearl.models.weights.table import Weights

CpuGuard = Callable[[], AbstractContextManager[None]]
# makes a model and loads no weights; the second argument is entered while this machine itself generates, the third is
# the number of drafts it may write at once
Maker = Callable[[Settings, CpuGuard, int], ChatModel]


def endpoint(settings: Settings, cpu_guard: CpuGuard, copies: int) -> ChatModel:
    from pearl.models.chat.endpoint import EndpointChatModel

    return EndpointChatModel.from_settings(settings)


def embedded(settings: Settings, cpu_guard: CpuGuard, copies: int) -> ChatModel:
    from pearl.models.chat.gguf_chat import CONTEXT_TOKENS, GgufChatModel

    _, path = embedded_file(settings)
    context = settings.llm_context_tokens or CONTEXT_TOKENS
    model = GgufChatModel(path, context_tokens=context, cpu_guard=cpu_guard, copies=copies, home=settings.home)
    if _named(settings) and settings.cluster is None:  # a file that a person brought may be half of one
        model.check_file()
    return model


def embedded_file(settings: Settings) -> tuple[str, Path]:
    """Return name and file of the model that writes on this machine. Raises PearlError if the file is not there."""
    from pearl.models.weights.shelf import ModelStore, model_path

    name = _named(settings) or ModelStore(settings.home).default().name
    return name, model_path(name, settings.home)


def _named(settings: Settings) -> str | None:
    """The local model that the settings name. If they also hold an address or a key, the name is the endpoint's model,
    and --llm embedded ignores it."""
    return None if settings.llm_base_url or settings.llm_api_key else settings.llm_model


def make_chat_model(settings: Settings, cpu_guard: CpuGuard = nullcontext, in_flight: int = 1) -> ChatModel:
    """Make the chat model of the settings; weights load on first use. Raises InputError when a setting is missing.

    ``cpu_guard``: context to enter while this machine generates; ``in_flight``: the number of concurrent calls.
    """
    if settings.cluster is None:
        return _made_here(settings, cpu_guard, calls_at_once(settings, in_flight))
    from pearl.models.chat.ray_chat import of_workers

    calls = _calls_of_worker(settings, settings.cluster.connect(), in_flight)
    return of_workers(_made_here(settings), settings, calls, _made_in_worker)


def _made_here(settings: Settings, cpu_guard: CpuGuard = nullcontext, copies: int = 1) -> ChatModel:
    module, _, function = ENGINES[settings.engine].maker.partition(":")
    make: Maker = getattr(import_module(module), function)
    return make(settings, cpu_guard, copies)


def _made_in_worker(settings: Settings, copies: int) -> ChatModel:
    return _made_here(settings, copies=copies)


def unnamed_weights(settings: Settings) -> Weights | None:
    """Return the weights of the default local model; None if the settings name a model or an endpoint."""
    if settings.engine != EMBEDDED_ENGINE or _named(settings):
        return None
    from pearl.models.weights.shelf import ModelStore

    return ModelStore(settings.home).default()


def engine_and_model(name: str | None) -> tuple[str | None, str | None]:
    """Split the value of --llm into engine and model. A name that is no engine is taken as an endpoint's model."""
    if name == NO_ENGINE:
        raise InputError(f"--llm {name} {SERVED_INSTEAD}.", param="llm")
    if name is None or name in (AUTO, *ENGINES):
        return name, None
    return ENDPOINT_ENGINE, name


def calls_at_once(settings: Settings, most: int) -> int:
    """Return the number of calls to make at once: ``most`` to an endpoint, at most one per processor to a local model.
    For a cluster, that is summed over its workers."""
    if settings.cluster is not None:
        placement = settings.cluster.connect()
        return placement.count * _calls_of_worker(settings, placement, most)
    return most if settings.uses_endpoint else min(most, os.cpu_count() or 1)


def writes_here(settings: Settings) -> bool:
    """Return True if prompts stay on this machine: the chat model runs here, or its endpoint has a loopback address
    that no proxy is used for."""
    if not settings.uses_endpoint:
        return True
    parts = urlsplit(settings.llm_base_url or "")
    return is_loopback(parts.hostname) and not _proxied(parts.scheme, str(parts.hostname))


def _proxied(scheme: str, host: str) -> bool:
    proxies = getproxies()
    return (scheme in proxies or "all" in proxies) and not proxy_bypass(host)


def _calls_of_worker(settings: Settings, placement: Placement, most: int) -> int:
    return math.ceil(most / placement.count) if settings.uses_endpoint else min(most, placement.cpus)


def local_names(settings: Settings) -> tuple[str, str]:
    """Return the name and the identity of the local model. Stored answers are keyed by the identity: the model and, for
    an engine with rules of our own, these rules."""
    model = _made_here(settings)
    return model.name, str(getattr(model, "identity", model.name))


def writer_of(settings: Settings) -> str:
    """Return the identity of the chat model, by which its answers are stored: an endpoint's model and address, or a
    local model's identity."""
    if not settings.uses_endpoint:
        return local_names(settings)[1]
    from pearl.models.chat.endpoint import address

    return f"{settings.llm_model} at {address(settings)}"
