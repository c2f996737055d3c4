from __future__ import annotations

import pytest

from pearl.errors import InputError
from tests.laid import packed

HEAD = (
    "CONVERSATION ID,CONVERSATION TITLE,FROM,SENDER PROFILE URL,TO,RECIPIENT PROFILE URLS,DATE,SUBJECT,CONTENT,FOLDER,"
    "ATTACHMENTS,IS MESSAGE DRAFT\n"
)
ANN, BOB, CARL = (f"https://www.linkedin.com/in/{name}" for name in ("ann", "bob", "carl"))
MESSAGES = HEAD + "".join(
    f"{row}\n"
    for row in (
        f"c1,,Ann Lee,{ANN},Bob,{BOB},2024-03-01 09:14:00 UTC,,not yet sent,INBOX,,Yes",
        f'c1,,Ann Lee,{ANN},Bob,{BOB},2024-03-01 09:13:00 UTC,,"Yes, ""gladly""\nand soon.",INBOX,,No',
        f"c1,,Bob,{BOB},Ann Lee,{ANN},2024-03-01 09:12:00 UTC,,Tea?,INBOX,,No",
        f'c2,Tea club,Ann Lee,{ANN},"Bob,Carl","{BOB},{CARL}",2024-03-02 09:00:00 UTC,Cups,<p>Hi &amp; bye</p>,INBOX,,',
        f"c2,Tea club,Ann Lee,{ANN},Bob,{BOB},soon,,When?,INBOX,,No",
        f"c3,,Ann Lee,{ANN},Carl,{CARL},2024-03-03 09:00:00 UTC,,,INBOX,,No",
    )
)
SHARES = (
    "Date,ShareLink,ShareCommentary,SharedUrl,MediaUrl,Visibility\n"
    '2024-03-01 09:00:00,https://www.linkedin.com/feed/update/1,"First line""\n""second line",,,MEMBER_NETWORK\n'
    "2024-03-01 09:00:00,https://www.linkedin.com/feed/update/2,,https://example.org,,MEMBER_NETWORK\n"
)
COMMENTS = "Date,Link,Message\n2024-03-01 09:00:00,https://www.linkedin.com/feed/update/9,Well said\n"
PROFILE = "First Name,Last Name,Maiden Name\nAnn,Lee,\n"


def test_the_whole_of_it(read, tmp_path):
    files = {"messages.csv": MESSAGES, "Shares.csv": SHARES, "Comments.csv": COMMENTS, "Profile.csv": PROFILE}
    path = packed(tmp_path / "a.zip", {**files, "Connections.csv": "a\n"})
    reading = read("linkedin", path, voice="work")
    assert [(item.text, item.request, item.recipient, item.thread) for item in reading.documents] == [
        ("Well said", None, None, "https://www.linkedin.com/feed/update/9"),
        ("First line\nsecond line", None, None, None),
        ('Yes, "gladly"\nand soon.', "Tea?", "Bob", "linkedin:c1"),
        ("Hi & bye", "Cups", "Tea club", "linkedin:c2"),
    ]
    assert sorted(reading.reasons) == ["draft", "invalid timestamp", "no text", "no text", "not written by --me"]
    assert [error.where for error in reading.errors] == [f"{tmp_path}/a.zip/messages.csv:7"]


def test_messages_alone_need_me(read, tmp_path):
    path = packed(tmp_path / "a.zip", {"messages.csv": MESSAGES})
    with pytest.raises(InputError, match="--me"):
        read("linkedin", path)
    assert len(read("linkedin", path, ANN).texts) == 2
    with pytest.raises(InputError, match=r"no messages\.csv"):
        read("linkedin", packed(tmp_path / "b.zip", {"Skills.csv": "Name\n"}))
