"""Habits: which are listed, on what evidence, and when they go."""

from __future__ import annotations

import pytest

from pearl.records import Document
from pearl.style.manner.habits import DAY_S, Habit, habits, readable
from pearl.style.manner.reference import shipped
from pearl.style.manner.usual_rates import UsualRates
from pearl.style.manner.writing import Writing

AUTHORS = UsualRates.of_authors(shipped("any"))
DASHED = "We met at the shed - late - and whilst it rained we mended two wheels. Nothing else."
PLAIN = "We met at the shed and mended two wheels. Nothing else."


def history(*texts: str, every: float = DAY_S) -> list[Document]:
    return [Document(f"t{place}", text, 1000.0 + place * every) for place, text in enumerate(texts)]


def named(documents: list[Document], name: str) -> Habit | None:
    return next((habit for habit in habits(documents, AUTHORS).listed if habit.name == name), None)


@pytest.mark.parametrize(
    ("texts", "every", "enough"),
    [(5, DAY_S, True), (4, DAY_S, False), (9, 0.0, False), (5, 0.5 * DAY_S, True), (4, 2 * DAY_S, False)],
)
def test_a_habit_needs_five_texts_of_three_days(texts: int, every: float, enough: bool) -> None:
    documents = history(*[DASHED] * texts, every=every)
    assert (habits(documents, AUTHORS).needs is None) is enough
    assert bool(habits(documents, AUTHORS).listed) is enough


GERMAN = "Wir haben uns am Schuppen getroffen und zwei Räder geflickt; sonst ist nichts passiert."


def test_texts_in_another_language_are_left_out_where_there_are_many() -> None:
    mixed = history(*[DASHED, GERMAN] * 6)
    assert [document.text for document in readable(mixed, AUTHORS)] == [DASHED] * 6
    assert (habits(mixed, AUTHORS).needs, habits(mixed, AUTHORS).left_out) == (None, 6)
    assert named(mixed, "semicolons") is None
    found = named(mixed, "dashes")
    assert found is not None
    assert found.texts == 6
    assert found.rate.value == pytest.approx(2 * 100 / len(Writing(DASHED).words))


def test_a_few_texts_of_uncommon_words_stay() -> None:
    documents = history(*[DASHED] * 8, "cbmem console dump: romstage, ramstage, payload, verstage, bootblock, smm")
    assert readable(documents, AUTHORS) == documents


def test_a_history_needs_enough_in_the_language_of_the_authors() -> None:
    documents = history(*[DASHED] * 4, *[GERMAN] * 8)
    assert "201 authors write English, and these texts do not" in (habits(documents, AUTHORS).needs or "")
    assert habits(documents, AUTHORS).listed == ()


def test_a_sign_is_no_word_of_the_card() -> None:
    own = history(*["我们明天见呢，好的呢，谢谢呢。"] * 8)
    drafts = UsualRates.of_drafts(["我们明天见。好的。谢谢。"] * 20)
    assert habits(own, drafts).needs is None
    assert named(own, "word:呢") is None
    assert not [habit.name for habit in habits(own, drafts).listed if habit.name.startswith("word:")]


def test_the_texts_that_show_it_must_be_five_of_three_days_too() -> None:
    assert named(history(*[DASHED] * 4, *[PLAIN] * 5), "dashes") is None
    found = named(history(*[PLAIN] * 3, *[DASHED] * 5), "dashes")
    assert found is not None
    assert (found.texts, found.occasions, found.direction) == (5, 5, "more")
    assert [example.id for example in found.examples] == ["t7", "t6", "t5"]


def test_less_than_others_is_a_habit_as_well() -> None:
    found = named(history(*[PLAIN] * 40), "commas")
    assert found is not None
    assert (found.direction, found.rate.value, found.texts) == ("less", 0.0, 40)
    assert found.text.startswith("You use fewer commas than others: 0 per 100 words (0 to ")


def test_a_habit_goes_when_the_newest_texts_contradict_it() -> None:
    assert named(history(*[DASHED] * 20), "dashes") is not None
    assert named(history(*[DASHED] * 20, *[PLAIN] * 5), "dashes") is not None  # half of the newest ten
    assert named(history(*[DASHED] * 20, *[PLAIN] * 10), "dashes") is None


def test_a_word_is_of_the_common_ones_and_goes_with_the_newest_twenty() -> None:
    found = named(history(*["Until then we keep it. Until then it stays with us."] * 8), "word:until")
    assert found is not None
    assert found.rate.value == pytest.approx(100 * 2 / 11)
    assert "until" in found.instruction
    names = {habit.name for habit in habits(history(*["The shed rota of Otti, the shed rota."] * 9), AUTHORS).listed}
    assert not names & {"word:shed", "word:rota", "word:otti", "word:the"}
    gone = ["Until then we keep it. Until then it stays."] * 8 + [PLAIN] * 20
    assert named(history(*gone), "word:until") is None


def test_drafts_for_the_same_requests_compare_every_word() -> None:
    drafts = UsualRates.of_drafts([f"I would be happy to help you with the shed, number {n}." for n in range(20)])
    names = [habit.name for habit in habits(history(*["Kettle on, rota moved, kettle on."] * 9), drafts).listed]
    assert "word:kettle" in names
    assert "word:shed" not in names


def test_drafts_are_a_measure_in_any_language() -> None:
    drafts = UsualRates.of_drafts([f"Sehr geehrter Herr Bob, anbei erhalten Sie Nachricht {n}!" for n in range(20)])
    documents = history(*[GERMAN] * 9)
    assert habits(documents, drafts).needs is None
    assert "exclamations" in {habit.name for habit in habits(documents, drafts).listed}


@pytest.mark.parametrize(
    "text", ["lol ok", "👍🎉", "no idea, late again", "Rebase kvm_vcpu_ioctl onto next, it is in the way."]
)
def test_terse_texts_are_no_other_language(text: str) -> None:
    assert habits(history(*[text] * 6), AUTHORS).needs is None
