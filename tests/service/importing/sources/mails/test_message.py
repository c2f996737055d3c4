from __future__ import annotations

import pytest

from service.importing.sources.mails.headers import parse_date
from service.importing.sources.mails.message import bare_subject, read_envelope
from service.importing.sources.mails.parts import parts_of, text_of


def mail(headers: str, body: str | bytes = "") -> bytes:
    return headers.encode() + b"\n\n" + (body if isinstance(body, bytes) else body.encode())


def test_the_envelope():
    envelope = read_envelope(
        mail(
            "From: =?utf-8?q?=C3=84nne_Lee?= <aenne@example.org>\n"
            "Subject: Re: AW: [tea] =?utf-8?b?w7xiZXI=?=\n some cups\n"
            "Date: Mon, 03 Mar 2025 10:12:00 +0100\n"
            "Message-ID: <2@example.org>\n"
            "In-Reply-To: <1@example.org>\n"
            "References: <0@example.org>\n <1@example.org>"
        )
    )
    assert envelope.id == "2@example.org"
    assert envelope.sender == ("Änne Lee", "aenne@example.org")
    assert envelope.subject == "[tea] über some cups"
    assert envelope.time == 1740993120.0
    assert envelope.answers == ("1@example.org", "1@example.org")


@pytest.mark.parametrize(
    ("sender", "name"),
    [
        ('"Lee, Ann" <ann@example.org>', "Lee, Ann"),
        ("=?x-unheard-of?q?=C3=84nne?= <ann@example.org>", "Änne"),
        ("=?utf-8?b?%%%?= <ann@example.org>", ""),
        ("=?utf-8?b?A?= <ann@example.org>", "=?utf-8?b?A?="),
        ("ann@example.org", ""),
    ],
)
def test_senders(sender, name):
    assert read_envelope(mail(f"From: {sender}")).sender == (name, "ann@example.org")


@pytest.mark.parametrize("date", ["", "Date: when it was sent\n"])
def test_when_it_was_received_stands_in_for_an_unreadable_date(date):
    header = f"{date}Received: from a\n\tby b; Mon, 03 Mar 2025 10:12:00 +0100"
    assert read_envelope(mail(header)).time == 1740993120.0


def test_an_empty_envelope():
    envelope = read_envelope(b"")
    assert (envelope.id, envelope.sender, envelope.time, envelope.answers) == (None, ("", ""), None, ())


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        ("Mon, 03 Mar 2025 10:12:00 +0100", 1740993120.0),
        ("3 Mar 2025 09:12:00", 1740993120.0),
        ("Mon Mar  3 09:12:00 2025", 1740993120.0),
        ("yesterday", None),
        ("2025-03-03T10:12:00+01:00", 1740993120.0),
        ("2025-03-03 10:12:00 +0100", 1740993120.0),
        ("", None),
        ("2025-13-03T10:12:00Z", None),
        ("Mon, 99 Zzz 2025 99:99:99", None),
    ],
)
def test_dates(date, seconds):
    assert parse_date(date) == seconds


TYPE = "Content-Type: text/plain; charset="


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        ("Subject: none", "Tea?", "Tea?"),
        (TYPE + "utf-8", "Thé?", "Thé?"),
        (TYPE + "iso-8859-1", b"Th\xe9?", "Thé?"),
        (TYPE + "x-unheard-of", "Thé?", "Thé?"),
        (TYPE + "x-unheard-of", b"Th\xe9?", "Thé?"),
        (TYPE + "hex", "Tea?", "Tea?"),
        (TYPE + "us-ascii", "Thé?", "Thé?"),
        ("Subject: none", b"Th\xe9\x80?", "Thé€?"),
        (TYPE + "utf-8\nContent-Transfer-Encoding: base64", "VGjDqT8=", "Thé?"),
        (TYPE + "utf-8\nContent-Transfer-Encoding: base64", "VGjDqT8", "Thé?"),
        (TYPE + "utf-8\nContent-Transfer-Encoding: quoted-printable", "Th=C3=A9=\n?", "Thé?"),
        ("Content-Type: text/html; charset=utf-8", "<p>Thé?</p>", "Thé?"),
        ("Content-Type: text/html", '<meta charset="windows-1251"><p>Чай?</p>'.encode("cp1251"), "Чай?"),
        ("Content-Type: text/html", '<META content="x; charset=iso-2022-jp">お茶?'.encode("iso-2022-jp"), "お茶?"),
        ("Content-Type: text/html", '<meta charset="windows-1251"><p>Чай?</p>', "Чай?"),
        ("Content-Type: text/html", b"<meta charset=unheard-of>Th\xe9?", "Thé?"),
        ("Content-Type: image/png", b"\x89PNG", ""),
        ("Content-Type: text/plain\nContent-Disposition: attachment; filename=a.txt", "Tea?", ""),
        ("Content-Type: text/plain; name=mail.txt", "Tea?", "Tea?"),
        (
            TYPE + "utf-8; format=flowed",
            "One line \nthat goes on.\n> a \n> b\n-- \nAnn",
            "One line that goes on.\n> a b\n-- \nAnn",
        ),
        (TYPE + "utf-8; format=flowed; delsp=yes", "auto \nmatic", "automatic"),
        # Eudora's marks, whatever it left of the header
        (TYPE + "utf-8", "<x-html>\n<p>Tea <b>at</b></p><p>four</p></x-html>\nI come.", "Tea at\n\nfour\nI come."),
        (TYPE + "utf-8; format=flowed", "<X-FLOWED>Tea \nat four.\n> a \n> b</X-FLOWED>\n", "Tea at four.\n> a b"),
        (TYPE + "utf-8", "<x-rich>Tea <bold>at</bold>\nfour.\n\nI come.", "Tea at four.\nI come."),
        ("Content-Type: text/html", "<x-flowed>Tea \nat four.\n\nI come.</x-flowed>", "Tea at four.\n\nI come."),
        (TYPE + "utf-8", "<x-html>Tea?<x-sigsep><p></x-sigsep>Ann</x-html>", "Tea?\n--\nAnn"),
        (TYPE + "utf-8", "<x-flowed>Tea?\n<x-sigsep>\nAnn</x-flowed>", "Tea?\n\n-- \n\nAnn"),
        (TYPE + "utf-8", "The mark <x-html> of Eudora", "The mark <x-html> of Eudora"),
        (
            "Content-Type: text/enriched",
            "<color><param>0000,0000,FFFF</param>Tea</color> & <<milk\nat four.\n\n<excerpt>Tea?</excerpt>\n\nYes.",
            "Tea & <milk at four.\n> Tea?\n\nYes.",
        ),
        (TYPE + "utf-8", "<!DOCTYPE html>\n<html><p>Tea?</p></html>", "Tea?"),
        # what it says of its encoding is not true
        (TYPE + "utf-8\nContent-Transfer-Encoding: base64", "Tea at four.\nI come.", "Tea at four.\nI come."),
        (TYPE + "utf-8\nContent-Transfer-Encoding: base64", "VGjDqT8=\n-- \na footer", "Thé?"),
    ],
)
def test_the_text_of_one_part(headers, body, text):
    assert text_of(parts_of(mail(headers, body))).rstrip() == text


def parts(kind: str, *each: str) -> bytes:
    return mail(f"Content-Type: multipart/{kind}; boundary=B", "".join(f"--B\n{part}\n" for part in each) + "--B--\n")


HTML = "Content-Type: text/html\n\n<p>As <b>HTML</b></p>"
PLAIN = "Content-Type: text/plain\n\nAs text"
FORWARDED = "Content-Type: message/rfc822\n\nFrom: bob@example.org\nContent-Type: text/plain\n\nBob's words"
ATTACHED = "Content-Type: text/plain\nContent-Disposition: attachment\n\nA file"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (parts("alternative", HTML, PLAIN), "As text"),
        (parts("alternative", "Content-Type: text/plain\n\n ", HTML), "As HTML"),
        (parts("mixed", ATTACHED, FORWARDED, HTML), "As HTML"),
        (parts("mixed", FORWARDED), ""),
        (parts("mixed", PLAIN)[:-7], "As text"),
        (mail("Content-Type: multipart/mixed", "no boundary"), "no boundary"),
        (mail("Content-Type: multipart/mixed; boundary=B", "<x-html><b>Tea</b>?</x-html>"), "Tea?"),
    ],
)
def test_the_text_of_several_parts(raw, text):
    assert text_of(parts_of(raw)).strip() == text


@pytest.mark.parametrize(
    ("subject", "bare"),
    [
        ("Tea", "Tea"),
        ("RE: AW: Re[2]:  Tea", "Tea"),
        ("[EXTERNAL] Re: [tea] Tea", "[tea] Tea"),
        ("[External Email] Tea", "Tea"),
        ("[RFC PATCH v3 02/10] cup: fill it", "cup: fill it"),
        ("Re:", ""),
        ("Regarding: Tea", "Regarding: Tea"),
        ("RES: ENC: Chá", "Chá"),
        ("RV: R: I: Tea", "Tea"),
        ("Ynt: İlt: Çay", "Çay"),
        ("پاسخ: Tea", "Tea"),
        ("Odpowiedź: Antw.: Tea", "Tea"),
        ("Re: [tea] Re: Cups", "[tea] Cups"),
        ("[tea] [pots] Cups", "[tea] [pots] Cups"),
    ],
)
def test_subjects(subject, bare):
    assert bare_subject(subject) == bare
