from __future__ import annotations

import json

import pytest

from pearl.errors import InputError


def package(folder, **channels: str):
    (folder / "messages").mkdir()
    (folder / "messages" / "index.json").write_text(json.dumps({"1": "tea in Kitchen"}))
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


def exported(*messages):
    return json.dumps(
        {"guild": {"id": "1"}, "channel": {"id": "2", "name": "tea"}, "messages": messages, "messageCount": 3}
    )


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


def test_what_is_not_discords(read, tmp_path):
    with pytest.raises(InputError, match="neither a Discord data package"):
        read("discord", tmp_path, "ann")


def at(minute, id_, name, text, **fields):
    return {**message(id_, name, text, **fields), "timestamp": f"2024-03-01T10:{minute:02}:00+00:00"}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_message_answers_what_others_said_before_it(read, tmp_path, backwards):
    messages = [
        at(0, "1", "bob", "Who makes tea?"),
        at(1, "2", "carl", "And when?"),
        at(2, "3", "bot", "beep", isBot=True),
        at(3, "4", "ann", "I do."),
        at(4, "5", "ann", "At four."),
        at(5, "6", "bob", "Fine."),
        at(6, "7", "ann", "To Carl.", answers="2", kind="Reply"),
        at(40, "8", "ann", "Much later."),
        at(41, "9", "ann", "lol"),
    ]
    source = tmp_path / "tea.json"
    source.write_text(exported(*(reversed(messages) if backwards else messages)))
    reading = read("discord", source, "ann")
    assert {document.text: document.request for document in reading.documents} == {
        "I do.": "Who makes tea?\n\nAnd when?",
        "At four.": "Who makes tea?\n\nAnd when?",
        "To Carl.": "And when?",
        "Much later.": None,
    }
    assert reading.reasons.count("no more than an interjection") == 1


def test_somebody_elses_package_is_refused(read, tmp_path):
    source = package(tmp_path, c1=json.dumps([sent(5, "Tea at four.")]))
    (tmp_path / "account").mkdir()
    account = {"id": "42", "username": "bob", "global_name": "Bob", "email": "bob@example.org", "discriminator": "0"}
    (tmp_path / "account" / "user.json").write_text(json.dumps(account))
    reading = read("discord", source)
    assert (reading.texts, reading.remarks) == (["Tea at four."], ["The package is that of Bob."])
    for me in ("bob", "42", "BOB@example.org"):
        assert read("discord", source, me).texts == ["Tea at four."]
    with pytest.raises(InputError, match="is the data package of Bob, who is not --me ann"):
        read("discord", source, "ann")


@pytest.mark.parametrize(
    "bad", ['{"ID": [[1]], "Timestamp": "2024-03-01 09:00:00", "Contents": "a"}', "[" * 9_999 + "]" * 9_999]
)
def test_what_is_nested_costs_only_its_message(read, tmp_path, bad):
    source = package(tmp_path, c1=f"[{bad}, {json.dumps(sent(9, 'Tea at four.'))}]")
    reading = read("discord", source)
    assert reading.texts == ["Tea at four."]
    assert len(reading.errors) == 1
