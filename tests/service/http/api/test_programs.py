"""Calls as programs send them that cannot be run in a test, by what their source code says of their bodies."""

from __future__ import annotations

import json
from typing import Any

import pytest

MENTION = "Tomas asks to swap his Saturday"
TOOL = {"type": "function", "function": {"name": "grep", "description": "Find.", "parameters": {"type": "object"}}}
PARTS = [{"type": "text", "text": "Here are the files:\n"}, {"type": "text", "text": MENTION}]


@pytest.mark.parametrize(
    ("body", "ignored"),
    [
        pytest.param(
            {
                "messages": [{"role": "system", "content": "You edit."}, {"role": "user", "content": PARTS}],
                "stream": True,
                "stream_options": {"include_usage": True},
                "max_completion_tokens": 4_096,
                "temperature": 1.0,
                "tool_choice": "auto",
                "parallel_tool_calls": False,
                "tools": [TOOL],
                "prompt_cache_key": "0f1e",
            },
            "tools, tool_choice",
            id="zed",
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": MENTION}], "stream": True, "temperature": 0.2},
            None,
            id="thunderai",
        ),
        pytest.param(
            {
                "messages": [
                    {"role": "system", "content": "You help with a vault."},
                    {"role": "user", "content": PARTS},
                    {"role": "assistant", "content": "", "tool_calls": [{"id": "1", **TOOL}]},
                    {"role": "tool", "content": "Nothing.", "tool_call_id": "1"},
                    {"role": "user", "content": MENTION},
                ],
                "stream": True,
                "stream_options": {"include_usage": True},
            },
            "messages.tool_calls",
            id="smart composer",
        ),
    ],
)
def test_a_call_of_a_program(pearl: Any, body: dict[str, Any], ignored: str | None) -> None:
    pearl.voice("ann", "email")
    answer = pearl.as_user("ann").post("/v1/chat/completions", {"model": "email", **body})
    assert answer.status_code == 200, answer.text
    assert answer.headers.get("x-pearl-ignored") == ignored
    events = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: ")]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    assert (
        "".join(each["delta"].get("content") or "" for chunk in chunks for each in chunk["choices"]) == "A fake reply."
    )
    assert pearl.rows("drafts")[0].voice == "email"
