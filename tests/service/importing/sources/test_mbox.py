from __future__ import annotations

import mailbox
from email.message import EmailMessage

import pytest

from pearl.errors import InputError
from service.importing.sources.mbox import RepeatedEndings

ANN, BOB = "Ann Lee <ann@example.org>", "Bob <bob@example.org>"


def mail(id_: str | None, sender: str, text: str, subject="Tea", answers: str | None = None, html=None) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, "someone@example.org", subject
    message["Date"] = "Mon, 03 Mar 2025 10:12:00 +0100"
    if id_:
        message["Message-ID"] = f"<{id_}@example.org>"
    if answers:
        message["In-Reply-To"] = f"<{answers}@example.org>"
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    return message


def box(path, *messages):
    made = mailbox.mbox(path)
    for message in messages:
        made.add(message)
    made.close()
    return path


def test_only_my_own_words_of_my_own_mails(read, tmp_path):
    source = box(
        tmp_path / "a.mbox",
        mail("1", BOB, "Tea?"),
        mail("2", ANN, "Yes.\n\nOn Monday Bob wrote:\n> Tea?\n\n-- \nAnn Lee, Head of Tea\n", answers="1"),
    )
    reading = read("mbox", source, "ANN@example.org", voice="email")
    (document,) = reading.documents
    assert (document.id, document.text, document.request) == ("2@example.org", "Yes.", "Tea?")
    assert (document.timestamp, document.voice) == (1740993120.0, "email")
    where, _, line = reading.found[0].where.rpartition(":")
    assert where == str(source)
    assert source.read_text().split("\n")[int(line) - 1].startswith("From ")
    assert reading.reasons == ["not written by --me"]


@pytest.mark.parametrize(
    ("fields", "recipient", "thread"),
    [
        ({}, "someone@example.org", "2@example.org"),
        ({"To": "Bob <BOB@example.org>", "In-Reply-To": "<1@x>"}, "bob@example.org", "1@x"),
        ({"References": "<0@x> <1@x>", "In-Reply-To": "<1@x>"}, "someone@example.org", "0@x"),
        ({"References": f"<0@x> <{'a' * 5_000}@x> <1@x>"}, "someone@example.org", "0@x"),
        ({"To": 'Ann <ann@example.org>, "Lee, Bob" <bob@example.org>'}, "bob@example.org", "2@example.org"),
        ({"To": '"a@x.org" <b@y.org>'}, "b@y.org", "2@example.org"),
        ({"To": "a@x.org <b@y.org>"}, "b@y.org", "2@example.org"),
        ({"To": "undisclosed-recipients:;", "Cc": "tea@example.org (Tea)"}, "tea@example.org", "2@example.org"),
        ({"To": "undisclosed-recipients:;"}, None, "2@example.org"),
        ({"To": f"{'n' * 250}@example.org"}, None, "2@example.org"),
    ],
)
def test_a_mail_says_whom_it_is_for_and_what_began_its_thread(read, tmp_path, fields, recipient, thread):
    header = {"From": ANN, "To": "someone@example.org", "Message-ID": "<2@example.org>", **fields}
    lines = [f"{name}: {value}" for name, value in header.items()]
    source = tmp_path / "a.eml"
    source.write_text("\n".join([*lines, "Date: Mon, 03 Mar 2025 10:12:00 +0100", "", "Yes, at four.", ""]))
    (document,) = read("mbox", source, "ann@example.org").documents
    assert (document.recipient, document.thread) == (recipient, thread)


def test_the_answered_mail_may_come_later_and_is_stripped_itself(read, tmp_path):
    source = box(
        tmp_path / "a.mbox",
        mail("2", ANN, "Yes.", answers="1"),
        mail("1", BOB, "Tea?\n\n> older\n\n-- \nBob", html="<p>not this</p>"),
    )
    assert [document.request for document in read("mbox", source, "ann@example.org").documents] == ["Tea?"]


def test_without_the_answered_mail_the_quote_is_the_request_else_the_subject(read, tmp_path):
    source = box(
        tmp_path / "a.mbox",
        mail("1", ANN, "Yes.\n\nOn Monday Bob wrote:\n> Tea?", answers="gone"),
        mail("2", ANN, "I made tea.", subject="Re: Fwd: =?utf-8?q?Th=C3=A9?="),
        mail("3", ANN, "And cake.", subject=""),
    )
    requests = [document.request for document in read("mbox", source, "ann@example.org").documents]
    assert requests == ["Tea?", "Thé", None]


def test_a_line_that_starts_with_from_is_not_a_new_mail(read, tmp_path):
    source = box(tmp_path / "a.mbox", mail("1", ANN, "From four on.\n\nFrom there we walk.\n"))
    assert read("mbox", source, "ann@example.org").texts == ["From four on.\n\nFrom there we walk."]
    unescaped = source.read_bytes().replace(b">From", b"From")
    source.write_bytes(unescaped)
    assert read("mbox", source, "ann@example.org").texts == ["From four on.\n\nFrom there we walk."]


def test_gmail_and_thunderbird_boundaries_and_line_ends(read, tmp_path):
    headers = "From: ann@example.org\r\nDate: Mon, 03 Mar 2025 10:12:00 +0100\r\nMessage-ID: <{}>\r\n\r\n"
    source = tmp_path / "a.mbox"
    source.write_bytes(
        (
            "From 1577836800000@xxx Thu Jan 02 03:04:05 +0000 2020\r\n" + headers.format("1@x") + "One.\r\n\r\n"
            "From - Tue Apr 27 19:42:22 2010\r\n" + headers.format("2@x") + "Two.\r\n"
        ).encode()
    )
    reading = read("mbox", source, "ann@example.org")
    assert [(document.id, document.text) for document in reading.documents] == [("1@x", "One."), ("2@x", "Two.")]


def test_a_mail_without_message_id_has_the_same_id_each_time(read, tmp_path):
    source = box(tmp_path / "a.mbox", mail(None, ANN, "Tea."), mail(None, ANN, "Milk."))
    first, second = (read("mbox", source, "ann@example.org").documents for _ in range(2))
    assert [document.id for document in first] == [document.id for document in second]
    assert len({document.id for document in first}) == 2


def test_damaged_mails_are_left_out_with_a_reason(read, tmp_path):
    no_sender, no_date, no_text = mail("1", ANN, "a"), mail("2", ANN, "b"), mail("3", ANN, "> only a quote")
    del no_sender["From"]
    no_date.replace_header("Date", "whenever")
    source = box(tmp_path / "a.mbox", no_sender, no_date, no_text, mail("4", ANN, "fine"))
    lines = source.read_bytes().split(b"\n")
    start = [number for number, line in enumerate(lines) if line.startswith(b"From ")][1]
    lines[start] = b"From ann Mon Mar  99 10:12:00 20255"  # nor does the boundary know when
    source.write_bytes(b"\n".join(lines))
    reading = read("mbox", source, "ann@example.org")
    assert reading.texts == ["fine"]
    assert reading.reasons == ["damaged message", "damaged message", "no text"]
    assert [error.field for error in reading.errors] == ["From", "Date"]


def test_garbage_between_mails_spoils_only_its_own_mail(read, tmp_path):
    source = box(tmp_path / "a.mbox", mail("1", ANN, "One."), mail("2", ANN, "Two."))
    data = source.read_bytes()
    cut = data.rindex(b"From: ")
    source.write_bytes(data[:cut] + bytes(range(256)) + b"\n\n" + data[cut:])
    assert read("mbox", source, "ann@example.org").texts == ["One."]


def test_the_date_of_the_boundary_stands_in(read, tmp_path):
    message = mail("1", ANN, "Tea.")
    del message["Date"]
    source = box(tmp_path / "a.mbox", message)
    lines = source.read_bytes().split(b"\n")
    lines[0] = b"From ann@example.org Mon Mar  3 09:12:00 2025"
    source.write_bytes(b"\n".join(lines))
    assert read("mbox", source, "ann lee").documents[0].timestamp == 1740993120.0


@pytest.mark.slow
def test_a_large_attachment_is_not_read(read, tmp_path):
    message = mail("1", ANN, "See the picture.")
    message.add_attachment(b"\0" * 6_000_000, maintype="image", subtype="png", filename="tea.png")
    source = box(tmp_path / "a.mbox", message, mail("2", ANN, "Nice?"))
    assert read("mbox", source, "ann@example.org").texts == ["See the picture.", "Nice?"]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "is empty"), (b"Dear Bob,\n", "is not an mbox file"), (b"\x00\x01\x02", "is not an mbox file")],
)
def test_what_is_not_an_mbox(read, tmp_path, content, message):
    source = tmp_path / "a.mbox"
    source.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read("mbox", source, "ann")


def test_of_hostile_mails_each_is_left_out_and_the_rest_goes_on(read, tmp_path):
    deep = "".join(f'Content-Type: multipart/mixed; boundary="B{level}"\n\n--B{level}\n' for level in range(1_500))
    date = "Date: Mon, 03 Mar 2025 10:12:00 +0100\n"
    mails = [
        f"From: {'(' * 1_000}\n{date}\nTea.\n",
        f"From: ann@example.org\n{date}{deep}\nTea.\n",
        f"From: ann@example.org\n{date}Content-Type: text/html\n\n&#{'9' * 5_000};{'<a ' * 9_000}\n",
        f"From: ann@example.org\n{date}\nTea at four.\n",
    ]
    source = tmp_path / "a.mbox"
    source.write_text("".join(f"From x Mon Mar  3 09:12:00 2025\n{each}\n" for each in mails))
    reading = read("mbox", source, "ann@example.org")
    assert reading.texts == ["Tea at four."]
    assert reading.reasons == ["damaged message", "damaged message", "no text"]
    assert [error.where.rpartition(":")[2] for error in reading.errors] == ["1", "7"]


def test_a_damaged_part_is_counted_and_the_others_are_read(read, tmp_path):
    source = tmp_path / "a.eml"
    source.write_text(
        "From: ann@example.org\nDate: Mon, 03 Mar 2025 10:12:00 +0100\nContent-Type: multipart/mixed; boundary=B\n\n"
        "--B\n\nTea at four.\n--B\nContent-Transfer-Encoding: base64\n\nVGVhP\n--B--\n"
    )
    reading = read("mbox", source, "ann@example.org")
    assert (reading.texts, reading.reasons) == (["Tea at four."], ["damaged part of a message"])
    assert reading.errors[0].error == "a part of it is in damaged base64."


@pytest.mark.parametrize("header", ["", "From: ann@example.org\n", "Date: Mon, 03 Mar 2025 10:12:00 +0100\n"])
def test_a_draft_is_one_without_a_sender_or_a_date(read, tmp_path, header):
    source = tmp_path / "a.eml"
    source.write_text(f"{header}To: bob@example.org\nX-Unsent: 1\n\nDear Bob,\n")
    reading = read("mbox", source, "ann@example.org")
    assert (reading.texts, reading.reasons, reading.errors) == ([], ["draft"], [])


def test_other_addresses_of_the_same_person_are_told(read, tmp_path):
    sent = mail("4", "A. <ann@home.example>", "Four.")
    sent["X-Gmail-Labels"] = "Sent,Opened"
    source = box(
        tmp_path / "a.mbox",
        mail("1", "Ann Lee <ann@work.example>", "One."),
        mail("2", "Ann Lee <ann@work.example>", "Two."),
        mail("3", ANN, "Three."),
        sent,
        mail("5", BOB, "Five."),
        mail("6", "Ann Lee <notifications@forge.example>", "Six."),
    )
    reading = read("mbox", source, "ann@example.org")
    assert reading.texts == ["Three."]
    assert reading.remarks == [
        "Also seen, perhaps you: ann@work.example (2), ann@home.example (1); if so, import again with --me for each."
    ]
    assert read("mbox", source, "ann@example.org", "ann@work.example", "ann@home.example").remarks == []


@pytest.mark.parametrize("folder", [".INBOX.Sent/cur", "Sent.mbox", ".&BB4EQgQ,BEAEMAQyBDsENQQ9BD0ESwQ1-/cur"])
def test_whoever_wrote_what_was_sent_may_be_the_same_person(read, tmp_path, folder):
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "1").write_bytes(mail("1", "A. <ann@home.example>", "One.").as_bytes())
    (tmp_path / "2.eml").write_bytes(mail("2", ANN, "Two.").as_bytes())
    assert read("mbox", tmp_path, "ann@example.org").remarks == [
        "Also seen, perhaps you: ann@home.example (1); if so, import again with --me for each."
    ]


def test_what_ends_three_mails_was_not_typed(read, tmp_path):
    slogan = "Kettle and Daughters, purveyors of leaves and pots since 1911, wish you a pleasant cup."
    thanks = "Thank you very much, and see you all at the next party on Monday at four."
    source = box(
        tmp_path / "a.mbox",
        *(mail(str(number), ANN, f"Number {number}.\n\nBest,\nAnn\n\n{slogan}") for number in range(3)),
        mail("3", ANN, f"{thanks}\n"),
        mail("4", ANN, f"Five.\n\n{thanks}\n"),
    )
    assert read("mbox", source, "ann@example.org").texts == [
        *(f"Number {number}.\n\nBest,\nAnn" for number in range(3)),
        thanks,
        f"Five.\n\n{thanks}",
    ]


def test_the_request_is_without_what_others_programs_added(read, tmp_path):
    warning = "CAUTION: This email originated from outside of the organization.\n\n"
    armoured = f"{warning}-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA1\n\nTea?\n-----BEGIN PGP SIGNATURE-----\nx\n"
    source = box(tmp_path / "a.mbox", mail("1", BOB, armoured), mail("2", ANN, "Yes.", answers="1"))
    assert read("mbox", source, "ann@example.org").documents[0].request == "Tea?"


def test_the_request_of_a_help_desk_stands_below_its_line(read, tmp_path):
    ticket = "##- Please type your reply above this line -##\n\nBob (Desk)\n\nIs the tea hot?"
    source = box(tmp_path / "a.mbox", mail("1", BOB, ticket), mail("2", ANN, "Yes.", answers="1"))
    assert read("mbox", source, "ann@example.org").documents[0].request == "Bob (Desk)\n\nIs the tea hot?"


def test_somebody_elses_archive(read, tmp_path):
    source = box(tmp_path / "a.mbox", mail("1", BOB, "Tea?"), mail("2", BOB, "Milk?"))
    reading = read("mbox", source, "ann@example.org")
    assert (reading.texts, reading.remarks) == ([], [])
    assert reading.reasons == ["not written by --me"] * 2
    assert reading.options.identities.unmatched == ("ann@example.org",)
    assert [str(each) for each in reading.options.identities.commonest_others()] == ["Bob <bob@example.org> (2)"]


def test_a_file_that_ends_within_a_mail_waits_for_the_rest_of_it(read, tmp_path):
    source = box(tmp_path / "a.mbox", *(mail(id_, ANN, "Two jars. " * 100, html="<p>Two</p>") for id_ in "ab"))
    whole = source.read_bytes()
    for missing in (10, 500, 1_000):
        source.write_bytes(whole[:-missing])
        reading = read("mbox", source, "ann@example.org")
        assert [document.id for document in reading.documents] == ["a@example.org"]
        (error,) = reading.errors
        assert (
            error.error
            == "The file ends within this mail; export it again, or wait until the mail program has written it."
        )
    source.write_bytes(whole)
    assert len(read("mbox", source, "ann@example.org").documents) == 2


@pytest.mark.parametrize(
    ("header", "texts"),
    [
        ("Reply-To: Ann Lee <ann@example.org>\nList-Id: <tea.example.org>", ["Two jars."]),
        ("X-Original-From: Ann Lee <ann@example.org>\nReply-To: tea@example.org", ["Two jars."]),
        ("Reply-To: Bob <bob@example.org>\nList-Id: <tea.example.org>", []),
        ("Reply-To: Ann Lee <ann@example.org>", []),  # a service that writes in her name
    ],
)
def test_a_list_that_sends_mails_in_its_own_name(read, tmp_path, header, texts):
    source = tmp_path / "a.eml"
    source.write_text(
        f"From: Ann Lee via Tea <tea@example.org>\n{header}\nDate: Mon, 03 Mar 2025 10:12:00 +0100\n\nTwo jars.\n"
    )
    assert read("mbox", source, "ann@example.org").texts == texts


def test_mails_of_other_kinds_in_a_folder_are_counted(read, tmp_path):
    mail = "From: Ann <ann@example.org>\nDate: Mon, 03 Mar 2025 10:12:00 +0100\n\nTwo jars.\n"
    (tmp_path / "a.eml").write_text(mail)
    (tmp_path / "b.MSG").write_bytes(b"\xd0\xcf\x11\xe0")
    found = read("mbox", tmp_path, "ann@example.org")
    assert found.texts == ["Two jars."]
    assert found.remarks == ["Not read: 1 .msg; save them as .eml files (Outlook archives: 'readpst -r FILE')."]


SLOGAN = "Kettle and Daughters, purveyors of leaves and pots since 1911, wish you a pleasant cup."


def noted(*texts: str) -> RepeatedEndings:
    endings = RepeatedEndings()
    for text in texts:
        endings.note(text)
    return endings


def test_what_ends_three_texts_is_cut():
    endings = noted(*(f"Number {number}.\n\n{SLOGAN}" for number in range(3)))
    assert endings.cut(f"Another.\n\n{SLOGAN.replace(' ', '  ', 1)}") == "Another."
    assert endings.cut(f"{SLOGAN}\n\nAnother.") == f"{SLOGAN}\n\nAnother."
    assert endings.cut(SLOGAN) == ""


def test_what_ends_two_is_not():
    assert noted(f"One.\n\n{SLOGAN}", f"Two.\n\n{SLOGAN}").cut(f"One.\n\n{SLOGAN}") == f"One.\n\n{SLOGAN}"


def test_the_same_mail_in_several_folders_is_one():
    text = f"Dear all,\n\nthe party is on Monday.\n\n{SLOGAN}"
    assert noted(text, text, text, text).cut(text) == text


def test_short_paragraphs_are_how_a_person_signs_off():
    texts = [f"Number {number}.\n\nBest regards,\nAnn Lee" for number in range(5)]
    assert noted(*texts).cut(texts[0]) == texts[0]
