"""What programs write among a person's texts, in the words of many languages; the inputs are written by us."""

from __future__ import annotations

import pytest

from service.importing.sources.notices import why_unsaid
from service.importing.sources.whatsapp import _own_words

M = "\u200e"


@pytest.mark.parametrize(
    ("text", "own"),
    [
        *(
            (text, "")
            for text in ("Ta wiadomość została usunięta", "Je hebt dit bericht verwijderd.", "您已刪除此訊息。")
        ),
        *(
            (text, "")
            for text in ("You deleted this message as admin", "Poistit tämän viestin", "Hai eliminato questo messaggio")
        ),
        *((text, "") for text in ("Missed video call", "Verpasster Sprachanruf", "부재중 전화", "Voice call, 3 min")),
        *(
            (text, "")
            for text in ("live location shared", "Live-Standort wird geteilt", "null", "<Voice message omitted>")
        ),
        *(
            (text, "")
            for text in (
                "image omitted",
                "görüntü dahil edilmedi",
                "<Mídia oculta>",
                "<Без медиафайлов>",
                "<Médias omis>",
            )
        ),
        *(
            (text, "")
            for text in ("Bob.vcf (file attached)", "IMG-20240313-WA0001.jpg (ikke kjente ord)", "a.pdf (dosya ekli)")
        ),
        *((text, "") for text in ("Standort: https://maps.google.com/?q=51.5,-0.12", "https://maps.google.com/?q=1,2")),
        ("PTT-20240313-WA0003.opus (Datei angehängt)\nHear this", "Hear this"),
        ("plan.pdf (archivo adjunto)\nplan.pdf\nSee page 3", "See page 3"),
        ("<Medien ausgeschlossen>\n4Bit Adiere.mod", ""),
        ("<Media omitted>\nThe heron\n\nand I", "The heron\n\nand I"),
        (f"The heron {M}<adjunto: 00000012-PHOTO.jpg>", "The heron"),
        (f"plan.pdf • {M}2 pages {M}<in keiner Sprache: 00000012-plan.pdf>", ""),
        *(
            (f"At four <{mark}>", "At four")
            for mark in ("This message was edited", "Mensagem editada", "Bu mesaj düzenlendi.")
        ),
        *(
            (f"At four <{mark}>", "At four")
            for mark in ("Ce message a été modifié", "このメッセージは編集されました", "ההודעה נערכה")
        ),
        ("UMFRAGE:\nTee um vier?\nOPTION: Ja (2 Stimmen)\nOPTION: Nein (0 Stimmen)", "Tee um vier?"),
        (f"{M}POLL:\nTea at four?\n{M}OPTION: Yes ({M}2 votes)\n{M}OPTION: No ({M}0 votes)", "Tea at four?"),
        *(
            (text, text)
            for text in ("Fill in <your name here>", "<sigh>", "I deleted this message", "See plan.pdf (page 3)")
        ),
        *((text, text) for text in ("The list:\nMilk: two (2 liters)\nTea: one (3 bags)", "Missed you", "photo.png")),
        ("It was <edited> by Bob", "It was <edited> by Bob"),
    ],
)
def test_whatsapps_notices_go_and_ones_own_words_stay(text, own):
    assert _own_words(text) == own


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *(
            (text, "command to a bot")
            for text in ("/start", "/remind@tea_bot at four", "!play tea", "$balance", "?help")
        ),
        *(
            (text, None)
            for text in (
                "/home/ann is full",
                "! no",
                "!!",
                "$5 is fine",
                "?",
                "...",
                "Look: /start",
                "/start\nand more",
            )
        ),
        *((text, "no text") for text in ("", " \n")),
    ],
)
def test_a_line_to_a_bot_is_no_text(text, reason):
    assert why_unsaid(text) == reason
