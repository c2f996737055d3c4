"""Reading files of requests with their documents, as ``pearl rank`` takes them.

``{"request", "timestamp"?, "documents": [{"text", "request"?, "timestamp"?, "id"?}, ...]}``, a line each. A request
without a time counts as made now; documents without times must be ordered by age.
"""

from __future__ import annotations

from typing import Any

from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.usable import check_characters, check_id, check_text, json_type, parse_timestamp


def parse_candidates(value: dict[str, Any], now: float) -> tuple[Request, list[Document]]:
    """Read a line's request and documents. ``now``: the time of requests without one. Raises InputError with ``param``
    set to the field."""
    if "request" not in value:
        raise InputError("'request' is missing.", param="request", code="missing_field")
    timestamp = value.get("timestamp")
    request = Request(
        check_text(value["request"], param="request"),
        now if timestamp is None else parse_timestamp(timestamp, now=now),
    )
    documents = value.get("documents")
    if not isinstance(documents, list):
        raise InputError(f"'documents' must be an array, not {json_type(documents)}.", param="documents")
    return request, [_document(item, position, now) for position, item in enumerate(documents)]


def _document(value: Any, position: int, now: float) -> Document:
    """Read a document; an empty text is allowed."""
    where = f"documents.{position}"
    if not isinstance(value, dict):
        raise InputError(f"must be an object, not {json_type(value)}.", param=where, code="wrong_type")
    timestamp = value.get("timestamp")
    return Document(
        id=str(position) if value.get("id") is None else check_id(value["id"], param=f"{where}.id"),
        text=_string(value.get("text"), f"{where}.text"),
        timestamp=None if timestamp is None else parse_timestamp(timestamp, param=f"{where}.timestamp", now=now),
        request=None if value.get("request") is None else _string(value["request"], f"{where}.request"),
    )


def _string(value: Any, param: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"must be a string, not {json_type(value)}.", param=param, code="wrong_type")
    return check_characters(value, param=param)
