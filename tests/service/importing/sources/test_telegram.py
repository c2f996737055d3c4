from __future__ import annotations

import json

import pytest

from pearl.errors import InputError

START = 1_709_283_600


def said(id_, who, text, **fields):
    seconds = START + 60 * id_
    return {
        "id": id_,
        "type": "message",
        "date": "2024-03-01T10:00:00",
        "date_unixtime": str(seconds),
        "from": {1: "Ann Lee", 2: "Bob", 3: "Carl"}.get(who),
        "from_id": f"user{who}",
        "text": text,
        "text_entities": [{"type": "plain", "text": text}],
        **fields,
    }


DIRECT = {
    "name": "Bob",
    "type": "personal_chat",
    "id": 700,
    "messages": [
        said(1, 2, "Tea?"),
        said(2, 2, ["See ", {"type": "link", "text": "https://example.org"}, "."]),
        said(3, 1, [{"type": "bold", "text": "Yes"}, ", please ", {"type": "mention", "text": "@bob"}]),
        said(4, 1, "And milk."),
        {"id": 5, "type": "service", "date": "2024-03-01T10:00:00", "actor": "Bob", "action": "phone_call", "text": ""},
        said(6, 1, "", photo="(File not included.)"),
        said(7, 1, "Old news", forwarded_from="Carl"),
        said(8, 1, "A picture of tea", via_bot="@pic"),
        said(10, 1, "Gone's news", forwarded_from=None),
        said(11, 1, "/start@tea_bot"),
        said(12, 1, "", text_entities=[{"type": "plain", "text": "In "}, {"type": "bold", "text": "pieces"}]),
        said(9, 1, [{"type": "blockquote", "text": "Where?"}, "\nAt mine."]),
    ],
}
GROUP = {
    "name": "Tea club",
    "type": "private_supergroup",
    "id": 701,
    "messages": [
        said(1, 3, "When?"),
        said(2, 1, "At four.", reply_to_message_id=1),
        said(3, 2, "Too early", reply_to_message_id=2),
        said(4, 1, "Five then", reply_to_message_id=3),
        said(5, 1, "Bring cups"),
        "no message",
        {"id": 7, "type": "message", "text": "no time"},
    ],
}
SAVED = {"type": "saved_messages", "id": 1, "messages": [said(1, 1, "Buy tea.")]}
BOT = {"name": "Pot", "type": "bot_chat", "id": 9, "messages": [said(1, 1, "/start")]}
EXPORT = {
    "about": "Here is the data you requested.",
    "personal_information": {"user_id": 1, "first_name": "Ann", "last_name": "Lee"},
    "contacts": {"about": "", "list": [{"first_name": "Bob", "type": "x"}]},
    "chats": {"about": "This page lists all chats.", "list": [DIRECT, {**GROUP, "messages": []}, SAVED, BOT]},
    "left_chats": {"about": "", "list": [GROUP]},
}


def write(folder, export):
    (folder / "result.json").write_text(json.dumps(export, indent=1, ensure_ascii=False))
    return folder / "result.json"


@pytest.mark.parametrize("me", ["Ann Lee", "user1", "1"])
def test_a_chat_of_two(read, tmp_path, me):
    reading = read("telegram", write(tmp_path, DIRECT), me, voice="chat")
    assert [(document.id, document.text, document.request) for document in reading.documents] == [
        ("telegram:700:3", "Yes, please @bob", "Tea?\nSee https://example.org."),
        ("telegram:700:4", "And milk.", None),
        ("telegram:700:12", "In pieces", None),
        ("telegram:700:9", "At mine.", "Where?"),
    ]
    assert {(document.recipient, document.thread) for document in reading.documents} == {("Bob", None)}
    assert reading.documents[0].timestamp == START + 180
    assert sorted(reading.reasons) == sorted(
        [
            *["bot or system message"] * 2,
            "no text",
            *["forwarded"] * 2,
            "command to a bot",
            *["not written by --me"] * 2,
        ]
    )


def test_replies_in_a_group(read, tmp_path):
    reading = read("telegram", write(tmp_path, GROUP), "Ann Lee")
    assert [(document.text, document.request, document.thread) for document in reading.documents] == [
        ("At four.", "When?", "telegram:701:1"),
        ("Five then", "Too early", "telegram:701:1"),
        ("Bring cups", None, None),
    ]
    assert {document.recipient for document in reading.documents} == {"Tea club"}
    assert [error.where for error in reading.errors] == [f"{tmp_path}/result.json:{number}" for number in (6, 7)]


def test_an_export_of_all_says_whose_it_is(read, tmp_path):
    write(tmp_path, EXPORT)
    (tmp_path / "chats").mkdir()
    (tmp_path / "chats" / "sent.json").write_text("{}")
    reading = read("telegram", tmp_path)
    assert [(document.text, document.recipient) for document in reading.documents] == [
        *[(text, "Bob") for text in ("Yes, please @bob", "And milk.", "In pieces", "At mine.")],
        ("Buy tea.", None),
        *[(text, "Tea club") for text in ("At four.", "Five then", "Bring cups")],
    ]


def test_one_chat_needs_me(read, tmp_path):
    with pytest.raises(InputError, match="--me"):
        read("telegram", write(tmp_path, GROUP))


@pytest.mark.parametrize("content", ["[]", '{"messages": {}', '{"chats": {"list": [1]}}', '{"chats":' * 2_000])
def test_what_is_no_export(read, tmp_path, content):
    path = tmp_path / "result.json"
    path.write_text(content)
    assert [error.where for error in read("telegram", path, "Ann").errors] == [str(path)]
