"""Annotators that always choose one model's text."""

from __future__ import annotations

import pytest

from eval.recorded.forensics.identity import identity_annotator, identity_vote, models_of, with_models
from eval.recorded.forensics.pairs import AnnotatedPairs, Pair, Vote, short_id
from pearl.errors import InputError


def pair(a, b):
    texts = {"response_a": {"text": "Yes.", "model": a}, "response_b": {"text": "No.", "model": b}}
    return Pair({"id": f"{a}{b}", "prompt": None, **texts})


@pytest.mark.parametrize(
    ("models", "references", "vote"),
    [
        (("m", "x"), (), Vote.A),
        (("x", "m"), (), Vote.B),
        (("m", "m"), (), Vote.BOTH),
        (("x", "y"), (), Vote.NEITHER),
        (("m", None), (), Vote.NOT_APPLICABLE),
        (("m", "x"), ("x",), Vote.A),
        (("m", "y"), ("x",), Vote.NOT_APPLICABLE),
    ],
)
def test_the_text_of_the_model(models, references, vote):
    assert identity_vote(models, "m", references) is vote


def test_every_model_is_a_target_unless_some_are_named():
    data = AnnotatedPairs({}, (pair("m", "x"), pair("y", "m")))
    assert models_of(pair.models for pair in data.pairs) == ["m", "x", "y"]
    every = with_models(data)
    assert [each.name for each in every.annotators.values()] == ["m", "x", "y"]
    one = with_models(data, ["m"], ["x"])
    (annotator,) = one.annotators.values()
    assert annotator == identity_annotator("m", ["x"])
    assert annotator.id == short_id("model_identity_m_over_references")
    assert [each.vote(annotator.id) for each in one.pairs] == [Vote.A, Vote.NOT_APPLICABLE]


def test_models_that_no_pair_names():
    with pytest.raises(InputError, match="--target-model: no pair names a model"):
        with_models(AnnotatedPairs({}, (pair(None, None),)))
    with pytest.raises(InputError, match="--reference-model z: no pair names it; there are m, x"):
        with_models(AnnotatedPairs({}, (pair("m", "x"),)), ["m"], ["z"])
