from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pearl.errors import InputError
from tests.laid import laid, packed

M = "\u200e"  # before what WhatsApp itself writes
IOS = f"""[13/03/2024, 09:12:33] Bob: {M}Messages and calls are end-to-end encrypted.
[13/03/2024, 09:12:40] Bob: Tea?
[13/03/2024, 09:12:41] Bob: Or milk?
[13/03/2024, 09:13:02] Ann Lee: Tea, please.

With a biscuit.
{M}[13/03/2024, 09:14:02] Ann Lee: {M}<attached: 00000012-PHOTO-2024-03-13.jpg>
[13/03/2024, 09:15:02] Ann Lee: Two of them {M}<This message was edited>
[13/03/2024, 09:16:02] Ann Lee: {M}You deleted this message.
[13/03/2024, 09:17:02] Ann Lee: @\u2068Bob\u2069 when?
"""
ANDROID = """3/13/24, 9:12\u202fAM - Messages and calls are end-to-end encrypted.
3/13/24, 9:12\u202fAM - Bob created group "Tea"
3/13/24, 9:13\u202fPM - Bob: Tea: yes?
3/13/24, 9:14\u202fPM - ~\u202fCarl: Me too
3/13/24, 9:15\u202fPM - Ann Lee: Fine: at 12:30 - sharp
3/13/24, 9:16\u202fPM - Ann Lee: <Media omitted>
3/13/24, 9:17\u202fPM - Ann Lee: This message was deleted
3/13/24, 12:18\u202fAM - Ann Lee: Night.
"""


def at(*moment: int) -> float:
    return datetime(*moment, tzinfo=UTC).timestamp()


def write(folder, text, name="_chat.txt"):
    return laid(folder, {name: text}) / name


def test_a_chat_of_two_from_an_iphone(read, tmp_path):
    reading = read("whatsapp", write(tmp_path, IOS), "Ann Lee", voice="chat")
    assert [(document.text, document.request) for document in reading.documents] == [
        ("Tea, please.\n\nWith a biscuit.", "Tea?\nOr milk?"),
        ("Two of them", None),
        ("@Bob when?", None),
    ]
    assert {document.recipient for document in reading.documents} == {"Bob"}
    assert {document.voice for document in reading.documents} == {"chat"}
    assert reading.documents[0].timestamp == at(2024, 3, 13, 9, 13, 2)
    assert sorted(reading.reasons) == [*["no text"] * 2, *["not written by --me"] * 3]
    assert reading.found[0].where == f"{tmp_path}/_chat.txt:4"
    assert reading.remarks == ["WhatsApp writes no time zone; its times are taken as UTC."]
    again = read("whatsapp", write(tmp_path, "\ufeff" + IOS), "Ann Lee")
    assert [document.id for document in again.documents] == [document.id for document in reading.documents]


def test_a_group_from_android_in_its_zip(read, tmp_path):
    files = {"WhatsApp Chat with Tea club.txt": ANDROID, "notes.txt": "A text that was sent.", "IMG.jpg": b"\xff\xd8"}
    reading = read("whatsapp", packed(tmp_path / "WhatsApp Chat with Tea club (1).zip", files), "Ann Lee")
    assert [(document.text, document.recipient, document.request) for document in reading.documents] == [
        ("Fine: at 12:30 - sharp", "Tea club", None),
        ("Night.", "Tea club", None),
    ]
    assert [document.timestamp for document in reading.documents] == [at(2024, 3, 13, 21, 15), at(2024, 3, 13, 0, 18)]
    assert [str(sender) for sender in reading.options.identities.commonest_others()] == ["Bob (1)", "Carl (1)"]


@pytest.mark.parametrize(
    ("stamp", "moment"),
    [
        ("13.03.24, 09:12 - ", (9, 12)),
        ("[13.03.24, 09:12:33] ", (9, 12, 33)),
        ("13.3.2024 klo 9.12 - ", (9, 12)),
        ("[13/03/2024 à 09:12:33] ", (9, 12, 33)),
        ("13/03/2024 09:12 - ", (9, 12)),
        ("13-03-2024 21:12 - ", (21, 12)),
        ("13/3/2024, 9:12 p. m. - ", (21, 12)),
        ("[13/3/2024, 12:12:33 a.m.] ", (0, 12, 33)),
        ("2024-03-13 09:12 - ", (9, 12)),
        ("2024/03/13, 09:12 - ", (9, 12)),
        ("2024. 3. 13. 오후 9:12 - ", (21, 12)),
        ("[2024. 3. 13. 오전 12:12:33] ", (0, 12, 33)),
        ("[2024/3/13 下午9:12:33] ", (21, 12, 33)),
        ("\u200f١٣\u200f/٣\u200f/٢٠٢٤، ٩:١٢ م - ", (21, 12)),
        ("2024. 03. 13. 9:12 - ", (9, 12)),
        ("13/03/2024, 9:12 μ.μ. - ", (21, 12)),
        ("21:12, 13/03/2024 - ", (21, 12)),
        ("[9:12:33 CH, 13/03/2024] ", (21, 12, 33)),
        ("2024-03-13 21 h 12 - ", (21, 12)),
        ("[2024-03-13 21 h 12 min 33 s] ", (21, 12, 33)),
        ("13.03.24\u202fг., 21:12 ч. - ", (21, 12)),
        ("2024-03-13 kl. 21:12 - ", (21, 12)),
        ("2024-03-13 9:12\u2009em - ", (21, 12)),
        ("2024/3/13\u2009凌晨3:12 - ", (3, 12)),
        ("13.03.2024 saat 21:12 - ", (21, 12)),
    ],
)
def test_dates_as_phones_write_them(read, tmp_path, stamp, moment):
    reading = read("whatsapp", write(tmp_path, f"{stamp}Ann: Tea.\n{stamp}Bob: Milk.\n"), "Ann")
    assert [(document.text, document.timestamp) for document in reading.documents] == [
        ("Tea.", at(2024, 3, 13, *moment))
    ]


@pytest.mark.parametrize(
    ("dates", "options"),
    [
        (["03/04/2024"], "--day-first or --month-first"),
        (["3/4/24", "05/06/24"], "--day-first or --month-first"),
        (["13/04/24"], "--day-first or --year-first"),
        (["10/11/12"], "--day-first or --month-first or --year-first"),
    ],
)
def test_the_order_of_the_date_is_asked_where_nothing_tells(read, tmp_path, dates, options):
    path = write(tmp_path, "".join(f"{day}, 09:12 - Ann: Tea.\n" for day in dates))
    with pytest.raises(InputError, match="no date in the chat tells in which order") as raised:
        read("whatsapp", path, "Ann")
    assert raised.value.message.endswith(f"say {options}.")
    assert raised.value.code == "ambiguous_dates"


@pytest.mark.parametrize(
    ("flag", "moment"), [("day_first", (2024, 4, 3)), ("month_first", (2024, 3, 4)), ("year_first", None)]
)
def test_the_option_decides(read, tmp_path, flag, moment):
    reading = read("whatsapp", write(tmp_path, "03/04/24, 09:12 - Ann: Tea.\n"), "Ann", **{flag: True})
    found = [document.timestamp for document in reading.documents]
    assert found == ([at(*moment, 9, 12)] if moment else [])
    assert len(reading.errors) == (moment is None)


def test_one_date_that_tells_is_enough(read, tmp_path):
    text = "03/04/24, 09:12 - Ann: Tea.\n04/13/24, 09:12 - Ann: Milk.\n"
    assert read("whatsapp", write(tmp_path, text), "Ann").documents[0].timestamp == at(2024, 3, 4, 9, 12)
    same = "05/05/24, 09:12 - Ann: Tea.\n"
    assert read("whatsapp", write(tmp_path, same), "Ann").documents[0].timestamp == at(2024, 5, 5, 9, 12)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("13/03/24, 9:12 ZZ - Ann: Tea.\n", "unknown_locale", "'ZZ' is not known as a half of the day"),
        ("13/03/2567, 9:12 - Ann: Tea.\n", "unknown_locale", "cannot be read in the calendar"),
        ("1402/12/23, 9:12 - Ann: Tea.\n", "unknown_locale", "cannot be read in the calendar"),
        ("13/03/24, 9:12 - Ann: Tea.\n03/14/24, 9:12 - Ann: Tea.\n", "unknown_locale", "'03/14/24, 9:12'"),
        ("Tea at four.\n", "not_an_export", "not a chat that WhatsApp exported"),
    ],
)
def test_what_cannot_be_read_says_why(read, tmp_path, text, code, says):
    with pytest.raises(InputError) as raised:
        read("whatsapp", write(tmp_path, text), "Ann")
    assert (raised.value.code, says in raised.value.message) == (code, True)


def test_of_several_chats_one_that_cannot_be_read_costs_only_itself(read, tmp_path):
    write(tmp_path, "03/04/24, 09:12 - Ann: Tea.\n", "WhatsApp Chat with Bob.txt")
    write(tmp_path, "13.04.24, 09:12 - Ann: Milk.\n", "WhatsApp-Chat mit Carl.txt")
    reading = read("whatsapp", tmp_path, "Ann")
    assert [(document.text, document.recipient) for document in reading.documents] == [("Milk.", "Carl")]
    assert ["--day-first" in error.error for error in reading.errors] == [True]


def test_a_pasted_chat_is_part_of_the_message_that_it_is_pasted_into(read, tmp_path):
    text = "13.04.24, 09:12 - Ann: Look:\n[13.04.24, 09:12:33] Bob: Tea?\n13.04.24, 25:12 - Ann: When\n"
    reading = read("whatsapp", write(tmp_path, text), "Ann")
    assert reading.texts == ["Look:\n[13.04.24, 09:12:33] Bob: Tea?"]
    assert [error.where for error in reading.errors] == [f"{tmp_path}/_chat.txt:3"]


def test_an_answer_a_day_later_begins_anew(read, tmp_path):
    text = (
        "13.04.24, 9:12 - Bob: Tea?\n15.04.24, 9:12 - Ann: Hello\n15.04.24, 9:13 - Bob: Hi\n15.04.24, 9:14 - Ann: So\n"
    )
    assert [document.request for document in read("whatsapp", write(tmp_path, text), "Ann").documents] == [None, "Hi"]
