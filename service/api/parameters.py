"""Refusing unknown query parameters, since a misspelt filter must not seem to filter, and addresses that are not UTF-8:
the server replaces each unreadable character by the same mark, so different names would become one."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from pearl.errors import InputError, Malformed

# routes in the shape of another's API, whose clients add parameters of theirs: ?beta=true, ?api-version=2024-10-21
OF_OTHERS = {"OpenAI-compatible", "Anthropic-compatible", "Ollama-compatible", "rerank", "Model Context Protocol"}


async def refuse_other_encodings(request: Request) -> None:
    """Check the address, for every route. Raises Malformed for a path or query that is not UTF-8."""
    for part in (request.scope["raw_path"], request.scope["query_string"]):
        try:
            unquote_to_bytes(part).decode()
        except UnicodeDecodeError:
            raise Malformed(
                "The address is not UTF-8; encode names in it as UTF-8, then percent-encode them.", code="not_utf8"
            ) from None


async def refuse_unknown_parameters(request: Request) -> None:
    """Check the query, for every route but those of other APIs. Raises InputError with the first unknown parameter and
    the known ones."""
    route = request.scope["route"]
    needed, tags = (route.dependant, route.tags) if isinstance(route, APIRoute) else (Dependant(), [])
    if not request.query_params or not OF_OTHERS.isdisjoint(tags):
        return
    known = sorted(_names(needed))
    for name in request.query_params:
        if name not in known:
            offered = f"There are {', '.join(known)}." if known else "This route has none."
            raise InputError(
                f"There is no query parameter '{name}' here. {offered}", param=name, code="unknown_parameter"
            )


def _names(dependant: Dependant) -> Iterator[str]:
    """The query parameters of a route, or of something that it depends on."""
    yield from (field.alias for field in dependant.query_params)
    for needed in dependant.dependencies:
        yield from _names(needed)
