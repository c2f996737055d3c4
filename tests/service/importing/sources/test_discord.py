from __future__ import annotations

import json

import pytest

from pearl.errors import InputError


def package(folder, **channels: str):
    (folder / "messages").mkdir()
    (folder / "messages" / "index.json").write_text(
        json.dumps({"1": "tea in Kitchen", "2": "Direct Message with bob#0"})
    )
    for name, content in channels.items():
        channel = folder / "messages" / name
        channel.mkdir()
        (channel / "channel.json").write_text('{"id": "1"}')
        (channel / f"messages.{'csv' if content.startswith('ID') else 'json'}").write_text(content)
    return folder


def sent(id_: object, text: str, time="2024-03-01 09:00:00"):
    return {"ID": id_, "Timestamp": time, "Contents": text, "Attachments": ""}


def test_the_data_package(read, tmp_path):
    csv = (
        'ID,Timestamp,Contents,Attachments\n7,2024-03-01 09:00:00.1+00:00,"Two\nlines",\n8,2024-03-01 09:00:00,,a.png\n'
    )
    messages = [sent(5, "Tea <a:steam:99> for <@!42> in <#7>?"), sent(6, "> you said\nI did.")]
    reading = read("discord", package(tmp_path, c1=json.dumps(messages), c2=csv), voice="chat")
    assert [(document.id, document.text, document.request) for document in reading.documents] == [
        ("5", "Tea :steam: for @user in #channel?", None),
        ("6", "I did.", "you said"),
        ("7", "Two\nlines", None),
    ]
    assert [document.recipient for document in reading.documents] == ["#tea", "#tea", "bob"]
    assert reading.documents[0].timestamp == 1709283600.0
    assert reading.found[2].where == f"{tmp_path}/messages/c2/messages.csv:2"
    assert reading.reasons == ["no text"]


@pytest.mark.parametrize(
    ("content", "reason", "field"),
    [
        (json.dumps([{"Timestamp": "2024-03-01 09:00:00", "Contents": "a"}]), "missing field", "ID"),
        (json.dumps([{"ID": 1, "Contents": "a"}]), "missing field", "Timestamp"),
        (json.dumps([sent(1, "a", "soon")]), "invalid timestamp", "Timestamp"),
        ("[1]", "wrong type", None),
        ('[{"ID": 1', "invalid json", None),
        ("ID,Contents\n1,a\n", "missing field", "Timestamp"),
    ],
)
def test_a_bad_message_is_named_and_the_others_stay(read, tmp_path, content, reason, field):
    reading = read("discord", package(tmp_path, c1=content, c2=json.dumps([sent(9, "Good.")])))
    assert reading.texts == ["Good."]
    assert [(error.reason, error.field) for error in reading.errors] == [(reason, field)]
    assert "messages/c1/messages." in reading.errors[0].where


def exported(*messages, **channel):
    place = {"id": "2", "name": "tea", **channel}
    return json.dumps({"guild": {"id": "1"}, "channel": place, "messages": messages, "messageCount": 3})


def message(id_, name, text, answers=None, kind="Default", **author):
    fields = {"id": id_, "type": kind, "timestamp": "2024-03-01T10:00:00+01:00", "content": text}
    fields["author"] = {"id": f"u-{name}", "name": name, "nickname": name.title(), "isBot": False, **author}
    return fields | ({"reference": {"messageId": answers}} if answers else {})


@pytest.mark.parametrize("me", ["ann", "u-ann", "ANN", "ann#0001"])
def test_what_the_exporter_wrote(read, tmp_path, me):
    source = tmp_path / "tea.json"
    source.write_text(
        exported(
            message("3", "ann", "At four.", answers="1", kind="Reply", discriminator="0001"),  # exported backwards
            message("2", "ann", "joined", kind="GuildMemberJoin", discriminator="0001"),
            message("1", "bob", "Tea?"),
            message("0", "bot", "beep", isBot=True),
        )
    )
    reading = read("discord", source, me)
    (document,) = reading.documents
    assert (document.id, document.text, document.request) == ("3", "At four.", "Tea?")
    assert document.timestamp == 1709283600.0
    assert reading.found[0].where == f"{source}:1"
    assert sorted(reading.reasons) == ["bot or system message", "bot or system message", "not written by --me"]


def test_a_thread_answers_what_another_file_holds(read, tmp_path):
    (tmp_path / "a thread.json").write_text(exported(message("3", "ann", "At four.", answers="1", kind="Reply")))
    (tmp_path / "tea.json").write_text(exported(message("1", "bob", "Tea?")))
    assert [document.request for document in read("discord", tmp_path, "ann").documents] == ["Tea?"]


@pytest.mark.parametrize(
    ("channel", "place"),
    [
        ({"type": "GuildTextChat", "category": "Kitchen"}, ("#tea", None)),
        ({"type": "GuildPublicThread", "category": "kitchen"}, ("#kitchen", "2")),
        ({"type": "DirectTextChat", "name": "bob"}, ("bob", None)),
        ({"type": "DirectTextChat", "name": "b\n" * 200}, (None, None)),
        ({"name": None}, (None, None)),
    ],
)
def test_the_channel_says_whom_a_message_is_for(read, tmp_path, channel, place):
    source = tmp_path / "tea.json"
    source.write_text(exported(message("1", "ann", "Tea?"), **channel))
    (document,) = read("discord", source, "ann").documents
    assert (document.recipient, document.thread) == place


def test_the_exporters_files_say_who_is_who_only_with_me(read, tmp_path):
    source = tmp_path / "tea.json"
    source.write_text(exported(message("1", "ann", "Tea?")))
    with pytest.raises(InputError, match="--me"):
        read("discord", source)


def test_messages_before_the_damage_are_kept(read, tmp_path):
    source = tmp_path / "tea.json"
    source.write_text(exported(message("1", "ann", "Tea?"), message("2", "ann", "Now?"))[:-60])
    reading = read("discord", source, "ann")
    assert "Tea?" in reading.texts
    assert reading.errors


@pytest.mark.parametrize(
    ("content", "text", "request_"),
    [
        (">>> you said\nand more\n\nand this", None, None),
        ("Mine.\n>>> you said\nand more", "Mine.", "you said\nand more"),
        (">.< I spilt it\n>:(", ">.< I spilt it\n>:(", None),
        ("> you said\nI did.", "I did.", "you said"),
    ],
)
def test_quotes_are_marked_with_a_space(read, tmp_path, content, text, request_):
    documents = read("discord", package(tmp_path, c1=json.dumps([sent(5, content)]))).documents
    assert [(document.text, document.request) for document in documents] == ([] if text is None else [(text, request_)])


@pytest.mark.parametrize(
    ("fields", "text", "request_"),
    [
        ({"content": "", "embeds": [{"title": "T", "description": "Tea at four"}]}, "Tea at four", None),
        ({"content": "", "embeds": [{"url": "http://e.org", "description": "Theirs"}]}, None, None),
        ({"content": "Yes", "embeds": [{"url": "http://e.org", "description": "Theirs"}]}, "Yes", None),
        ({"content": "Yes", "type": "Reply", "reference": {"messageId": "1"}}, "Yes", "Tea?"),
        ({"content": "!play tea"}, None, None),
    ],
)
def test_words_in_embeds(read, tmp_path, fields, text, request_):
    asked = {"id": "1", "timestamp": "2024-03-01T09:00:00Z", "content": "", "embeds": [{"description": "Tea?"}]}
    mine = {"id": "2", "timestamp": "2024-03-01T09:01:00Z", "author": {"id": "7", "name": "ann"}, **fields}
    messages = [{**asked, "author": {"id": "8", "name": "pot", "isBot": True}}, mine]
    (tmp_path / "tea.json").write_text(json.dumps({"guild": {}, "channel": {"id": "2"}, "messages": messages}))
    found = read("discord", tmp_path / "tea.json", "ann").documents
    assert [(each.text, each.request) for each in found] == ([(text, request_)] if text else [])
