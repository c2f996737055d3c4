"""LambdaG by hand: without a habit of the person's the ratio is low, and chance comes from the seed alone."""

from __future__ import annotations

import pytest

from eval.likeness.methods import SampledImpostors
from pearl.likeness.masking import Masking

IMPOSTORS = ["Then the tide went out. So the kettle sang.", "The stone lay there. We went home, and it rained."] * 5
HISTORY = ["Well, the tide went out. Well, the kettle sang.", "Well, it rained. Well, we went home."] * 3
MASKING = Masking(frozenset({"the", "then", "so", "well", "we", "it", "and", "out", "went", "home", "there"}))


def ratios(passages, seed=0):
    return SampledImpostors(MASKING, IMPOSTORS, seed).ratios(HISTORY, passages)


def test_a_passage_in_the_persons_manner_has_the_higher_ratio():
    same_person, other_people = ratios(["Well, the stone went out.", "Then the stone went out."])
    assert same_person > 0 > other_people


def test_twice_the_sentences_weigh_twice():
    once, twice = ratios(["Well, it rained.", "Well, it rained. Well, it rained."])
    assert twice == pytest.approx(2 * once)


def test_draws_depend_on_the_seed_alone():
    passage = ["Then the kettle sang."]
    assert ratios(passage) == ratios(passage)
    assert ratios(passage) != ratios(passage, seed=1)
