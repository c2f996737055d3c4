"""Fields of OpenAI's API that drafts do not use: some are ignored, the others refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic.config import JsonDict

from pearl.errors import InputError

# they would change an answer of OpenAI's, so the answer names those that were passed over
PASSED_OVER = (
    "tools",
    "tool_choice",
    "functions",
    "function_call",
    "parallel_tool_calls",
    "max_tool_calls",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "prediction",
    "reasoning",
    "reasoning_effort",
    "seed",
    "verbosity",
)
# beginnings of their types
SERVER_TOOLS = (
    "web_search",
    "web_fetch",
    "file_search",
    "code_interpreter",
    "code_execution",
    "image_generation",
    "mcp",
)
TEXT_PARTS = ("text", "input_text", "output_text")
# no text of a person: a model's refusal or thoughts, or the work of tools
BESIDE_TEXT = (
    "refusal",
    "thinking",
    "redacted_thinking",
    "reasoning",
    "reasoning_text",
    "summary_text",
    "tool_call",
    "tool_use",
    "tool_result",
    "function_call",
)
PARTS = {
    "image": "Images",
    "image_url": "Images",
    "document": "Files",
    "input_image": "Images",
    "input_audio": "Recordings",
    "file": "Files",
    "input_file": "Files",
}
TEXT_FORMAT: JsonDict = {"type": "object", "properties": {"type": {"const": "text"}}, "required": ["type"]}
# what the API's description says of fields that are read to be refused; others may have any value
UNUSED: dict[str, dict[str, Any]] = {
    "tools": {
        "description": f"Passed over; none of the kinds {', '.join(SERVER_TOOLS)}, which their server would run.",
        "items": {
            "not": {
                "type": "object",
                "properties": {"type": {"type": "string", "pattern": f"^(?:{'|'.join(SERVER_TOOLS)})"}},
                "required": ["type"],
            }
        },
        "examples": [[]],
    },
    "tool_choice": {"description": "A model may answer with a text.", "enum": ["auto", "none", "", None]},
    "web_search_options": {"description": "Not supported.", "type": "null"},
    "top_logprobs": {"description": "Not supported.", "enum": [0, None]},
    "function_call": {"description": "A model may answer with a text.", "enum": ["auto", "none", "", None]},
    "logprobs": {"description": "Not supported.", "enum": [False, None]},
    "audio": {"description": "Not supported.", "type": "null"},
    "modalities": {"description": "A draft is a text.", "enum": [["text"], [], None]},
    "response_format": {"description": "A draft is a text.", "anyOf": [TEXT_FORMAT, {"type": "null"}]},
}
STATE: dict[str, dict[str, Any]] = {
    **{
        name: {"description": "Not supported: nothing is kept here.", "type": "null"}
        for name in ("previous_response_id", "conversation", "prompt")
    },
    "background": {"description": "Not supported.", "enum": [False, None]},
    "n": {"description": "Must be 1.", "enum": [1, None]},
    "include": {
        "description": "Passed over, but for logprobs, which are not supported.",
        "items": {"not": {"const": "message.output_text.logprobs"}},
        "examples": [[]],
    },
}
OPTIONAL = (None, "auto", "none")  # of tools: the model may answer with a text
NO_SERVER_TOOLS = "PEARL runs no tools, so the draft would lack its results. Leave it out."


def describe(fields: dict[str, dict[str, Any]]) -> Callable[[dict[str, Any]], None]:
    """Return a function that adds these fields to a model's schema."""

    def add(schema: dict[str, Any]) -> None:
        schema["properties"] |= {name: {"examples": [None], **field} for name, field in fields.items()}

    return add


def passed_over(
    fields: dict[str, Any], formats: Sequence[str] = ("response_format", "text.format"), more: Sequence[str] = ()
) -> list[str]:
    """List the ignored fields of a call. ``formats``: the fields that could ask for something other than text;
    ``more``: further fields to ignore. Raises InputError for fields that cannot be ignored."""
    for name in ("tool_choice", "function_call"):
        if (fields.get(name) or None) not in OPTIONAL:
            raise unsupported(name, f"'{name}' must be 'auto' or 'none': a draft is a text and calls no tools.")
    tools = fields.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        kind = tool.get("type") if isinstance(tool, dict) else None
        if isinstance(kind, str) and kind.startswith(SERVER_TOOLS):
            raise unsupported("tools", f"'tools' may not have {kind}: {NO_SERVER_TOOLS}")
    if fields.get("web_search_options") is not None:
        raise unsupported("web_search_options", f"'web_search_options' is not supported: {NO_SERVER_TOOLS}")
    for name in ("logprobs", "top_logprobs", "audio"):
        if fields.get(name):
            raise unsupported(name, f"'{name}' is not supported: a draft is plain text.")
    modalities = fields.get("modalities") or ["text"]
    if modalities != ["text"]:
        raise unsupported("modalities", "'modalities' must be ['text']: that is what a draft is.")
    for name in formats:
        kind = fields.get(name)
        if kind and not (isinstance(kind, dict) and kind.get("type") == "text"):
            raise unsupported(name, f"'{name}' must be text: a draft is a letter, not JSON.")
    return [name for name in (*PASSED_OVER, *more) if fields.get(name)]


def refuse_state(fields: dict[str, Any]) -> None:
    """Check that a call of the Responses API needs no state on the server, and only one answer. Raises InputError."""
    for name in ("previous_response_id", "conversation"):
        if fields.get(name):
            raise unsupported(name, f"'{name}' is not supported: no conversation is kept here; send it in 'input'.")
    if fields.get("prompt"):
        raise unsupported("prompt", "'prompt' is not supported: no prompts are kept here; use 'instructions'.")
    if fields.get("background"):
        raise unsupported("background", "'background' must be false: an answer comes with its call, or not at all.")
    if fields.get("n") not in (None, 1):
        raise unsupported("n", "'n' must be 1: a response has one text; POST /v1/chat/completions gives several.")
    include = fields.get("include")
    if isinstance(include, list) and "message.output_text.logprobs" in include:
        raise unsupported("include", "'include' may not ask for logprobs: a draft is plain text.")


def unreadable_part(kind: object) -> str:
    """The error message for a part of a message that is no text."""
    what = PARTS.get(kind, "Parts of this type") if isinstance(kind, str) else "Parts without a type"
    return f"{what} cannot be read: PEARL writes from texts. Leave them out, or describe them in words."


def unsupported(name: str, message: str) -> InputError:
    return InputError(message, param=name, code="unsupported")
