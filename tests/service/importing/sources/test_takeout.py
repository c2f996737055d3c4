from __future__ import annotations

import zipfile

import pytest

from pearl.errors import InputError
from tests.laid import packed

MAILS = "Takeout/Mail/All mail Including Spam and Trash.mbox"
MAIL = (
    "From 1@xxx Fri Mar 01 09:00:00 +0000 2024\nFrom: Ann Lee <ann@example.org>\nTo: nan@example.org\n"
    "Subject: Cups\nDate: Fri, 01 Mar 2024 09:00:00 +0000\nMessage-ID: <1@x>\n\nDear Nan, the cups came.\n\n"
)


def said(who, minute, text, **fields):
    creator = {"name": who.title(), "email": f"{who}@example.org", "user_type": "Human"}
    date = f"Friday, March 1, 2024 at 9:{minute:02}:00\u202fAM UTC"
    topic = fields.pop("topic_id", f"t{minute}")
    return {
        "creator": creator,
        "created_date": date,
        "text": text,
        "topic_id": topic,
        "message_id": f"m/{minute}",
        **fields,
    }


DIRECT = [
    said("bob", 1, "Tea?"),
    said("ann", 2, "Yes."),
    said("ann", 3, "", attached_files=[{"export_name": "File-a.png"}]),
    said("ann", 4, "Milk too.", created_date="Freitag, 1. März 2024 um 09:04:00 UTC"),
    {"creator": {"name": "Pot", "user_type": "Bot"}, "created_date": "x", "text": "Beep", "message_id": "m/5"},
    {"message_state": "DELETED", "created_date": "x", "creator": {"name": "Bob"}, "message_id": "m/6"},
    said("ann", 7, "When?", created_date="soon"),
    said("ann", 8, "Where?", created_date=None),
    "no message",
]
SPACE = [
    said("carl", 10, "Who brings cups?", topic_id="cups"),
    said("ann", 11, "I do.", topic_id="cups"),
    said("ann", 12, "Good one", quoted_message_metadata={"creator": {"name": "Carl"}, "text": "Cups are full"}),
]
GROUPS = {
    "DM abc": ({"members": [{"name": n.title(), "email": f"{n}@example.org"} for n in ("ann", "bob")]}, DIRECT),
    "Space AAA": ({"name": "Tea club", "members": []}, SPACE),
}


@pytest.fixture
def takeout(tmp_path):
    files = {MAILS: MAIL, "Takeout/archive_browser.html": "<html>"}
    for group, (info, messages) in GROUPS.items():
        files[f"Takeout/Google Chat/Groups/{group}/group_info.json"] = info
        files[f"Takeout/Google Chat/Groups/{group}/messages.json"] = {"messages": messages}
    return packed(tmp_path / "takeout-20240301-001.zip", files)


def test_mail_and_chat_in_voices_of_their_own(read, takeout):
    reading = read("takeout", takeout, "ann@example.org")
    assert [(item.text, item.request, item.recipient, item.voice) for item in reading.documents] == [
        ("Yes.", "Tea?", "bob@example.org", "chat"),
        ("Milk too.", None, "bob@example.org", "chat"),
        ("I do.", "Who brings cups?", "Tea club", "chat"),
        ("Good one", "Cups are full", "Tea club", "chat"),
        ("Dear Nan, the cups came.", "Cups", "nan@example.org", "email"),
    ]
    assert reading.documents[0].timestamp == 1_709_283_720
    assert reading.documents[1].timestamp == 1_709_283_840
    assert reading.documents[2].thread == "googlechat:Space AAA:cups"
    assert [error.where.rpartition(":")[2] for error in reading.errors] == ["7", "8", "9"]
    assert {item.voice for item in read("takeout", takeout, "ann@example.org", voice="all").documents} == {"all"}


def test_a_takeout_of_chat_alone(read, tmp_path, takeout):
    with zipfile.ZipFile(takeout) as archive:
        archive.extractall(tmp_path / "all")
    (tmp_path / "all" / MAILS).unlink()
    assert len(read("takeout", tmp_path / "all", "Ann").documents) == 4
    with pytest.raises(InputError, match="neither mail nor Google Chat"):
        read("takeout", tmp_path / "all/Takeout/Mail", "Ann")
