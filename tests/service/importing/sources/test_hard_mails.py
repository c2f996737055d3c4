"""Hard mails, with what a person would take from each."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

MAILS = tomllib.loads((Path(__file__).parent / "hard_mails.toml").read_text(encoding="utf-8"))["mail"]
USUAL = {
    "From": "Ann Lee <ann@example.org>",
    "Subject": "Tea",
    "Date": "Mon, 03 Mar 2025 12:00:00 +0100",
    "Message-ID": "<1@example.org>",
    "Content-Type": "text/plain; charset=utf-8",
}
THEIRS = "armalade"  # somebody else's word in every mail of the table


def written(mail: dict[str, str]) -> bytes:
    head = mail.get("head", "")
    named = {line.partition(":")[0] for line in head.split("\n")}
    lines = [f"{name}: {value}" for name, value in USUAL.items() if name not in named]
    return "\n".join(
        ["From ann@example.org Mon Mar  3 09:12:00 2025", *lines, *([head] if head else []), "", mail["body"], ""]
    ).encode()


@pytest.mark.parametrize("mail", MAILS, ids=lambda mail: mail["name"])
def test_a_hard_mail(read, tmp_path, mail):
    source = tmp_path / "a.mbox"
    source.write_bytes(written(mail))
    reading = read("mbox", source, "ann@example.org")
    if "left_out" in mail:
        assert (reading.texts, reading.reasons) == ([], [mail["left_out"]])
        return
    (document,) = reading.documents
    assert THEIRS not in document.text
    assert (document.text, document.request) == (mail["text"], mail["request"])


def test_the_table_is_large_and_only_the_person_speaks_in_its_texts():
    assert len({mail["name"] for mail in MAILS}) == len(MAILS) >= 80
    assert not [mail["name"] for mail in MAILS if THEIRS in mail.get("text", "")]
    assert sum(THEIRS in mail["body"] for mail in MAILS) > 100
