"""Each rule trait on texts that have it and on texts that only look so."""

from __future__ import annotations

import re

import pytest

from pearl.style.manner.reference import ANY, COMMIT, MESSAGE, shipped
from pearl.style.manner.trait import excerpt
from pearl.style.manner.traits import BY_NAME, TRAITS
from pearl.style.manner.writing import Writing

LETTER = "Hello Tomas, kettle's on.\n\nYes, swap away.\n\nMind the tide,\nOtti"
FOUND = [
    ("words", "Two words: don't, see https://example.org/a-b/c?d=e", 4),
    ("words", "", 0),
    ("sentence_length", "One two. Three four five!", 5),
    ("lists", "Plan:\n- one\n- two", 1),
    ("lists", "Plan:\n- only one", 0),
    ("lists", "It went well - or so I - hope.\n-- Otti", 0),
    ("headings", "# Plan\n\nText", 1),
    ("headings", "Plan\n====\nText", 1),
    ("headings", "**Plan**\nText", 1),
    ("headings", "#hashtag and a # b", 0),
    ("bold_italics", "A **bold** and *slanted* and _so_ word", 3),
    ("bold_italics", "2 * 3 * 4, snake_case_name, __init__ aside", 1),
    ("bold_italics", "a * b and c * d", 0),
    ("emojis", "Nice 👍🏽 👨‍👩‍👧 🇩🇪 ✅ 1️⃣", 5),
    ("emojis", "→ x² ≤ ∀ — ™", 0),
    ("emoticons", "Well :) ok ;-) :tada: <3", 4),
    ("emoticons", "(see 8) at 12:30:15, std::vector ::warning:: f(x): (a)", 0),
    ("greeting", LETTER, 1),
    ("greeting", "Hi all\nnews", 1),
    ("greeting", "Good morning Bea - a question", 1),
    ("greeting", "Hello world programs crash when they are run twice", 0),
    ("greeting", "Highly unlikely. Hi!", 0),
    ("sign_off", LETTER, 1),
    ("sign_off", "Done.\n\nBest regards,\nAnn Ode", 1),
    ("sign_off", "Done.\nThanks!", 1),
    ("sign_off", "Done, all of it.\n\nOtti Marsh", 1),
    ("sign_off", "Done.\n\nSee Otti at ten", 0),
    ("sign_off", "Done\n\nit's late", 0),
    ("sign_off", "Thanks!", 0),
    ("sign_off", "It is the best,\nas I said before and will say again, of all.", 0),
    ("closing_question", "So it goes. Shall we?", 1),
    ("closing_question", "Shall we?\n\nCheers,\nOtti", 1),
    ("closing_question", "Shall we? We shall.", 0),
    ("no_closing_mark", "on my way", 1),
    ("no_closing_mark", "On my way.", 0),
    ("no_closing_mark", LETTER, 0),
    ("no_closing_mark", "Yes, swap away\n\nOtti", 1),
    ("questions", "Why? Because. (Really?)", 2),
    ("joined_starts", "And so on. But why? Android.", 2),
    ("small_starts", "yes. No. maybe", 2),
    ("i", "I'm in my house, i think; II", 3),
    ("we", "Let's take our time: us two", 3),
    ("you", "Your turn, you two: yourself", 3),
    ("contractions", "don’t, it's, we'll, Ann's, the dogs'", 3),
    ("hedges", "Perhaps it seems so, I think.", 3),
    ("courtesy", "Please, and thank you. Sorry!", 3),
    ("commas", "One, two, 10,000", 2),
    ("semicolons", "One; two (three); four ;)", 2),
    ("colons", "Note: at 12:30 std::x", 1),
    ("dashes", "One - two — three--four -- five", 4),
    ("dashes", "- item\nwell-known 10–12 --option", 0),
    ("exclamations", "Yes!! No! a != b !important", 2),
    ("ellipses", "Well... so… ../dir ....", 3),
    ("parentheses", "One (two) three (four\nfive), f(x)", 2),
    ("words", "请把PDF给我。हिन्दी में", 7),
    ("sentence_length", "Πότε έρχεσαι; Αύριο· αν μπορείς.", 5),
    ("questions", "你来吗？来。“真的？”", 2),
    ("questions", "متى؟ غدا. Πότε; Αύριο.", 2),
    ("closing_question", "明天见。你来吗？", 1),
    ("no_closing_mark", "พบกันที่นี่", 1),
    ("no_closing_mark", "So nice ❤️", 0),
    ("commas", "نعم، لا، 好，苹果、梨", 4),
    ("semicolons", "نعم؛ 好；Πότε έρχεσαι; ναι", 2),
    ("colons", "注意：今天", 1),
    ("exclamations", "好！！C’est drôle\u202f!", 2),
    ("exclamations", "शुक्रिया! ขอบคุณค่ะ! שָׁלוֹם!", 3),
    ("colons", "मिलते हैं: कल", 1),
    ("semicolons", "हाँ, है; ठीक", 1),
    ("parentheses", "今天（星期一）", 1),
    ("greeting", "Liebe Ute,\nja", 1),
    ("greeting", "مرحبًا أستاذ خالد،\nنعم", 1),
    ("greeting", "Привет, Алёна!", 1),
    ("greeting", "Приветливый человек, он и сегодня пришёл рано утром.", 0),
    ("sign_off", "Ja.\n\nViele Grüße\nUte", 1),
    ("sign_off", "نعم.\n\nتحياتي،\nسامي", 1),
    ("sign_off", "Да.\n\nС уважением,\nМиша", 1),
    ("sign_off", "हाँ।\n\nसादर,\nरवि", 1),
    ("sign_off", "好。\n\n祝好\n阿强", 1),
    ("sign_off", "हाँ, मिलते हैं।\n\nमीरा", 1),
    ("no_closing_mark", "Ja.\n\nViele Grüße\nUte", 0),
    ("pronouns", "I told you that we know my cat", 4),
    ("structure", "# Plan\n- **one**\n- `two`", 5),
]


@pytest.mark.parametrize(("name", "text", "count"), FOUND)
def test_a_trait_is_found_as_often_as_it_stands_there(name, text, count):
    assert BY_NAME[name].counts(Writing(text))[0] == count


def test_every_trait_has_a_row_above():
    assert {name for name, _, _ in FOUND} == set(BY_NAME)


@pytest.mark.parametrize("trait", BY_NAME.values(), ids=lambda trait: trait.name)
def test_a_declaration_says_in_words_what_it_counts(trait):
    assert trait.measures.endswith(".")
    assert len(re.findall(r"\w+\|\w+", trait.does)) == 1
    assert trait.more != trait.less
    assert "|" not in trait.more + trait.less
    for hostile in ("", " \n\t\n", "?", "…", "(" * 3000, "* " * 3000, "with best " * 300, "\n" * 3000, "<b>" * 2000):
        found, base = trait.counts(Writing(hostile))
        assert 0 <= found <= max(base, found)
        assert 0 <= len(trait.excerpt(Writing(hostile))) <= 82


def test_a_share_is_found_at_most_once_for_each_of_what_it_is_a_share_of():
    text = Writing(LETTER * 3)
    for trait in TRAITS:
        if trait.unit.share:
            found, base = trait.counts(text)
            assert found <= base, trait.name


def test_an_excerpt_shows_the_place():
    text = "word " * 50 + "here; there " + "word " * 50
    shown = BY_NAME["semicolons"].excerpt(Writing(text))
    assert "here; there" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 82


@pytest.mark.parametrize("character", ["👩🏾‍🚀", "नी", "e\u0301"])
def test_an_excerpt_has_whole_characters(character: str) -> None:
    for before in range(40, 60):
        text = character * before + "; there" + character * 60
        shown = excerpt(text, text.index(";"), text.index(";") + 1)
        assert shown.replace(character, "") == "…; there…"


def test_sentences_end_at_marks_not_at_abbreviations():
    text = "See e.g. Dr. No in 1.5. Then go!\n1. One item\n2. Another\n\nLast"
    parts = [text[start:end] for start, end in Writing(text).sentences]
    assert parts == ["See e.g. Dr. No in 1.5.", "Then go!", "1. One item", "2. Another", "Last"]
    text = "«Прилив пришёл.» Да."
    assert [text[start:end] for start, end in Writing(text).sentences] == ["«Прилив пришёл.»", "Да."]


@pytest.mark.parametrize("piece", ["e.g. ", "Mr. ", "1. ", ".", "!)", " ", "\n ", "“", '"a\n', "(a\n", "*a", "`", "1:"])
def test_a_strange_text_takes_no_more_than_its_length(grows_linearly, piece):
    def count(text: str) -> None:
        writing = Writing(f"Dear Bo\n{text}x")
        for trait in TRAITS:
            trait.counts(writing)

    grows_linearly(count, piece, 4_000)


@pytest.mark.parametrize("kind", [ANY, COMMIT, MESSAGE])
def test_every_trait_has_rates_of_many_authors_to_compare_with(kind):
    assert shipped(kind).traits.keys() == {trait.name for trait in TRAITS}
