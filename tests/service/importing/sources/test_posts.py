"""Archives of one person's posts: Mastodon's and X's."""

from __future__ import annotations

import json

import pytest

from pearl.errors import InputError
from service.importing.sources.base import Options, load_importer
from tests.laid import laid, packed

BASE = "https://example.social/users/ann/statuses/"
BOB = '<p><span class="h-card"><a href="https://e.org/@bob" class="u-url mention">@<span>bob</span></a></span> '
LINK = (
    '<a href="https://example.org/very/long" rel="nofollow"><span class="invisible">https://</span>'
    '<span class="ellipsis">example.org/very</span><span class="invisible">/long</span></a>'
)


def created(number, content, answers=None, **fields):
    note = {
        "id": f"{BASE}{number}",
        "type": "Note",
        "summary": None,
        "inReplyTo": answers,
        "published": f"2024-03-01T09:00:0{number}Z",
        "attributedTo": "https://example.social/users/ann",
        "to": ["https://www.w3.org/ns/activitystreams#Public"],
        "cc": [],
        "sensitive": False,
        "content": content,
        "contentMap": {"en": content},
        "attachment": [],
        "tag": [],
        **fields,
    }
    published = note["published"]
    return {"id": f"{note['id']}/activity", "type": "Create", "actor": "ann", "published": published, "object": note}


OUTBOX = {
    "@context": "https://www.w3.org/ns/activitystreams",
    "id": "outbox.json",
    "type": "OrderedCollection",
    "totalItems": 9,
    "orderedItems": [
        created(1, f"<p>Tea &amp; {LINK}</p><p>Two<br>lines @carl</p>", summary="On tea"),
        {"id": "x/activity", "type": "Announce", "published": "2024-03-01T09:00:02Z", "object": "https://e.org/1"},
        created(3, "<p>More of it</p>", f"{BASE}1"),
        created(4, "<p>And more</p>", f"{BASE}3"),
        created(
            5,
            f"{BOB}Yes!</p>",
            "https://e.org/users/bob/statuses/9",
            tag=[{"type": "Mention", "href": "https://e.org/users/bob", "name": "@bob@e.org"}],
            conversation="tag:e.org,2024:objectId=9:objectType=Conversation",
        ),
        created(6, "", attachment=[{"type": "Document", "mediaType": "image/png", "url": "/a.png"}]),
        created(7, "<p>When?</p>", published="soon"),
        {"type": "Create", "object": {"type": "Note", "id": 5}},
        "no activity",
    ],
}


def tweet(id_, text, created="Fri Mar 01 09:00:00 +0000 2024", **fields):
    entities = fields.pop("entities", {"hashtags": [], "symbols": [], "user_mentions": [], "urls": []})
    one = {"id_str": id_, "id": id_, "full_text": text, "created_at": created, "retweeted": False, "lang": "en"}
    return {"tweet": {**one, "entities": entities, "source": "<a>X</a>", "favorite_count": "0", **fields}}


LONG = "Tea is drawn for three minutes, and " * 9
TWEETS = [
    tweet("5", f"{LONG[:270]}… https://t.co/zz", "Fri Mar 01 10:00:00 +0000 2024"),
    tweet(
        "4",
        "@bob @carl Yes &amp; no https://t.co/a https://t.co/p",
        in_reply_to_status_id_str="77",
        in_reply_to_user_id_str="2",
        in_reply_to_screen_name="bob",
        entities={
            "urls": [{"url": "https://t.co/a", "expanded_url": "https://example.org/tea"}],
            "media": [{"url": "https://t.co/p", "expanded_url": "https://x.com/ann/status/4/photo/1"}],
        },
    ),
    tweet(
        "3", "@ann And more", in_reply_to_status_id_str="2", in_reply_to_user_id_str="1", in_reply_to_screen_name="ann"
    ),
    tweet("2", "More", in_reply_to_status_id_str="1", in_reply_to_user_id_str="1", in_reply_to_screen_name="ann"),
    tweet("1", "@bob is right: tea"),
    tweet("6", "RT @bob: Milk"),
    tweet("7", "When?", "soon"),
    {"tweet": {"full_text": "No id"}},
    3,
]


def script(name, values):
    return f"window.YTD.{name}.part0 = {json.dumps(values, indent=2)}"


def test_mastodon(read, tmp_path):
    path = packed(tmp_path / "a.zip", {"outbox.json": OUTBOX, "actor.json": "{}", "likes.json": "{}"})
    reading = read("mastodon", path, voice="social")
    assert [
        (document.text, document.request, document.recipient, document.thread) for document in reading.documents
    ] == [
        ("Tea & https://example.org/very/long\n\nTwo\nlines @carl", "On tea", None, f"mastodon:{BASE}1"),
        ("More of it", "Tea & https://example.org/very/long\n\nTwo\nlines @carl", None, f"mastodon:{BASE}1"),
        ("And more", "More of it", None, f"mastodon:{BASE}1"),
        ("Yes!", None, "@bob@e.org", "mastodon:tag:e.org,2024:objectId=9:objectType=Conversation"),
    ]
    assert reading.documents[0].id == f"mastodon:{BASE}1"
    assert sorted(reading.reasons) == sorted(
        ["shared from others", "no text", "invalid timestamp", "missing field", "wrong type"]
    )
    assert [error.where.rpartition(":")[2] for error in reading.errors] == ["7", "8", "9"]


def test_x(read, tmp_path):
    note = {"noteTweet": {"createdAt": "2024-03-01T10:00:00.000Z", "core": {"text": LONG}}}
    files = {
        "data/tweets.js": script("tweets", TWEETS),
        "data/account.js": ACCOUNT,
        "data/note-tweet.js": script("note_tweet", [note]),
        "data/like.js": script("like", [{"like": {"tweetId": "9", "fullText": "Not mine"}}]),
    }
    path = packed(tmp_path / "a.zip", files)
    reading = read("x", path, voice="social")
    assert [
        (document.text, document.request, document.recipient, document.thread) for document in reading.documents
    ] == [
        (LONG.strip(), None, None, None),
        ("Yes & no https://example.org/tea", None, "@bob", "x:77"),
        ("And more", "More", None, "x:1"),
        ("More", "@bob is right: tea", None, "x:1"),
        ("@bob is right: tea", None, None, "x:1"),
    ]
    assert (reading.documents[0].id, reading.documents[4].timestamp) == ("x:5", 1_709_283_600)
    assert sorted(reading.reasons) == ["invalid timestamp", "missing field", "shared from others", "wrong type"]


def said(id_, sender, text, day, **fields):
    one = {"id": id_, "senderId": sender, "text": text, "createdAt": f"2024-03-0{day}T09:00:00.000Z", "reactions": []}
    return {"messageCreate": {"recipientId": "2", "urls": [], "mediaUrls": [], "editHistory": [], **one, **fields}}


LINKS = [
    {"url": "https://t.co/a", "expanded": "https://example.org/tea", "display": "example.org/tea"},
    {"url": "https://t.co/p", "expanded": "https://twitter.com/messages/media/4", "display": "pic.twitter.com/p"},
]
DIRECT = [
    {
        "dmConversation": {
            "conversationId": "1-2",
            "messages": [  # the newest first
                said("14", "1", "Later then", 5),
                said("13", "1", "Yes &amp; no https://t.co/a https://t.co/p", 1, urls=LINKS),
                said("12", "2", "Or milk?", 1),
                said("11", "2", "Tea?", 1),
                said("10", "1", "", 1),
                {"messageCreate": {"id": "9"}},
                3,
            ],
        }
    },
    {"dmConversation": {"conversationId": "1-5", "messages": [said("20", "1", "Hello five", 2)]}},
    "no conversation",
]
GROUP = [
    {
        "dmConversation": {
            "conversationId": "777",
            "messages": [said("31", "1", "Hello all", 3), said("30", "2", "Hi", 3), {"participantsLeave": {}}],
        }
    }
]
ACCOUNT = script("account", [{"account": {"username": "ann", "accountId": "1"}}])
MENTIONS = {"user_mentions": [{"id_str": "2", "screen_name": "bob"}, {"id_str": 3}, 4]}


@pytest.mark.parametrize(("me", "account"), [((), ACCOUNT), (("1",), "alert(1)" * 50), (("@ann", "1"), ACCOUNT)])
def test_direct_messages_of_x(read, tmp_path, me, account):
    files = {
        "data/tweets.js": script("tweets", [tweet("1", "@bob is right: tea", entities=MENTIONS)]),
        "data/account.js": account,
        "data/direct-messages.js": script("direct_messages", DIRECT),
        "data/direct-messages-group.js": script("direct_messages_group", GROUP),
        "data/direct-message-headers.js": script("direct_message_headers", [{"dmConversation": {}}]),
    }
    reading = read("x", packed(tmp_path / "a.zip", files), *me)
    assert [
        (document.id, document.text, document.request, document.recipient, document.thread, document.voice)
        for document in reading.documents[1:]
    ] == [
        ("x:dm:31", "Hello all", None, "x:777", "x:dm:777", "chat"),
        ("x:dm:13", "Yes & no https://example.org/tea", "Tea?\nOr milk?", "@bob", "x:dm:1-2", "chat"),
        ("x:dm:14", "Later then", None, "@bob", "x:dm:1-2", "chat"),
        ("x:dm:20", "Hello five", None, "x:5", "x:dm:1-5", "chat"),
    ]
    assert (reading.documents[0].voice, reading.documents[2].timestamp) == (None, 1_709_283_600)
    mine = ["bot or system message", "no text", *["not written by --me"] * 3]
    assert sorted(reading.reasons) == sorted([*mine, "missing field", "wrong type", "wrong type"])


def test_direct_messages_need_to_know_whose_they_are(read, tmp_path):
    (tmp_path / "tweets.js").write_text(script("tweets", TWEETS[4:5]))
    (tmp_path / "direct-messages.js").write_text("window.YTD.direct_messages.part0 = []")
    options = Options(user="ann")
    *_, error = load_importer("x").read(tmp_path, options)
    assert "give your id with --me" in str(error.error)


def test_tweets_in_parts_of_a_folder(read, tmp_path):
    files = {"tweets": script("tweets", TWEETS[2:3]), "tweets-part1": script("tweets", TWEETS[3:5])}
    files["tweets-part2"] = "alert('tea')" * 50
    reading = read("x", laid(tmp_path, {f"data/{name}.js": content for name, content in files.items()}))
    assert sorted(reading.texts) == ["@bob is right: tea", "And more", "More"]
    assert [error.where for error in reading.errors] == [f"{tmp_path}/data/tweets-part2.js"]


@pytest.mark.parametrize(("kind", "missing"), [("mastodon", "no outbox.json"), ("x", "no tweets.js")])
def test_what_is_no_archive(read, tmp_path, kind, missing):
    with pytest.raises(InputError, match=missing):
        read(kind, packed(tmp_path / "a.zip", {"tea.md": "Tea"}))


def outbox(tmp_path, *activities):
    return packed(tmp_path / "a.zip", {"outbox.json": {"orderedItems": activities}})


@pytest.mark.parametrize(
    ("content", "fields", "text"),
    [
        (f'<p class="quote-inline">RE: {LINK}</p><p>Right</p>', {}, "Right"),
        (f'<p>So is Eve<span class="quote-inline"><br/><br/><bdi>RT:</bdi> {LINK}</span></p>', {}, "So is Eve"),
        (f"<p>So it is</p><p>QT: {LINK}</p>", {"quoteUrl": "https://e.org/1"}, "So it is"),
        (f"<p>RE: {LINK}</p>", {}, "RE: https://example.org/very/long"),
    ],
)
def test_what_a_server_sets_to_a_quoting_post_goes(read, tmp_path, content, fields, text):
    assert read("mastodon", outbox(tmp_path, created(1, content, **fields))).texts == [text]


@pytest.mark.parametrize(
    ("to", "cc", "voice"),
    [
        (["as:Public"], [], "social"),
        (["https://e.org/users/ann/followers"], ["https://www.w3.org/ns/activitystreams#Public"], "social"),
        (["https://e.org/users/ann/followers"], ["https://e.org/users/bob"], "social"),
        (["https://e.org/users/bob"], [], "chat"),
        ("https://e.org/users/bob", None, "chat"),
    ],
)
def test_a_post_to_somebody_alone_is_a_chat(read, tmp_path, to, cc, voice):
    reading = read("mastodon", outbox(tmp_path, created(1, "<p>Tea?</p>", to=to, cc=cc)), voice="social")
    assert [document.voice for document in reading.documents] == [voice]


def test_of_an_edited_post_the_last_version_is_the_text(read, tmp_path):
    updated = {**created(1, "<p>Green tea</p>", updated="2024-03-02T09:00:00Z"), "type": "Update"}
    reading = read("mastodon", outbox(tmp_path, updated, created(1, "<p>Gren tea</p>"), created(2, "<p>Milk</p>")))
    assert (reading.texts, reading.reasons) == (["Green tea", "Milk"], ["replaced by an edited version"])
    first, ids = {"editTweetIds": ["1", "3"]}, [("3", "Green tea"), ("1", "Gren tea"), ("2", "Milk")]
    tweets = [
        tweet(id_, text, edit_info={"edit": {"editControlInitial": first}} if id_ != "2" else {}) for id_, text in ids
    ]
    reading = read("x", packed(tmp_path / "x.zip", {"data/tweets.js": script("tweets", tweets)}))
    assert (reading.texts, reading.reasons) == (["Green tea", "Milk"], ["replaced by an edited version"])
