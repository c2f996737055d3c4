from __future__ import annotations

import pytest

from pearl.style.claims.languages import is_number, lexicon, not_read, of_texts

ENGLISH = lexicon(frozenset({"en"}))


def test_months_and_weekdays_of_every_language_are_known():
    assert {ENGLISH.months[name] for name in ("march", "märz", "marzo", "março", "maart", "marca", "марта")} == {3}
    assert {ENGLISH.weekdays[name] for name in ("friday", "freitag", "vendredi", "piątek", "пятница", "金曜日")} == {5}


@pytest.mark.parametrize(
    ("word", "unit"),
    [("km", ("length", 1000)), ("weeks", ("duration", 604_800)), ("euros", ("EUR", 1)), ("%", ("concentr", 1))],
)
def test_units_and_currencies_come_from_cldr(word, unit):
    assert unit in ENGLISH.units[word]


def test_words_are_those_of_the_languages_that_the_texts_are_in():
    assert of_texts("We meet at the harbour tomorrow.").languages == {"en"}
    assert of_texts(
        "Wir treffen uns morgen um acht am Hafen, bitte kommt.", "Tell them that we meet tomorrow."
    ).languages == {"de", "en"}
    assert {"de", "es", "fr"} < of_texts("Hoi").languages  # too short to say
    assert of_texts("в субботу").languages == {"ru", "uk"}
    assert is_number("quinze", frozenset({"fr"}))
    assert not is_number("due", frozenset({"en"}))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("The pier is closed because of the storm.", []),
        ("Jetée fermée à cause de la tempête, on se voit demain.", []),
        ("Rowery są gotowe i czekają w piwnicy.", ["numbers in words", "times in words", "promises"]),
        (
            "자전거가 준비됐습니다. 언제든지 오세요.",
            ["numbers in words", "times in words", "promises", "names without a title"],
        ),
    ],
)
def test_what_a_language_has_not_is_said(text, kinds):
    assert [line.partition(" are not read in ")[0] for line in not_read(text)] == kinds
