"""Votes by rule, against counting by hand."""

from __future__ import annotations

import pytest

from eval.recorded.forensics.by_rule import PAIR_TRAITS, diction, rule_annotator, with_rules, with_words_of, words_json
from eval.recorded.forensics.pairs import AnnotatedPairs, Annotator, Pair, Vote
from pearl.errors import InputError

ANN = Annotator("aaaaaaaa", {"name": "ann", "type": "human"})


def pair(number, a, b, prefers="a"):
    texts = {"response_a": {"text": a}, "response_b": {"text": b}}
    return Pair({"id": f"p{number}", "prompt": "Why?", **texts, "annotations": {ANN.id: {"pref": prefers}}})


def votes(a, b):
    """The votes of every rule on two texts, by the rule."""
    data = with_rules(AnnotatedPairs({ANN.id: ANN}, (pair(1, a, b),)))
    names = {annotator.fields["by_rule"]: name for name, annotator in data.annotators.items() if name != ANN.id}
    return {name: data.pairs[0].vote(annotator) for name, annotator in names.items()}


def test_each_trait_votes_for_the_text_with_the_higher_rate():
    found = votes(
        "Hi Ann,\n\nI **think** so!\n\n- one\n- two\n\nCheers\nBo", "It is done. It cost 5 euros; is it fine?"
    )
    chosen = {"a": "lists bold_italics greeting sign_off exclamations structure i", "b": "semicolons questions"}
    for side, names in chosen.items():
        assert {name: found[name] for name in names.split()} == dict.fromkeys(names.split(), Vote(side))
    assert found["closing_question"] is Vote.B
    assert found["emojis"] is Vote.NEITHER
    assert len(found) == len(PAIR_TRAITS)


def test_equal_rates_are_both_however_they_are_written():
    found = votes("No, no, no, no, no, no.", "Yes, yes, yes.")  # 5 of 6 and 2 of 3
    assert found["commas"] is Vote.A
    found = votes("one, two three", "one, two three four, five six")
    assert (found["commas"], found["words"]) == (Vote.BOTH, Vote.B)


def test_a_text_without_a_word_has_nothing_to_rate():
    found = votes("...", "Well, yes.")
    assert (found["commas"], found["words"]) == (Vote.NOT_APPLICABLE, Vote.B)


def test_annotators_are_marked():
    annotator = rule_annotator("dashes", "use more dashes", "Dashes between words.")
    assert annotator.name == "use more dashes (by rule)"
    assert (annotator.kind, annotator.fields["by_rule"]) == ("principle", "dashes")
    data = with_rules(AnnotatedPairs({ANN.id: ANN}, (pair(1, "A b.", "C d."),)))
    assert data.pairs[0].vote(ANN.id) is Vote.A  # what was there stays
    assert all("(by rule)" in each.name for each in data.annotators.values() if each.id != ANN.id)


def own_words(count):
    return tuple(
        pair(number, f"Indeed the boat, indeed number {number} sails.", f"The boat number {number} surely sails today.")
        for number in range(count)
    )


def test_words_of_an_annotator_are_learned_from_the_other_half():
    data = AnnotatedPairs({ANN.id: ANN}, own_words(40))
    found = diction(data.pairs, ANN.id)
    assert found.more[0].word == "indeed"
    assert {use.word for use in found.less} >= {"surely", "today"}
    (first, *_) = words_json(found.more)
    assert (first["word"], first["count"], first["other_count"]) == ("indeed", 80, 0)
    made = with_words_of(data, ANN)
    (annotator,) = (each for each in made.annotators.values() if each.id != ANN.id)
    assert annotator.name == "use more words of ann (by rule)"
    assert {each.vote(annotator.id) for each in made.pairs} == {Vote.A}
    # a pair of which every word is its own says nothing of itself
    odd = Pair({**pair(99, "zebra zebra zebra", "gnu gnu gnu").fields})
    alone = with_words_of(AnnotatedPairs({ANN.id: ANN}, (*data.pairs, odd)), ANN)
    assert alone.pairs[-1].vote(annotator.id) is Vote.NEITHER


def test_too_few_pairs_for_words():
    with pytest.raises(InputError, match="--words-of 'ann': half of the pairs have no word"):
        with_words_of(AnnotatedPairs({ANN.id: ANN}, own_words(1)), ANN)
    tied = tuple(Pair({**each.fields, "annotations": {ANN.id: {"pref": None}}}) for each in own_words(10))
    with pytest.raises(InputError, match="there are too few pairs"):
        with_words_of(AnnotatedPairs({ANN.id: ANN}, tied), ANN)
