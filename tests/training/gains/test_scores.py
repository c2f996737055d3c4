from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from pearl.errors import InputError
from pearl.records import Document, Request
from training.gains.scores import SCHEMA, other_model, scored_examples

HISTORY = {
    "ann": [
        Document("a", "first", 10.0, "one"),
        Document("c", "third", 30.0),
        Document("b", "second", 20.0, "two"),
        Document("t", "the target", 40.0, "three"),
    ]
}


def scores(*rows: tuple[str, str, str, float, float, int]) -> pa.Table:
    return pa.Table.from_pydict(
        {name: list(column) for name, column in zip(SCHEMA.names, zip(*rows, strict=True), strict=True)}, SCHEMA
    )


SCORES = scores(
    ("ann", "t", "c", -40.0, -50.0, 4), ("ann", "t", "a", -52.0, -50.0, 4), ("ann", "t", "b", -50.0, -50.0, 4)
)


@pytest.mark.parametrize(("normalize", "gains"), [("sum", [-2.0, 0.0, 10.0]), ("mean", [-0.5, 0.0, 2.5])])
def test_scores_with_their_texts_oldest_first(normalize, gains):
    (example,) = scored_examples(HISTORY, SCORES, normalize)
    assert (example.user_id, example.request_id, example.target) == ("ann", "t", "the target")
    assert example.request == Request("three", 40.0)
    assert [document.id for document in example.documents] == ["a", "b", "c"]
    assert example.gains.tolist() == gains


def test_without_times_there_are_none():
    """Not of the other documents either: nobody knows how long before the target they were written."""
    untimed = [*HISTORY["ann"][:3], Document("t", "the target", None, "three")]
    (example,) = scored_examples({"ann": untimed}, SCORES)
    assert example.request.timestamp is None
    assert [document.timestamp for document in example.documents] == [None] * 3


@pytest.mark.parametrize("missing", ["t", "b"])
def test_scores_of_another_history_are_refused(missing):
    less = {"ann": [document for document in HISTORY["ann"] if document.id != missing]}
    with pytest.raises(InputError, match=f"name the document '{missing}' of user 'ann'"):
        scored_examples(less, SCORES)


def test_no_scores_are_no_examples():
    assert scored_examples(HISTORY, SCHEMA.empty_table()) == []


@pytest.mark.parametrize("untimed", ["a", "x"])
def test_where_one_text_has_no_time_the_others_are_not_used(untimed):
    """A user's texts are divided at random then, also for one that is no candidate: times would lie in the future."""
    known = [*HISTORY["ann"], Document("x", "another", 50.0)]
    partly = [replace(each, timestamp=None) if each.id == untimed else each for each in known]
    (example,) = scored_examples({"ann": partly}, SCORES)
    assert example.request == Request("three", None)
    assert [document.timestamp for document in example.documents] == [None] * 3
    assert [document.id for document in example.documents] == ["c", "a", "b"]  # as they were scored


def test_it_is_known_how_long_the_target_is():
    (example,) = scored_examples(HISTORY, SCORES)
    assert example.target_tokens == 4


TINY = {"model": "tiny", "fingerprint": {"folder": "tiny", "content": "a digest", "dtype": "float32"}}


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({}, ""),
        ({"model": "../tiny"}, ""),
        ({"model": "../tiny", "content": "another"}, "model"),
        ({"content": "another"}, "model version"),
        ({"dtype": "bfloat16"}, "precision (--choose dtype)"),
        ({"model": "../tiny", "dtype": "bfloat16"}, "precision (--choose dtype)"),
    ],
)
def test_gains_compare_under_the_same_weights_and_precision(other, what):
    """Wherever the weights lie; they are told by their content."""
    fingerprint: dict[str, Any] = TINY["fingerprint"] | {  # type: ignore[operator]
        name: value for name, value in other.items() if name != "model"
    }
    assert other_model(TINY, {"model": other.get("model", "tiny"), "fingerprint": fingerprint}) == what


def test_weights_without_a_digest_are_told_by_their_name():
    unknown = {"fingerprint": {"folder": "tiny", "content": ""}}
    assert other_model({"model": "tiny"} | unknown, {"model": "../tiny"} | unknown) == "model"
