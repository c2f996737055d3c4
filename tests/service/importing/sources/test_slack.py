from __future__ import annotations

import pytest

from pearl.errors import InputError
from tests.laid import laid, packed

USERS = [
    {
        "id": "U1",
        "name": "ann.lee",
        "real_name": "Ann Lee",
        "profile": {"display_name": "ann", "email": "ann@example.org"},
    },
    {"id": "U2", "name": "bob", "profile": {"display_name": ""}},
    {"name": "no id"},
]


def said(user, ts, text, **fields):
    return {"type": "message", "user": user, "ts": f"{ts}.000100", "text": text, **fields}


DAYS = {
    "tea/2024-03-01.json": [
        said("U2", 1709283600, "Tea, <@U1>?", thread_ts="1709283600.000100"),
        said("U2", 1709283601, "<@U2> has joined", subtype="channel_join"),
        said("U9", 1709283602, "beep", subtype="bot_message", bot_id="B1"),
        said("U1", 1709283603, "", files=[{}]),
        "not a message",
        {"user": "U1", "text": "no time"},
    ],
    "tea/2024-03-02.json": [
        said("U1", 1709370000, "Yes!", thread_ts="1709283600.000100"),
        said("U1", 1709369999, "Mine.\n&gt;&gt;&gt; who?\nwhen?"),
        said("U1", 1709370001, "&gt; who?\nMe &amp; <@U2>, <!here> in <#C1|tea>: <http://e.org|menu> <http://e.org>"),
    ],
    "D7/2024-03-01.json": [
        said("U1", 1709283600, "Just <mailto:b@e.org|b@e.org>, <!subteam^S1|@cooks>", subtype="me_message")
    ],
}


@pytest.fixture(params=["folder", "zip"])
def export(request, tmp_path):
    files = {
        "users.json": USERS,
        "channels.json": [{"id": "C1", "name": "tea"}],
        "dms.json": [{"id": "D7", "members": ["U1", "U2"]}],
        **DAYS,
    }
    return laid(tmp_path / "export", files) if request.param == "folder" else packed(tmp_path / "export.zip", files)


@pytest.mark.parametrize("me", ["U1", "ann.lee", "Ann Lee", "ANN@example.org", "@ann"])
def test_an_export(read, export, me):
    reading = read("slack", export, me, voice="chat")
    assert [(document.id, document.text, document.request) for document in reading.documents] == [
        ("D7:1709283600.000100", "Just b@e.org, @cooks", None),
        ("C1:1709370000.000100", "Yes!", "Tea, @ann?"),
        ("C1:1709369999.000100", "Mine.", "who?\nwhen?"),
        ("C1:1709370001.000100", "Me & @bob, @here in #tea: menu http://e.org", "who?"),
    ]
    assert [(document.recipient, document.thread) for document in reading.documents] == [
        ("bob", None),
        ("#tea", "C1:1709283600.000100"),
        ("#tea", None),
        ("#tea", None),
    ]
    assert reading.documents[1].timestamp == 1709370000.0001
    assert sorted(reading.reasons) == sorted(
        ["not written by --me", *["bot or system message"] * 2, "no text", "wrong type", "missing field"]
    )
    assert [error.where for error in reading.errors] == [
        f"{export}/tea/2024-03-01.json:5",
        f"{export}/tea/2024-03-01.json:6",
    ]


def test_a_damaged_day_costs_only_itself(read, tmp_path):
    laid(tmp_path, {"tea/2024-03-01.json": "[{", "tea/2024-03-02.json": [said("U1", 1, "Good.")]})
    reading = read("slack", tmp_path, "U1")
    assert reading.texts == ["Good."]
    assert [error.where for error in reading.errors] == [f"{tmp_path}/tea/2024-03-01.json"]


def test_a_damaged_list_of_users_stops_the_import(read, export):
    if export.is_dir():
        (export / "users.json").write_text("{}")
        with pytest.raises(InputError, match=r"users\.json: is not the JSON"):
            read("slack", export, "ann")


def test_another_person_of_the_same_name_is_told(read, tmp_path):
    others = [{"id": "U3", "name": "ann.bee", "profile": {"display_name": "ann"}}]
    day = [said("U1", 1, "Tea."), said("U3", 2, "Milk."), said("U2", 3, "Both.")]
    laid(tmp_path, {"users.json": [*USERS, *others], "tea/2024-03-01.json": day})
    identities = read("slack", tmp_path, "ann").options.identities
    assert "'ann' is 2 accounts in it: ann.lee <U1> (1), ann.bee <U3> (1)." in next(identities.several())
    assert [str(sender) for sender in identities.commonest_others()] == ["bob (1)"]
    assert not list(read("slack", tmp_path, "U1").options.identities.several())


@pytest.mark.parametrize("ts", ["soon", "9999999999.000100", "nan"])
def test_a_time_that_cannot_be_is_named_as_slack_does(read, tmp_path, ts):
    day = [said("U1", 1, "Tea.") | {"ts": ts}, said("U1", 2, "Milk.")]
    reading = read("slack", laid(tmp_path, {"tea/2024-03-01.json": day}), "U1")
    assert (reading.texts, [error.field for error in reading.errors]) == (["Milk."], ["ts"])


def test_the_words_of_slack_about_a_file_are_not_ones_own(read, tmp_path):
    file = "<@U1|ann> uploaded a file: <https://acme.slack.com/files/U1/F1/pot.png|pot.png>"
    day = [
        said("U1", 1, file, subtype="file_share"),
        said("U1", 2, f"{file} and commented: Blue.", subtype="file_share"),
    ]
    reading = read("slack", laid(tmp_path, {"tea/2017-03-01.json": day}), "U1")
    assert (reading.texts, reading.reasons) == (["Blue."], ["no text"])


def test_people_whom_only_the_organisation_or_a_message_names(read, tmp_path):
    guest = {"name": "carl", "real_name": "Carl Cook", "display_name": "Carl"}
    day = [said("U1", 1, "Tea, <@U2>?"), said("U7", 2, "Milk.", user_profile=guest)]
    laid(tmp_path, {"org_users.json": USERS, "tea/2024-03-01.json": day})
    assert read("slack", tmp_path, "Ann Lee").texts == ["Tea, @bob?"]
    assert read("slack", tmp_path, "Carl Cook").texts == ["Milk."]


def section(*elements, kind="rich_text_section"):
    return {
        "type": kind,
        "elements": [{"type": "text", "text": each} if isinstance(each, str) else each for each in elements],
    }


ITEMS = {"type": "rich_text_list", "style": "ordered", "elements": [section("milk"), section("tea")]}
STAND_IN = "This content can't be displayed."


QUOTE = section("When?\nwhere?", kind="rich_text_quote")
PIECES = (
    {"type": "user", "user_id": "U2"},
    {"type": "text", "text": " "},
    {"type": "emoji", "name": "tea"},
    {"type": "link", "url": "http://e.org", "text": "menu"},
    {"type": "broadcast", "range": "here"},
)


def rich(*elements):
    return {"blocks": [{"type": "rich_text", "elements": elements}]}


@pytest.mark.parametrize(
    ("fields", "text", "request_"),
    [
        (rich(section("Buy:"), ITEMS), "Buy:\n1. milk\n2. tea", None),
        (rich(QUOTE, section("Now")), "Now", "When?\nwhere?"),
        (rich(section("a < b", kind="rich_text_preformatted")), "a < b", None),
        (rich(section(*PIECES)), "@bob :tea:menu@here", None),
        ({"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "Tea &amp; milk"}}]}, "Tea & milk", None),
        ({"blocks": [{"type": "markdown", "text": "Tea"}], "text": STAND_IN}, "Tea", None),
        ({"attachments": [{"text": "Tea at four", "fallback": "x"}]}, "Tea at four", None),
    ],
)
def test_words_that_stand_elsewhere_than_in_the_text(read, tmp_path, fields, text, request_):
    message = said("U1", 1709283700, fields.pop("text", ""), **fields)
    laid(tmp_path, {"users.json": USERS, "tea/2024-03-03.json": [message]})
    found = read("slack", tmp_path, "ann").documents
    assert [(each.text, each.request) for each in found] == [(text, request_)]
