from __future__ import annotations

import pytest

from pearl.models.prompts import language_to_name
from pearl.records import Document
from pearl.text.language import LONGEST, _phrases, detect, names, wanted_language

ENGLISH = "Could you bring the long ladder on Saturday? The gutter leaks again."
GERMAN = "Kannst du am Samstag die lange Leiter mitbringen? Die Regenrinne tropft wieder."
TEXTS = {
    "en": (ENGLISH, "Lunch at one, as ever?", "Drop the unused column from the table of votes"),
    "de": (GERMAN, "Wie immer um eins zum Essen?", "Entferne die ungenutzte Spalte aus der Tabelle"),
    "fr": ("Tu peux apporter la grande échelle samedi ? La gouttière fuit encore.", "On déjeune à une heure ?"),
    "es": ("¿Puedes traer la escalera larga el sábado? El canalón gotea otra vez.", "¿Comemos a la una como siempre?"),
    "pt": ("Você pode trazer a escada comprida no sábado? A calha está pingando de novo.",),
    "it": ("Puoi portare la scala lunga sabato? La grondaia perde di nuovo.", "Pranziamo all'una come sempre?"),
    "nl": ("Kun je zaterdag de lange ladder meenemen? De dakgoot lekt weer.",),
    "pl": ("Czy możesz przynieść w sobotę długą drabinę? Rynna znowu przecieka.",),
    "ru": ("Ты можешь принести в субботу длинную лестницу? Вода опять течёт с крыши.",),
    "no": ("Kan du ta med den lange stigen på lørdag? Takrenna lekker igjen.",),
    "tr": ("Cumartesi günü uzun merdiveni getirebilir misin? Oluk yine damlıyor.",),
    "el": ("Μπορείς να φέρεις τη μεγάλη σκάλα το Σάββατο; Η υδρορροή στάζει πάλι.",),
    "ar": ("هل يمكنك إحضار السلم الطويل يوم السبت؟ المزراب يسرب مرة أخرى.",),
    "he": ("תוכל להביא את הסולם הארוך בשבת? המרזב שוב דולף.",),
    "hi": ("क्या तुम शनिवार को लंबी सीढ़ी ला सकते हो? नाली फिर से टपक रही है।",),
    "ja": ("土曜日に長いはしごを持ってきてもらえますか。雨どいがまた漏れています。", "了解です"),
    "zh": ("你星期六能把长梯子带来吗？排水沟又漏水了。",),
    "ko": ("토요일에 긴 사다리를 가져올 수 있어요? 홈통이 또 새요.",),
    "th": ("วันเสาร์ช่วยเอาบันไดยาวมาได้ไหม รางน้ำรั่วอีกแล้ว",),
}


@pytest.mark.parametrize(("language", "text"), [(language, text) for language in TEXTS for text in TEXTS[language]])
def test_the_language_of_a_text(language, text):
    assert detect(text) == language


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "ok",
        "Danke",
        "https://example.org/das-ist-ein-langer-deutscher-titel-ohne-text",
        "nan.skellmouth@example.org",
        "1234 5678, 12.03.2026 14:30",
        "１２３ ٣٤٥ XIV",
        "🎉🎉🎉 👍",
        "\u202e\u202d\u2066\u2069",
        "`for reader in readers: yield from reader`",
        "Qapla' tlhIngan maH! Heghlu'meH QaQ jajvam",  # a language that nobody detects
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit",  # detected, and without a name here
        "zzzz qqq xxkz vvbn wwrt",
        "Podes trazer a escada comprida no sábado? A caleira está outra vez a pingar.",  # or Galician
        "Можешь принести в субботу длинную лестницу? Жёлоб опять течёт.",  # or Ukrainian
    ],
)
def test_a_text_that_is_too_short_or_unsure_has_no_language(text):
    assert detect(text) is None


def test_marks_of_direction_and_a_name_in_another_script_change_nothing():
    assert detect(f"\u202b{ENGLISH}\u202c") == "en"
    assert detect(f"\u2067שלום\u2069 {ENGLISH}") == "en"
    assert detect(f"{ENGLISH} Viele Grüße") == "en"


def test_a_text_in_several_languages_is_in_one_of_them_or_in_none():
    assert detect("Please send me the bill. Bitte schick mir die Rechnung. Merci de m'envoyer la facture.") == "en"
    assert detect("Danke! I'll bring it mañana, tak skal du have, à bientôt") is None


def test_only_the_beginning_of_a_long_text_is_looked_at():
    assert detect(ENGLISH + " and so on" * LONGEST + GERMAN * 1_000) == "en"
    assert detect("https://a.org/b " * 100_000) is None


@pytest.mark.parametrize(
    ("request_text", "language"),
    [
        (f"Reply to this mail in German:\n{ENGLISH}", "de"),
        ("Say no, kindly. In French, please.", "fr"),
        ("Reply, in Spanish, that I cannot come on Friday", "es"),
        ("Antworte Tomas auf Englisch, dass der Saal frei ist", "en"),
        ("Bitte auf Italienisch antworten: wir kommen gern", "it"),
        ("Réponds en allemand que nous venons samedi", "de"),
        ("Responde en inglés a Tomas que la sala está libre", "en"),
        ("Responde em francês ao Tomas que a sala está livre", "fr"),
        ("英語で返信して、来られないと伝えてください", "en"),
        (f"Reply in the language of the mail that I cannot:\n{GERMAN}", "de"),
        (f"Antworte in seiner Sprache, dass ich nicht kann.\n> {ENGLISH}", "en"),
        (f"Write in the same language, and decline.\n> {GERMAN}\n> Nan", "de"),
        (f"Say that I have no ladder:\n{GERMAN}", "en"),
        (f"Sag, dass ich keine Leiter habe.\n> {ENGLISH}", "de"),
        (f"Decline:\n{GERMAN}", "de"),  # too short itself
        ("Reply in the language of the mail", None),
        ("Tell Tomas that the book is in German and that I have read it", "en"),
        ("Write to Tomas that the manual is in French", "en"),
        ("https://example.org/hallo-welt", None),
        ("12345 67890", None),
        ("👍👍", None),
    ],
)
def test_the_language_that_a_request_wants(request_text, language):
    assert wanted_language(request_text) == language


@pytest.mark.parametrize(
    ("instructions", "language"),
    [
        ("Be brief.", "en"),
        ("Always write in German.", "de"),
        ("Immer auf Deutsch schreiben, bitte", "de"),
        ("Never translate German names of products.", None),  # outranks what the request is in; its sense is unknown
    ],
)
def test_instructions_outrank_the_language_of_the_request(instructions, language):
    assert wanted_language(ENGLISH, instructions) == language


@pytest.mark.parametrize(
    ("request_text", "texts", "language"),
    [
        (ENGLISH, (GERMAN,), "English"),
        (GERMAN, (ENGLISH,), "German"),
        (GERMAN, (GERMAN, ENGLISH, "ok"), "German"),
        *((TEXTS[code][0], (ENGLISH,), name) for code, name in names().items() if code in ("fr", "es", "pt", "ja")),
        *((ENGLISH, (TEXTS[code][0],), "English") for code in ("fr", "es", "pt", "ja")),
        ("Reply in German:\nCan you come?", (ENGLISH,), "German"),
        (ENGLISH, (ENGLISH, "ok", "https://example.org"), None),
        (GERMAN, (GERMAN,), None),
        (ENGLISH, (), None),
        ("https://example.org", (GERMAN,), None),
        ("1234", (GERMAN,), None),
    ],
)
def test_the_language_is_named_only_where_a_sample_is_in_another(request_text, texts, language):
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    assert language_to_name(request_text, "Be brief.", documents) == (language or "")


def test_the_names_of_languages_can_be_read():
    _phrases().check()
    assert names()["de"] == "German"
    assert all(len(code) == 2 for code in names())
