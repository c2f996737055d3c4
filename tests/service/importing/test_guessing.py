from __future__ import annotations

import gzip
import io
import json
import tarfile

import pytest

from pearl.errors import InputError
from service.importing.guessing import SIGNS, guess_importer
from service.importing.restore import EXPORT
from service.importing.sources.base import importer_names
from tests.laid import laid, zipped

MAIL = b"From ann@example.org Mon Mar  3 09:12:00 2025\nFrom: Ann <ann@example.org>\n\nTea.\n"
LINE = b'{"user_id": "ann", "id": "1", "timestamp": 1, "text": "Tea."}\n'
COMMENT = b'{"author": "ann", "body": "Tea.", "created_utc": 1, "id": "c1"}\n'
EXPORTED = b'{\n  "guild": {"id": "1"}, "channel": {"id": "2"}, "messages": []}'


def packed(**names: bytes) -> bytes:
    """A zip file; a name's ``__`` stands for ``/`` and its ``_`` for a dot."""
    return zipped({name.replace("__", "/").replace("_", "."): content for name, content in names.items()})


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("Sent", MAIL, "mbox"),
        ("Sent", b"From \r\nMessage-ID: <1@x>\r\nDate: today\r\nFrom: ann@example.org\r\n\r\nTea.\r\n", "mbox"),
        ("Sent.mbox.gz", gzip.compress(MAIL, mtime=0), "mbox"),
        ("a.eml", b"From: Ann <ann@example.org>\n\nTea.\n", "mbox"),
        ("history.txt", LINE, "jsonl"),
        ("history.gz", gzip.compress(LINE, mtime=0), "jsonl"),
        ("broken.jsonl", b"{\n", "jsonl"),
        ("comments.ndjson", COMMENT, "reddit"),
        ("comments.gz", gzip.compress(COMMENT, mtime=0), "reddit"),
        ("posts.json", b'{"author": "ann", "title": "Tea", "created_utc": 1}\n', "reddit"),
        ("tea.json", EXPORTED, "discord"),
        ("package.zip", packed(messages__c1__messages_json=b"[]"), "discord"),
        ("reddit.zip", packed(comments_csv=b"id"), "reddit"),
        ("slack.zip", packed(**{"tea__2024-03-01_json": b"[]"}), "slack"),
        ("takeout.zip", packed(Takeout__Mail__Sent_mbox=MAIL), "mbox"),
        ("tea.md", b"# Tea", "markdown"),
        ("notes.zip", packed(tea_md=b"# Tea"), "markdown"),
        ("repo.car", b"\x3a\xa2", "bluesky"),
        ("posts.zip", packed(a__app_bsky_feed_post__3k_json=b"{}"), "bluesky"),
        ("iCloud Notes.zip", packed(**{"iCloud Notes__Notes Details_csv": b"Title"}), "apple-notes"),
        ("Export-1.zip", packed(**{"ExportBlock-0f-Part-1_zip": b"PK"}), "notion"),
        ("Export-2.zip", packed(**{f"Export-0f__Tea {'0f' * 16}_md": b"# Tea"}), "notion"),
        ("tea.MDX", b"# Tea", "markdown"),
        ("tea.org", b"* Tea", "markdown"),
        ("tea.txt", b"Tea.", "markdown"),
        ("result.json", b'{"name": "Bob", "type": "personal_chat", "id": 1, "messages": []}', "telegram"),
        (
            "result.json",
            json.dumps({"about": "It. " * 200, "personal_information": {"user_id": 1}}).encode(),
            "telegram",
        ),
        ("export.zip", packed(DataExport__result_json=b"{}"), "telegram"),
        ("a.zip", packed(conversations_json=b'[{"title": "Tea", "mapping": {}}]', user_json=b"{}"), "chatgpt"),
        ("conversations.json", b'[{"uuid": "1", "name": "Tea", "chat_messages": []}]', "claude"),
        ("a.zip", packed(outbox_json=b"{}", actor_json=b"{}"), "mastodon"),
        ("a.zip", packed(data__tweets_js=b"", assets__a_js=b""), "x"),
        (
            "a.zip",
            packed(**{"Takeout__Mail__A_mbox": MAIL, "Takeout__Google Chat__Groups__DM a__messages_json": b"{}"}),
            "takeout",
        ),
        ("a.zip", packed(Comments_csv=b"Date", Shares_csv=b"Date"), "linkedin"),
        ("a.docx", packed(word__document_xml=b"<w/>"), "markdown"),
        ("a.odt", packed(**{"META-INF__manifest_xml": b"<m/>", "content_xml": b"<m/>"}), "markdown"),
        ("chat.txt", b"[01.03.24, 09:12:33] Bob: Tea?\n", "whatsapp"),
        ("chat.txt", b"3/1/24, 9:12 PM - Bob: Tea?\n", "whatsapp"),
        ("notes.zip", packed(vault__tea_md=b"# Tea", vault__cup_png=b""), "markdown"),
        ("chat.zip", packed(**{"WhatsApp Chat_txt": b"[01.03.24, 09:12:33] Bob: Tea?\n"}), "whatsapp"),
        ("tea.txt", "Tea.".encode("UTF-16"), "markdown"),
    ],
)
def test_files(tmp_path, name, content, kind):
    path = tmp_path / name
    path.write_bytes(content)
    assert guess_importer(path).kind == kind


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ({"tea/2024-03-01.json": b"[]", "users.json": b"[]"}, "slack"),
        ({"messages/c1/channel.json": b"{}", "messages/c1/messages.csv": b""}, "discord"),
        ({"tea.json": EXPORTED}, "discord"),
        ({"comments.csv": b"id", "posts.csv": b"id"}, "reddit"),
        ({"Takeout/Mail/Sent.mbox": MAIL}, "mbox"),
        ({"cur/1:2,S": b"", "new/2": b""}, "mbox"),
        ({"Local/Sent-2024": MAIL, "Local/Sent-2024.msf": b""}, "mbox"),
        ({"Inbox": MAIL}, "mbox"),
        ({"Eudora/Out.mbx": MAIL}, "mbox"),
        ({"Archive/Inbox": MAIL}, "mbox"),
        ({"Exported/Sent.mbox/mbox": MAIL, "Exported/Sent.mbox/table_of_contents": b"\0"}, "mbox"),
        ({"Mail/work/cur/1741.M5:2,S": b""}, "mbox"),
        ({"Mail/Sent_Mail/.mh_sequences": b"cur: 2", "Mail/Sent_Mail/2": b"Date: 1\nFROM: Ann\n\nTea."}, "mbox"),
        ({"1": b"Tea. From: the pot", "notes.txt": b"Tea."}, "markdown"),
        ({"tea/new/cups.txt": b"Tea.", "tea/pot.png": b""}, "markdown"),
        ({"tea/2024.mbox.gz": gzip.compress(MAIL, mtime=0)}, "mbox"),
        ({".git/HEAD": b"", "kettle.c": b"", "README.md": b"", "lid.c": b""}, "git"),
        ({"HEAD": b"", "objects/a": b"", "refs/b": b""}, "git"),
        ({".git/HEAD": b"", "a.md": b"", "b.md": b"", "cup.png": b"", "lid.js": b""}, "markdown"),
        ({".git/HEAD": b"", "_posts/2024-03-01-tea.md": b"", "a.rb": b"", "b.rb": b""}, "markdown"),
        ({".obsidian/app.json": b"{}", "Tea.canvas": b"", "Tea.md": b""}, "markdown"),
        ({"notes.txt": b"Tea.", "cup.png": b""}, "markdown"),
        ({"Why I left WhatsApp.txt": b"Tea.", "Tea.txt": b"Tea."}, "markdown"),
        ({"kettle.c": b"", "docs/tea.md": b""}, "markdown"),
    ],
)
def test_folders(tmp_path, names, kind):
    assert guess_importer(laid(tmp_path, names)).kind == kind


def tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("tea.md"))
    return data.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "looks", "advice"),
    [
        ("a.pdf", b"%PDF-1.7", "a PDF", "pdftotext"),
        ("a.ods", packed(**{"META-INF__manifest_xml": b"<m/>"}), "an EPUB or OpenDocument file", "pandoc"),
        ("a.pst", b"!BDN\0\0", "an Outlook archive", "readpst"),
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "an old Office document or Outlook message", "save it as"),
        ("a.enex", b'<?xml version="1.0"?>\n<!DOCTYPE en-export>\n<en-export>', "an Evernote export", "Markdown"),
        (
            "a.xml",
            b'<?xml version="1.0"?><rss xmlns:wp="https://wordpress.org/export/1.2/">',
            "a WordPress export",
            "Markdown",
        ),
        ("a.html", b"\n<!DOCTYPE html><p>Tea", "a web page", "pandoc"),
        ("a.zip", packed(posts_csv=b"post_id", posts__1_html=b"<p>"), "a Substack export", "pandoc"),
        ("a.zip", packed(Part1_zip=b"PK"), "a zip file of zip files", "unpack it"),
        ("1.emlx", b"12\nFrom: a@b\n\nTea", "Apple Mail's own store", "Export Mailbox"),
        ("chat.db", b"SQLite format 3\0", "an SQLite database", "history file"),
        ("a.tar.gz", gzip.compress(tar(), mtime=0), "a tar archive", "unpack"),
        ("a.zst", b"\x28\xb5\x2f\xfd", "a compressed archive", "unpack"),
        ("cup.png", b"\x89PNG\r\n", "a picture", "texts"),
        ("kettle", b"\x7fELF\0\0", "a program or another binary file", "texts"),
        ("empty.md", b"", "an empty file", "again"),
        ("rows.csv", b"id,text\n1,Tea\n", "a .csv file", "name its kind"),
        ("README", b"Tea.", "a file without a suffix", "name its kind"),
    ],
)
def test_what_no_importer_reads_says_what_it_looks_like_and_what_to_do(tmp_path, name, content, looks, advice):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        guess_importer(path)
    assert raised.value.message.startswith(f"{path}: looks like {looks}")
    assert advice in raised.value.message


def test_folders_that_no_importer_reads(tmp_path):
    with pytest.raises(InputError, match="looks like an empty folder"):
        guess_importer(tmp_path)
    with pytest.raises(InputError, match="looks like a folder without anything"):
        guess_importer(laid(tmp_path, {"kettle.c": b"", "lid.c": b""}))
    with pytest.raises(InputError, match="no such file"):
        guess_importer(tmp_path / "none")


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    outside = laid(tmp_path / "outside", {"tea.md": b"# Tea"})
    folder = laid(tmp_path / "folder", {"kettle.c": b""})
    (folder / "link").symlink_to(outside)
    with pytest.raises(InputError, match="a folder without anything"):
        guess_importer(folder)


def test_each_guess_is_an_importer_that_there_is():
    assert {sign.kind for sign in SIGNS if sign.kind} <= {*importer_names(), EXPORT}
