from __future__ import annotations

import gzip
import resource
import zipfile

import pytest

from pearl.errors import InputError, StoreError
from service.importing.guessing import guess_importer
from service.importing.sources.mails.boxes import open_boxes
from tests.laid import laid, packed

MAIL = "From: {}\nSubject: Tea\nDate: Mon, 03 Mar 2025 10:12:00 +0100\nMessage-ID: <{}@example.org>\n{}\n{}\n"
OPENING = "From x Mon Mar  3 09:12:00 2025\n"
ANN, BOB = "Ann Lee <ann@example.org>", "Bob <bob@example.org>"


def mail(number: int, sender: str, text: str, answers: int | None = None) -> str:
    return MAIL.format(sender, number, f"In-Reply-To: <{answers}@example.org>\n" if answers else "", text)


INBOX = OPENING + mail(1, BOB, "Is there marmalade?")
SENT = OPENING + mail(2, ANN, "Two jars.", 1) + "\n" + OPENING + mail(3, ANN, "From one to three.")


def texts(reading):
    return sorted(reading.texts)


def test_a_gzipped_mbox(read, tmp_path):
    source = tmp_path / "Sent.mbox.gz"
    source.write_bytes(gzip.compress((INBOX + "\n" + SENT).encode()))
    reading = read("mbox", source, "ann@example.org")
    assert texts(reading) == ["From one to three.", "Two jars."]
    assert reading.documents[0].request == "Is there marmalade?"
    assert reading.found[0].where == f"{source}:9"


def test_a_folder_of_boxes_answers_one_from_another(read, tmp_path):
    files = {
        "Inbox": INBOX,
        "Inbox.msf": "// an index of Thunderbird's",
        "a.sbd/Sent": SENT,
        "old.gz": gzip.compress((OPENING + mail(4, ANN, "Long ago.")).encode()),
        ".hidden": OPENING + mail(5, ANN, "Hidden."),
    }
    laid(tmp_path, files)
    (tmp_path / "link").symlink_to(tmp_path / "Inbox")
    reading = read("mbox", tmp_path, "ann@example.org")
    assert texts(reading) == ["From one to three.", "Long ago.", "Two jars."]
    assert "Is there marmalade?" in [document.request for document in reading.documents]


def test_a_zip_file_as_takeout_sends_it(read, tmp_path):
    files = {
        "Takeout/Mail/All mail Including Spam and Trash.mbox": INBOX + "\n" + SENT,
        "Takeout/archive_browser.html": "<html></html>",
        "Takeout/Mail/one.eml": mail(6, ANN, "A single one."),
    }
    reading = read("mbox", packed(tmp_path / "takeout.zip", files, zipfile.ZIP_DEFLATED), "ann@example.org")
    assert texts(reading) == ["A single one.", "From one to three.", "Two jars."]


def test_a_maildir_with_its_flags(read, tmp_path):
    (tmp_path / "tmp").mkdir()
    files = {
        "cur/1.host:2,S": mail(1, BOB, "Is there marmalade?"),
        ".Sent/cur/2.host:2,RS": mail(2, ANN, "Two jars.\nFrom one.", 1),
        ".Sent/cur/6.host:2,Sdt": mail(6, ANN, "Three jars."),  # Dovecot's keywords
        ".Sent/cur/3.host:2,ST": mail(3, ANN, "Deleted."),
        "new/4.host:2,D": mail(4, ANN, "A draft."),
        "new/7.host;2,DS": mail(7, ANN, "A draft where a colon is not allowed."),
        ".Trash/cur/5.host:2,S": mail(5, ANN, "Deleted, too."),
    }
    reading = read("mbox", laid(tmp_path, files), "ann@example.org")
    assert reading.texts == ["Two jars.\nFrom one.", "Three jars."]
    assert reading.documents[0].request == "Is there marmalade?"
    assert sorted(reading.reasons) == ["draft", "draft", "in the trash", "in the trash", "not written by --me"]


def test_mh_puts_a_comma_before_what_it_deletes(read, tmp_path):
    laid(tmp_path, {"sent/1": mail(1, ANN, "Two jars."), "sent/,2": mail(2, ANN, "Deleted.")})
    reading = read("mbox", tmp_path, "ann@example.org")
    assert (reading.texts, reading.reasons) == (["Two jars."], ["in the trash"])


@pytest.mark.slow
def test_a_text_behind_large_photos_is_read(read, tmp_path):
    photo = "--B\nContent-Type: image/jpeg\nContent-Transfer-Encoding: base64\n\n" + f"{'/9j/' * 19}\n" * 60_000
    text = "--B\nContent-Type: text/plain\n\n{}\n".format
    head = mail(1, ANN, "").rstrip("\n") + "\nContent-Type: multipart/mixed; boundary=B\n\n"
    parts = text("Look:") + photo + text("The jars.") + photo * 3 + text("And the cups.")
    (tmp_path / "a.eml").write_text(f"{head}{parts}--B--\n")
    (tmp_path / "b.mbox").write_text(f"{OPENING}{head}{parts}--B--\n\n{SENT}")
    seen = "Look:\n\nThe jars.\n\nAnd the cups."
    assert texts(read("mbox", tmp_path, "ann@example.org")) == ["From one to three.", seen, seen, "Two jars."]


def test_a_mail_of_which_only_the_beginning_is_read_is_counted(read, tmp_path):
    source = tmp_path / "a.eml"
    part = "--B\nContent-Type: text/plain\n\n{}\n".format
    log = "--B\nContent-Type: text/plain; name=tea.log\n\n" + "poured a cup\n" * 400_000
    head = mail(1, ANN, "").rstrip("\n") + "\nContent-Type: multipart/mixed; boundary=B\n\n"
    source.write_text(head + part("Look:") + log + part("The jars.") + "--B--\n")
    reading = read("mbox", source, "ann@example.org")
    assert (reading.texts, reading.reasons) == (["Look:"], ["damaged part of a message"])
    assert reading.errors[0].error == "it is longer than 4 MB, of which the rest is not read."


def test_the_subfolders_of_kmail(read, tmp_path):
    for number, folder in enumerate(("sent-mail", ".sent-mail.directory/2024", ".git/hooks"), start=1):
        laid(tmp_path, {f"{folder}/cur/{number}.host:2,S": mail(number, ANN, f"Tea {number}.")})
    assert texts(read("mbox", tmp_path, "ann@example.org")) == ["Tea 1.", "Tea 2."]


@pytest.mark.parametrize(
    "name",
    [
        *("Trash", "Papierkorb.mbox", "Drafts.sbd/old", "Junk", "Deleted Items/mbox", "Drafts.mbox/mbox", "INBOX.Junk"),
        *(".INBOX.Trash/cur/1", ".Entw&APw-rfe/cur/1", "Entwu\u0308rfe/mbox", "Κάδος απορριμμάτων"),
        ".trash.directory/2024/cur/1",
    ],
)
def test_what_a_mail_program_keeps_for_itself(read, tmp_path, name):
    reading = read("mbox", laid(tmp_path, {f"Mail/{name}": SENT}), "ann@example.org")
    assert reading.texts == []
    assert len(reading.reasons) == 2


def test_folders_above_the_source_say_nothing_of_its_mails(read, tmp_path):
    folder = laid(tmp_path / "chat" / "bin" / "drafts", {"Sent": SENT})
    assert len(read("mbox", folder, "ann@example.org").texts) == 2
    assert len(read("mbox", folder / "Sent", "ann@example.org").texts) == 2


def test_a_single_mail(read, tmp_path):
    source = tmp_path / "tea.eml"
    source.write_text(mail(1, ANN, "Tea."))
    assert read("mbox", source, "ann@example.org").texts == ["Tea."]


def test_a_byte_order_mark_belongs_to_no_mail(read, tmp_path):
    (tmp_path / "Sent").write_text("\ufeff" + SENT)
    (tmp_path / "tea.eml").write_text("\ufeff" + mail(4, ANN, "Tea."))
    reading = read("mbox", tmp_path, "ann@example.org")
    assert (texts(reading), reading.left_out) == (["From one to three.", "Tea.", "Two jars."], [])


def test_mails_below_the_signatures_of_many_gateways(read, tmp_path):
    seals = "".join(f"ARC-Seal: i={number}; b=\n" + " 0123456789abcdef\n" * 150 for number in range(3))
    (tmp_path / "cur").mkdir()
    (tmp_path / "1.eml").write_text(seals + mail(1, BOB, "Is there marmalade?"))
    (tmp_path / "cur" / "2.host:2,S").write_text(seals + mail(2, ANN, "Two jars.", 1))
    reading = read("mbox", tmp_path, "ann@example.org")
    assert [(document.text, document.request) for document in reading.documents] == [
        ("Two jars.", "Is there marmalade?")
    ]


HEADER = "Message-ID: <{0}@x>\nDate: Mon, 03 Mar 2025 10:12:00 +0100\nFrom: Ann Lee <ann@example.org>\n"


@pytest.mark.parametrize(
    "separator",
    [
        *("From ", "From", "From -", "From ???@???", "From ann@example.org", "From - 2025-03-03T10:12:00Z"),
        *("From ann@example.org Lun 3 Mar 2025", 'From "Ann Lee" 03.03.25 10:12', "From - Mon Mar  3 10:12:00 2025"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_separators_in_the_forms_of_many_programs(read, tmp_path, separator, end):
    source = tmp_path / "Sent"
    mails = (f"{separator}\n{HEADER.format(number)}\nFrom {number} on.\n\n" for number in range(3))
    source.write_bytes("".join(mails).replace("\n", end).encode())
    assert read("mbox", source, "ann@example.org").texts == [f"From {number} on." for number in range(3)]
    assert guess_importer(source).kind == "mbox"


@pytest.mark.parametrize(
    "line",
    [
        "From bob@example.org Mon Mar  3 09:12:00 2025\nis what stands above his mail.",
        "From bob@example.org Mon Mar  3 09:12:00 2025\n\nis what stands above his mail.",
        "From ann\nSubject: her answer\nTo: you",
        "From 7 to 9\nNote: bring cups\nFrom: the kitchen",
        "From the list:\nFrom: the kitchen\nTo: the garden",
        "From ",
    ],
)
def test_a_line_without_a_header_below_it_separates_nothing(read, tmp_path, line):
    source = tmp_path / "Sent"
    source.write_text(f"{OPENING}{HEADER.format(1)}\nTea.\n\n{line}\n\n{SENT}")
    assert texts(read("mbox", source, "ann@example.org")) == [
        "From one to three.",
        f"Tea.\n\n{line}".rstrip(),
        "Two jars.",
    ]


def test_a_text_that_begins_with_from_is_no_mbox(read, tmp_path):
    (tmp_path / "notes").write_text("From here on: tea.\nNote: two jars.\n")
    (tmp_path / "Sent").write_text(SENT)
    assert len(read("mbox", tmp_path, "ann@example.org").texts) == 2


@pytest.mark.parametrize("mark", [">", ">>"])
def test_a_program_that_escapes_each_line_with_from(read, tmp_path, mark):
    source = tmp_path / "Sent.mbox"
    text = f"{mark}From here on.\n{mark}Fromage.\n{mark}From: Bob, tea."
    header = HEADER.replace("From:", f"{mark}From:")
    source.write_text(f"{OPENING}{header.format(1)}\n{text}\n\n{OPENING}{HEADER.format(2)}\nTwo.\n")
    assert read("mbox", source, "ann@example.org").texts == ["From here on.\nFromage.\nFrom: Bob, tea.", "Two."]


def test_a_file_named_as_a_mail_is_counted_whatever_it_holds(read, tmp_path):
    files = {"tea.eml": mail(1, ANN, "Tea."), "__MACOSX/._tea.eml": b"\0\5\x16\7" + b"Mac OS X"}
    source = packed(tmp_path / "mails.zip", {**files, "cut.eml": "the end of a mail\n"})
    reading = read("mbox", source, "ann@example.org")
    assert (reading.texts, reading.reasons) == (["Tea."], ["damaged message"])
    assert reading.errors[0].where == f"{source}/cut.eml:1"


@pytest.mark.parametrize("cut", [12, 40])
def test_a_damaged_gzip_file(read, tmp_path, cut):
    source = tmp_path / "a.mbox.gz"
    source.write_bytes(gzip.compress(SENT.encode())[:-cut])
    with pytest.raises(InputError, match="cannot be read"):
        read("mbox", source, "ann")


def test_a_damaged_file_among_others_is_counted(read, tmp_path):
    (tmp_path / "whole").write_text(SENT)
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(SENT.encode())[:-12])
    reading = read("mbox", tmp_path, "ann@example.org")
    assert (texts(reading), reading.reasons) == (["From one to three.", "Two jars."], ["unreadable file"])
    source = packed(tmp_path / "a.zip", {"Sent": SENT, "two.eml": mail(4, ANN, "Four jars.")})
    source.write_bytes(source.read_bytes().replace(b"Four jars", b"Five jars"))
    reading = read("mbox", source, "ann@example.org")
    assert (texts(reading), reading.reasons) == (["From one to three.", "Two jars."], ["unreadable file"])
    assert reading.errors[0].where == f"{source}/two.eml"


def test_the_lines_of_an_old_mac(read, tmp_path):
    source = tmp_path / "Out"
    source.write_bytes((INBOX + "\n" + SENT).replace("\n", "\r").encode())
    assert guess_importer(source).kind == "mbox"
    assert texts(read("mbox", source, "ann@example.org")) == ["From one to three.", "Two jars."]


def test_a_trap_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("pearl.text.history.files.TRAP_BYTES", 1_000_000)
    source = tmp_path / "a.mbox.gz"
    source.write_bytes(gzip.compress(OPENING.encode() + b"\0" * 10_000_000))
    with pytest.raises(InputError, match="more than 20 times its packed size"), open_boxes(source):
        pass


def test_one_limit_is_for_all_that_an_archive_holds(tmp_path, monkeypatch):
    monkeypatch.setattr("pearl.text.history.files.TRAP_BYTES", 1_000_000)
    box = OPENING.encode() + b"\0" * 900_000
    files = {f"{number}.mbox.gz": gzip.compress(box) for number in range(3)}
    source, folder = packed(tmp_path / "a.zip", files), laid(tmp_path / "boxes", files)
    for several in (source, folder):
        with pytest.raises(InputError, match="more than 20 times its packed size"), open_boxes(several):
            pass
    (folder / "1.mbox.gz").unlink()
    (folder / "2.mbox.gz").unlink()
    with open_boxes(folder) as boxes:
        assert len(boxes) == 1


def test_what_was_unpacked_is_gone_afterwards(read, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    source = tmp_path / "a.mbox.gz"
    source.write_bytes(gzip.compress(SENT.encode()))
    assert len(read("mbox", source, "ann@example.org").texts) == 2
    assert not list((tmp_path / "temporary").iterdir())


def test_a_full_temporary_folder_is_named_and_not_the_source(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = tmp_path / "a.mbox.gz"
    source.write_bytes(gzip.compress((SENT * 1000).encode()))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        message = rf"temporary folder {tmp_path} cannot be written .*TMPDIR"
        with pytest.raises(StoreError, match=message), open_boxes(source):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
