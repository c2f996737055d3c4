from __future__ import annotations

import pytest

from pearl.errors import InputError
from tests.laid import packed


def node(id_, parent, role, *parts, kind="text", time=1_709_283_600.5, **metadata):
    content = {"content_type": kind, "parts": list(parts)}
    message = {
        "id": id_,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": time,
        "content": content,
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": metadata,
        "recipient": "all",
    }
    return {id_: {"id": id_, "message": message, "parent": parent, "children": []}}


CHATGPT = [
    {
        "title": "Tea",
        "create_time": 1_709_283_600.0,
        "update_time": 1_709_283_700.0,
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["s"]},
            **node("s", "root", "system", "", is_visually_hidden_from_conversation=True),
            **node(
                "u0", "s", "user", "I am Ann", kind="user_editable_context", is_visually_hidden_from_conversation=True
            ),
            **node("u1", "u0", "user", "How long must tea draw?"),
            **node("a1", "u1", "assistant", "Three minutes."),
            **node("t1", "a1", "tool", "42"),
            **node("u2", "t1", "user", {"asset_pointer": "file-service://x"}, "And this one?", kind="multimodal_text"),
            **node("u2b", "t1", "user", "And this"),
            **node("u3", "u2", "user", "", time=None),
        },
        "current_node": "u3",
        "conversation_id": "c1",
    },
    {"title": "broken", "mapping": None},
    {"title": "loop", "id": "c3", "mapping": {**node("x", "x", "user", "Tea again")}, "current_node": "x"},
    {"mapping": {"y": {"message": 1}, **node("z", "y", "user", "When?", time=None)}, "current_node": "z"},
]
CLAUDE = [
    {
        "uuid": "k1",
        "name": "Tea",
        "created_at": "2024-03-01T09:00:00.123456Z",
        "account": {"uuid": "a"},
        "chat_messages": [
            {
                "uuid": "m1",
                "text": "How long?",
                "content": [{"type": "text", "text": "How long?"}, {"type": "tool_result", "content": []}],
                "sender": "human",
                "created_at": "2024-03-01T09:00:01.123456Z",
                "attachments": [{"file_name": "tea.txt", "extracted_content": "Not mine."}],
            },
            {
                "uuid": "m2",
                "text": "Three minutes.",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Three minutes."}],
                "sender": "assistant",
                "created_at": "2024-03-01T09:00:02Z",
            },
            {"uuid": "m3", "text": "Thanks", "sender": "human", "created_at": "2024-03-01T09:00:03Z"},
            {"uuid": "m4", "text": "When?", "sender": "human", "created_at": None},
        ],
    },
    {"uuid": "k2", "chat_messages": None},
]


def sent(folder, content):
    return packed(folder / "a.zip", {"conversations.json": content, "user.json": {"id": "x"}})


def test_chatgpt(read, tmp_path):
    reading = read("chatgpt", sent(tmp_path, CHATGPT))
    assert [(document.id, document.text, document.request, document.thread) for document in reading.documents] == [
        ("chatgpt:u1", "How long must tea draw?", None, "chatgpt:c1"),
        ("chatgpt:u2", "And this one?", "Three minutes.", "chatgpt:c1"),
        ("chatgpt:x", "Tea again", None, "chatgpt:c3"),
    ]
    assert {(document.voice, document.recipient) for document in reading.documents} == {("prompts", "ChatGPT")}
    assert reading.documents[0].timestamp == 1_709_283_600.5
    assert reading.reasons.count("replaced by an edited prompt") == 1
    assert reading.reasons.count("no text") == 1
    assert [error.where.rpartition(":")[2] for error in reading.errors] == ["2", "4/1"]


def test_claude(read, tmp_path):
    reading = read("claude", sent(tmp_path, CLAUDE), voice="machines")
    assert [(document.id, document.text, document.request) for document in reading.documents] == [
        ("claude:m1", "How long?", None),
        ("claude:m3", "Thanks", "Three minutes."),
    ]
    assert {(document.voice, document.recipient, document.thread) for document in reading.documents} == {
        ("machines", "Claude", "claude:k1")
    }
    assert [error.where.rpartition("/")[2] for error in reading.errors] == ["4", "conversations.json:2"]


@pytest.mark.parametrize("current", [None, "gone", "b2"])
def test_the_newest_way_is_taken_where_the_current_one_is_not_said(read, tmp_path, current):
    nodes = {
        **node("a1", None, "user", "Which tea?", time=1),
        **node("b1", "a1", "assistant", "Green.", time=2),
        **node("a2", "b1", "user", "And mlk?", time=3),
        **node("b2", None, "user", "And milk?", time=4),
    }
    nodes["b1"]["children"] = ["a2", "b2"]  # all that says what b2 follows
    reading = read("chatgpt", sent(tmp_path, [{"mapping": nodes, "current_node": current}]))
    assert [(each.text, each.request) for each in reading.documents] == [("Which tea?", None), ("And milk?", "Green.")]
    assert reading.reasons.count("replaced by an edited prompt") == 1


def test_an_edited_prompt_to_claude_is_one_text(read, tmp_path):
    turns = [("1", "0", "Which tea?"), ("2", "1", "Green."), ("3", "2", "And mlk?"), ("4", "2", "And milk?")]
    messages = [
        {
            "uuid": id_,
            "parent_message_uuid": parent,
            "text": text,
            "sender": "assistant" if id_ == "2" else "human",
            "created_at": f"2024-03-01T09:00:0{id_}Z",
        }
        for id_, parent, text in turns
    ]
    reading = read("claude", sent(tmp_path, [{"uuid": "k", "chat_messages": messages}]))
    assert reading.texts == ["Which tea?", "And milk?"]
    assert reading.reasons.count("replaced by an edited prompt") == 1


@pytest.mark.parametrize("kind", ["chatgpt", "claude"])
def test_what_is_no_export(read, tmp_path, kind):
    with pytest.raises(InputError, match=r"no conversations\.json"):
        read(kind, tmp_path)
    reading = read(kind, sent(tmp_path, {"a": 1}))
    assert (reading.texts, len(reading.errors)) == ([], 1)


@pytest.mark.parametrize(("kind", "other"), [("chatgpt", CLAUDE), ("claude", CHATGPT)])
def test_the_export_of_the_other_program_is_not_taken_for_its_own(read, tmp_path, kind, other):
    assert read(kind, sent(tmp_path, other)).texts == []
