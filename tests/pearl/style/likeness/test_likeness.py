from __future__ import annotations

from dataclasses import replace

import pytest

from pearl.errors import InputError
from pearl.style.likeness.calibration import GIVEN, LikenessEvidence, calibration_for
from pearl.style.likeness.impostors import Impostors, shipped_references
from pearl.style.likeness.likeness import Likeness, nearest_register

GERMAN = (
    "Ich glaube, wir sollten morgen noch einmal in Ruhe darüber sprechen, bevor jemand etwas entscheidet, das wir "
    "später nicht mehr ändern können, denn eilig ist es ja gerade nicht, und die anderen wissen noch gar nichts davon."
)


@pytest.fixture
def reference(texts_by) -> Impostors:
    return Impostors.of("test", {f"user {person}": texts_by(person, 12) for person in range(6, 18)})


def test_ones_own_texts_are_likelier_than_anothers(texts_by, reference):
    texts = texts_by(1, 30)
    ann = Likeness.fit(texts[:25], reference)
    own = [ann.score(text).log_ratio or 0.0 for text in texts[25:]]
    others = [ann.score(text).log_ratio or 0.0 for text in texts_by(2, 5)]
    assert min(own) > max(others)


@pytest.mark.parametrize("kind", [GIVEN, "messages", "mail", "commits"])
def test_evidence_for_the_person_raises_the_probability(kind):
    calibrated = calibration_for(kind)
    even = LikenessEvidence(0.0, 0.0, 5.2, 100, 2000)
    by_words, by_characters = replace(even, words_ratio=0.5), replace(even, characters_ratio=0.5)
    assert calibrated.probability(even) < calibrated.probability(by_words) < 1.0
    assert calibrated.probability(even) < calibrated.probability(by_characters) < 1.0
    # beyond the histories that it was tuned on, size says no more
    most, more = (calibrated.logit(replace(even, history_words=words)) for words in (10**6, 10**7))
    assert most == more


def test_confidence_grows_with_length(texts_by, reference):
    texts = texts_by(1, 34)
    ann = Likeness.fit(texts[:25], reference)
    short, long = texts[25], " ".join(texts[25:])
    one = ann.evidence(short)
    assert one is not None
    logits = [ann.calibrated.logit(replace(one, words=words)) for words in (60, 100, 400)]
    assert abs(logits[0]) < abs(logits[1]) < abs(logits[2])
    assert ann.score(long).words > ann.score(short).words


@pytest.mark.parametrize(
    ("texts", "text", "verdict"),
    [
        (25, "Well then : the tide waits but still the kettle sings.", "too_short"),
        (3, None, "history_too_small"),
        (0, None, "history_too_small"),
        (25, GERMAN, "other_language"),
    ],
)
def test_it_abstains_and_says_why(texts_by, reference, texts, text, verdict):
    ann = Likeness.fit(texts_by(1, texts), reference)
    score = ann.score(text or texts_by(1, 1)[0])
    assert (score.probability, score.verdict, score.log_ratio) == (None, verdict, None)


@pytest.mark.parametrize(
    "text",
    [
        "Ik ben op het werk en we gaan in de middag naar de stad. Dat is een goed plan, maar we hebben ook nog een "
        "week de tijd om het te doen. Wat was er aan de hand met die man in de trein?",
        "Eu acho que a gente pode ir de carro para a praia no domingo, mas se o tempo for ruim a gente fica em casa e "
        "faz um churrasco com os amigos e a gente volta na segunda.",
        "No me importa si me dices que no, pero la verdad es que te he estado esperando por mucho tiempo en la casa de "
        "mi hermana y no has venido. Mi plan es ir a la ciudad con los demas.",
    ],
)
def test_the_shipped_registers_read_no_language_that_shares_short_words_with_english(text):
    assert {Likeness.fit([], one).score(text).verdict for one in shipped_references()} == {"other_language"}


def test_words_are_counted_where_no_blanks_part_them(reference):
    score = Likeness.fit([], reference).score("星期四我要九点半才能到。" * 10)
    assert (score.words, score.verdict) == (56, "other_language")


def test_impostors_of_a_script_without_blanks_read_it():
    def written(person: int, number: int) -> str:
        particle = "呢啊吧嘛"[person]
        return (
            f"明天我们在图书馆见面{particle}，第{number}次了{particle}。请把会议室的钥匙带来{particle}，谢谢大家{particle}。"
            * 3
        )

    others = Impostors.of("zh", {str(person): [written(person, n) for n in range(20)] for person in range(1, 4)})
    person = Likeness.fit([written(0, number) for number in range(20)], others)
    own, foreign = (person.score(written(who, 30)).probability for who in (0, 1))
    assert own is not None
    assert foreign is not None
    assert own > foreign


def test_a_text_that_is_repeated_counts_once(texts_by, reference):
    same = Likeness.fit(texts_by(1, 1) * 40, reference)
    assert (same.texts, same.score(texts_by(1, 1)[0]).verdict) == (1, "history_too_small")


def test_of_a_history_in_two_languages_the_impostors_is_fitted(texts_by, reference):
    german = [f"{GERMAN} {'Ja, ' * number}genau." for number in range(10)]
    both = Likeness.fit([*texts_by(1, 25), *german], reference)
    alone = Likeness.fit(texts_by(1, 25), reference)
    assert (both.texts, both.left_out, alone.left_out) == (25, 10, 0)
    assert both.score(texts_by(1, 26)[25]) == alone.score(texts_by(1, 26)[25])


def test_an_impostor_who_is_the_person_is_removed_and_named(texts_by):
    impostors = {f"user {person}": texts_by(person, 12) for person in range(6, 12)}
    ann = texts_by(1, 20)
    found = Impostors.of("test", {**impostors, "ann at work": ann[15:]}, person=ann)
    assert (found.removed, found.authors) == (("ann at work",), 6)
    with pytest.raises(InputError, match="no impostor"):
        Impostors.of("test", {"ann": ann}, person=ann)


def test_figures_are_kept_as_they_were(tmp_path, texts_by, reference):
    path = tmp_path / "test.safetensors"
    reference.save(path)
    loaded = Impostors.load(path)
    assert (loaded.name, loaded.authors, loaded.masking) == ("test", 12, reference.masking)
    text = texts_by(2, 1)[0]
    texts = texts_by(1, 20)
    assert Likeness.fit(texts, loaded).score(text) == Likeness.fit(texts, reference).score(text)


def test_a_register_within_a_larger_one_has_its_own_counts_of_what_is_common(texts_by):
    people = {f"user {person}": texts_by(person, 12) for person in range(6, 12)}
    larger = Impostors.of("all", people, least_authors=3)
    few = {"user 6": [*texts_by(6, 12), "a word that nobody else has"]}
    within = Impostors.of("few", few, within=larger)
    assert (within.masking, within.kind, within.authors) == (larger.masking, larger.kind, 1)
    for mine, theirs in zip(within.words.impostors.levels, larger.words.impostors.levels, strict=True):
        assert set(mine.grams) <= set(theirs.grams)
    own, other = texts_by(6, 13)[12], texts_by(7, 13)[12]

    def contrast(register: Impostors) -> float:
        return register.read(other).words.surprise - register.read(own).words.surprise

    assert contrast(within) > contrast(larger)


def test_mail_is_nearest_to_the_register_of_mail():
    mail = "Hi Bob, I think you are right, but as I said before it does not follow. On Monday Ann wrote: why not? Best"
    commit = "Fix the build on older compilers. The macro was not defined, so the header was included twice."
    assert [nearest_register([text] * 9).name for text in (mail, commit)] == ["mail", "commits"]
    assert nearest_register([*[GERMAN * 3] * 9, *[commit] * 9]).name == "commits"  # German alone is nearest to mail


def test_the_shipped_registers_hold_what_many_people_use():
    references = {reference.name: reference for reference in shipped_references()}
    assert set(references) == {"commits", "mail", "messages"}
    for reference in references.values():
        assert reference.name == "mail" or reference.authors > 200
        assert {"the", "of", "because"} <= reference.masking.vocabulary
        english, german = (reference.read(text) for text in ("so that this is what the other one does", GERMAN))
        assert english.characters.surprise + 1 < german.characters.surprise
