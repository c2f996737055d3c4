from __future__ import annotations

import pytest

from service.importing.sources.mails.quotes import latest_quoted, split_mail
from service.importing.sources.quotes import Parts

TOP_POSTED = """Yes, at four.

On Mon, Mar 3, 2025 at 10:12 AM Bob Baker <
bob@example.org> wrote:

> Tea?
"""
BETWEEN_THE_LINES = """Hi Bob,

On Monday Bob wrote:
> Tea?

At four.

> And cake?

Always.
    - lemon
    - plum
"""
OUTLOOK = """Fine with me.

From: Bob Baker
Sent: Monday, March 3, 2025 10:12
To: Ann Lee
Subject: Tea

Is four fine?
> older
"""
UNMARKED = "Yes.\n\nAm 03.03.2025 um 10:12 schrieb Bob:\n\nTee?\nOder Kaffee?\n"
JOURNEY = "My plan:\n\nFrom: London\nTo: Paris\nDate: 3 March\n\nI bring the tea."
FORWARD = "Look at this.\n\n---------- Forwarded message ---------\nBob is late again.\n"


@pytest.mark.parametrize(
    ("text", "own", "quoted"),
    [
        ("Tea?", "Tea?", ""),
        (TOP_POSTED, "Yes, at four.", "Tea?"),
        (TOP_POSTED.replace("\n", "\r\n"), "Yes, at four.", "Tea?"),
        (BETWEEN_THE_LINES, "Hi Bob,\n\nAt four.\n\nAlways.\n    - lemon\n    - plum", "Tea?\n\nAnd cake?"),
        (OUTLOOK, "Fine with me.", "Is four fine?\n> older"),
        (OUTLOOK.replace("Subject: Tea\n", ""), "Fine with me.", "Is four fine?\n> older"),
        (OUTLOOK.replace("Subject: Tea", "Cc: Carl").replace(", 2025", ""), "Fine with me.", "Is four fine?\n> older"),
        (JOURNEY, JOURNEY, ""),
        (JOURNEY.replace("London", "Bob <bob@example.org>"), "My plan:", "I bring the tea."),
        (UNMARKED, "Yes.", "Tee?\nOder Kaffee?"),
        (FORWARD, "Look at this.", "Bob is late again."),
        ("> Tea?\nYes.", "Yes.", "Tea?"),
        ("> all\n> theirs", "", "all\ntheirs"),
    ],
)
def test_quotes(text, own, quoted):
    parts = split_mail(text)
    assert parts.own == own
    assert [line for line in parts.quoted.split("\n") if line] == [line for line in quoted.split("\n") if line]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("See you.\n-- \nAnn Lee\nHead of Tea", "See you."),
        ("See you.\n--\nAnn", "See you."),
        ("See you.\n\nSent from my iPhone", "See you."),
        ("Bis dann.\n\nGesendet von meinem iPhone", "Bis dann."),
        ("See you.\n____________________________________\ntea mailing list\nhttp://list.example.org", "See you."),
        ("See you.\n\nBest regards,\nAnn", "See you.\n\nBest regards,\nAnn"),
        ("See you.\n\nBest regards,\nAnn Lee\n\nHead of Tea\n+44 20 7946 0000", "See you.\n\nBest regards,\nAnn Lee"),
        ("See you.\n\nBest,\nAnn\n\nPS: bring milk", "See you.\n\nBest,\nAnn\n\nPS: bring milk"),
        ("Hi,\nThanks, that works.\n\nTea at four?", "Hi,\nThanks, that works.\n\nTea at four?"),
        ("We need:\n- milk\n- tea\n", "We need:\n- milk\n- tea"),
        ("Thanks,\nI will come.\n\nIt is far.", "Thanks,\nI will come.\n\nIt is far."),
        ("-- \nAnn", ""),
    ],
)
def test_signatures(text, own):
    assert split_mail(text) == Parts(own, "")


@pytest.mark.parametrize("frame", ["-- {} --", "—-—-—-—\n{}.", "##- {} -##", "===== {} ====="])
@pytest.mark.parametrize(
    "line",
    [
        "Por favor, digite sua resposta acima desta linha",
        "Rispondi sopra questa riga",
        "Odpowiedz powyżej tej linii",
        "Lütfen yanıtınızı bu satırın üstüne yazın",
        "Kirjoita vastauksesi tämän rivin yläpuolelle",
        "Napište odpověď nad tento řádek",
        "Skriv ditt svar ovanför denna rad",
        "Απαντήστε πάνω από αυτή τη γραμμή",
        "이 줄 위에 답장을 입력하세요",
        "请在此行上方输入您的回复",
        "Введите ответ выше этой строки",
        "השב מעל לשורה זו",
        "الرجاء الرد فوق هذا السطر",
        "Atsakykite virš šios eilutės",
    ],
)
def test_the_line_of_a_help_desk_in_its_language(line, frame):
    assert split_mail(f"Yes.\n\n{frame.format(line)}\n\nTicket 7") == Parts("Yes.", "Ticket 7")


ASKED = "Can you row on Sunday?"
COLONLESS = 'From "Bob Smith" <bob@e.org>\nTo "Ann Lee" <ann@e.org>\nDate 05/11/2022 12:11:10\nSubject Sunday\n\n'
ORANGE = 'Message du 05/11/19 12:11\nDe : "Bob" <bob@e.org>\nA : ann@e.org\nCopie à : \nObjet : dimanche\n\n'


def marked(text: str, mark: str = "> ") -> str:
    return "\n".join((mark + line).rstrip() for line in text.split("\n"))


@pytest.mark.parametrize(
    "quote",
    [
        f"------ Original Message ------\n{COLONLESS}{ASKED}",
        marked(f"------ Original Message ------\n{COLONLESS}{ASKED}"),
        marked(COLONLESS + ASKED),
        f'------ Originalnachricht ------\nVon "Bob" <b@e.org>\n'
        f'An "Ann" <a@e.org>\nCc "Eve" <e@e.org>\nDatum 05.11.2022\n\n{ASKED}',
        marked(ORANGE + ASKED),
        marked(f"{'=' * 40}\n{ORANGE.replace('Objet', 'Sujet')}{ASKED}"),
        marked(
            f"----Messaggio originale----\nDa: bob@e.org\n"
            f"Data: 5-nov-2019 12.11\nA: ann@e.org\nOgg: R: domenica\n\n{ASKED}",
            ">",
        ),
        marked(
            f"---- Oorspronkelijk bericht ----\nVan: b@e.org\n"
            f"Datum: 05-11-2019 12:11\nAan: a@e.org\nBetr: zondag\n\n{ASKED}"
        ),
        f"---- Wiadomość oryginalna ----\nTemat: a\nData: 5 listopada 2019\n"
        f"Nadawca: b@e.org\nAdresat: a@e.org\n\n{marked(ASKED)}",
        marked(
            f"---------- Initial Header -----------\n\n"
            f"From      : b@e.org\nTo          : a@e.org\nSubject : a\n\n{ASKED}"
        ),
    ],
)
def test_the_request_has_no_line_of_the_header(quote):
    parts = split_mail(f"I can.\n\n{quote}\n")
    assert (parts.own, latest_quoted(parts.quoted)) == ("I can.", ASKED)


def test_prose_with_labels_of_its_own_is_no_header():
    text = "To sum up:\n\nFrom London to Paris\nTo Rome by train\nDate of the tea: Monday"
    assert split_mail(text).own == text
