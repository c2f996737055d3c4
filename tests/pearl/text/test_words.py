"""Words and characters in scripts of several kinds."""

from __future__ import annotations

import re
import unicodedata

import pytest

from pearl.text.words import character_start, count_words, folded, is_question, rouge_words, word_spots, words_of

WORD = re.compile(r"\w+")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("two  words", 2),
        ("deux thés", 2),
        ("我喜欢喝茶。今天很冷。", 5),
        ("お茶をください", 4),
        ("ฉันชอบดื่มชามาก", 4),
        ("차 주세요", 2),
    ],
)
def test_words_are_counted_where_no_spaces_part_them(text, count):
    assert count_words(text) == count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't re-read", ["don", "t", "re", "read"]),
        ("हिन्दी में क्\u200dया", ["हिन्दी", "में", "क्\u200dया"]),
        ("قَرَأْتُ أمس", ["قَرَأْتُ", "أمس"]),
        (unicodedata.normalize("NFD", "für Việt"), [unicodedata.normalize("NFD", word) for word in ("für", "Việt")]),
        ("请把PDF给我", ["请", "把", "PDF", "给", "我"]),
        ("コピー機の鍵", ["コピー", "機", "の", "鍵"]),
        ("ที่นี่ ok", ["ที่", "นี่", "ok"]),
        ("1️⃣ ❤️‍🔥 👩🏾‍🚀 x²", ["1", "x²"]),
    ],
)
def test_marks_are_parts_of_words_and_signs_without_spaces_are_words(text, words):
    assert words_of(WORD, text) == words
    assert [text[start:end] for start, end in word_spots(WORD, text)] == words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Größe", unicodedata.normalize("NFD", "GRÖSSE")),
        ("İzmir IŞIK", "izmir ışık"),
        ("قَرَأْتُ الكتـــاب", "قرات الكتاب"),
        ("שָׁלוֹם", "שלום"),
        ("ΚΛΕΙΔΙΑ ΟΔΟΣ", "κλειδιά οδός"),
        ("ЕЩЁ", "еще"),
        ("１０時ＰＣ", "10時pc"),
        (unicodedata.normalize("NFD", "chìa khóa"), "chìa khóa"),
        (unicodedata.normalize("NFD", "열쇠"), "열쇠"),
    ],
)
def test_spellings_of_a_word_are_one(one, other):
    assert folded(one) == folded(other)


@pytest.mark.parametrize("text", ["Naïve “café” — œuvre, ﬁnd 5 µs ½", "Plain ASCII", "два слова"])
def test_other_texts_are_lower_cased_only(text):
    assert folded(text) == text.lower()


@pytest.mark.parametrize(
    ("text", "place", "start"),
    [
        ("plain", 3, 3),
        ("cafe\u0301 au lait", 4, 3),
        ("ok 👩🏾‍🚀!", 5, 3),
        ("ok 👩🏾‍🚀!", 3, 3),
        ("हिन्दी", 1, 0),
        ("x" * 500 + "é", 501, 501),
        ("x" * 500 + "e\u0301", 501, 500),
    ],
)
def test_the_beginning_of_a_character(text, place, start):
    assert character_start(text, place) == start


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 5 café-au-lait", ["it", "s", "5", "caf", "au", "lait"]),
        ("λ is a name, as rouge-score has it", ["is", "a", "name", "as", "rouge", "score", "has", "it"]),
        ("Ещё не сегодня", ["еще", "не", "сегодня"]),
        ("请把PDF给我", ["请", "把", "pdf", "给", "我"]),
        ("मेरी किताब", ["मेरी", "किताब"]),
        ("", []),
        ("…", []),
    ],
)
def test_words_of_rouge(text, expected):
    assert rouge_words(text) == expected


@pytest.mark.parametrize("sentence", ["When?", "什么时候？", "متى؟", "Πότε;", "いつですか？"])
def test_questions_of_any_script(sentence):
    assert is_question(sentence)
    assert not is_question(f"{sentence} a;")
