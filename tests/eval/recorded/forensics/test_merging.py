"""Data sets put together: order, votes of both, and what collides."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from eval.recorded.forensics.merging import apart, merged
from eval.recorded.forensics.pair_files import read_pairs
from eval.recorded.forensics.pairs import Vote, short_id
from pearl.errors import InputError

HUMAN = short_id("human")


@pytest.fixture
def two(pairs_file):
    """Two files, the second with the pairs 1 to 3 and votes of another person; the first with the pairs 0 to 2."""

    def make(first="aab", second="bba", name="person", **fields):
        paths = [pairs_file({"human": first + " "}, "first.json"), pairs_file({name: " " + second}, "second.json")]
        data = []
        for path, drop in zip(paths, (3, 0), strict=True):
            value = json.loads(path.read_text())
            del value["comparisons"][drop]
            value["metadata"] |= {"dataset_name": path.stem, **fields}
            path.write_text(json.dumps(value))
            data.append((path.name, read_pairs(path)))
        return data

    return make


def test_order_votes_and_metadata(two):
    whole = merged(two())
    assert [pair.id[-1] for pair in whole.pairs] == ["0", "1", "2", "3"]
    assert [annotator.name for annotator in whole.annotators.values()] == ["human", "person"]
    votes = [[pair.vote(short_id(name)) for name in ("human", "person")] for pair in whole.pairs]
    assert votes == [[Vote.A, None], [Vote.A, Vote.B], [Vote.B, Vote.B], [None, Vote.A]]
    assert whole.metadata["dataset_name"] == "first + second"
    assert whole.metadata["available_metadata_keys_per_comparison"] == ["topic"]
    backwards = merged(two()[::-1])
    assert [pair.id[-1] for pair in backwards.pairs] == ["1", "2", "3", "0"]


def test_one_annotator_who_votes_alike_is_one(two):
    whole = merged(two("aab", "aba", "human"))
    assert [pair.vote(HUMAN) for pair in whole.pairs] == [Vote.A, Vote.A, Vote.B, Vote.A]


def test_different_votes_of_one_annotator_are_named_or_kept_apart(two):
    data = two("aab", "bba", "human")
    message = rf"first.json and second.json: an annotator votes differently on 00000001 \({HUMAN}\); --apart keeps"
    with pytest.raises(InputError, match=message):
        merged(data)
    (_, first), (name, second) = data
    whole = merged([data[0], (name, apart(name, second, first.annotators))])
    assert [annotator.name for annotator in whole.annotators.values()] == ["human", "human (second.json)"]
    assert whole.pairs[1].vote(HUMAN) == Vote.A
    assert whole.pairs[1].vote(short_id(f"second.json {HUMAN}")) == Vote.B


def test_colliding_ids_are_named(two):
    data = two()
    fields = json.loads(json.dumps(data[1][1].pairs[0].fields))
    fields["response_a"]["text"] = "another"
    changed = read_again(data[1][1], fields)
    with pytest.raises(
        InputError, match=r"first.json and second.json: pairs that differ in text, prompt or model have the id 00000001"
    ):
        merged([data[0], ("second.json", changed)])
    twice = data[0][1].with_annotators(
        {}, (data[0][1].pairs[0], changed.pairs[0].__class__({**fields, "id": "00000000"}))
    )
    with pytest.raises(InputError, match=r"first.json: pairs that differ in .* have the id 00000000"):
        merged([("first.json", twice)])


@pytest.mark.parametrize("without", ["first", "second"])
@pytest.mark.parametrize("lacking", [{}, {"text": None}])
def test_annotations_without_texts_get_those_of_the_other_file(two, without, lacking):
    """Texts are published apart from the votes where their licences differ."""
    data = two()
    place = ["first", "second"].index(without)
    name, bare = data[place]
    bared = {"prompt": None, "response_a": lacking, "response_b": lacking}
    data[place] = name, bare.with_annotators({}, tuple(type(pair)({**pair.fields, **bared}) for pair in bare.pairs))
    expected = {pair.id: pair for pair in merged(two()).pairs}
    for pair in merged(data).pairs:
        assert pair.annotations == expected[pair.id].annotations
        if pair.id[-1] in "12":
            assert (pair.texts, pair.prompt) == (expected[pair.id].texts, expected[pair.id].prompt)


def test_of_two_versions_the_result_has_the_later_one(two):
    for versions in (("1.0", "2.0"), ("2.0", "1.0")):
        data = [
            (name, replace(whole, metadata={**whole.metadata, "version": version}))
            for (name, whole), version in zip(two(), versions, strict=True)
        ]
        pair = data[versions.index("1.0")][1].pairs[1]
        pair.annotations[next(iter(pair.annotations))]["pref"] = "text_b"
        whole = merged(data)
        assert whole.metadata["version"] == "2.0"
        assert {vote["pref"] for pair in whole.pairs for vote in pair.annotations.values()} == {"a", "b"}


def read_again(data, fields):
    return data.with_annotators({}, (type(data.pairs[0])(fields), *data.pairs[1:]))


def test_different_annotators_of_one_id_are_named(two):
    data = two("aab", "bba", "human")
    renamed = data[1][1].with_annotators({HUMAN: type(data[1][1].annotators[HUMAN])(HUMAN, {"name": "Ann"})}, ())
    with pytest.raises(InputError, match=f"different annotators have the id {HUMAN}"):
        merged([data[0], ("second.json", renamed)])
