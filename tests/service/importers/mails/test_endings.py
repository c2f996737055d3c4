from __future__ import annotations

from service.importers.mails.endings import RepeatedEndings

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
