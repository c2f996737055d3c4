"""What is read of the data, and what is left out and named."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from pearl.errors import InputError
from tests.training.reward.conftest import versions
from training.reward.config import BOTH, CUT, KEPT, MEAN, WHOLE
from training.reward.material import PR, P, R, RewardMaterial, of_lengths, read_material


def pair(one: str, other: str, preferred: object = "1") -> dict[str, object]:
    return {"paragraph1": one, "paragraph2": other, "reference_preference": preferred}


def written(path: Path, *records: dict[str, object]) -> Path:
    path.write_bytes(b"\n".join(map(orjson.dumps, records)))
    return path


def test_versions_of_a_paragraph_with_different_scores_are_pairs(scored_file):
    found = read_material([scored_file(4)], (), MEAN)
    assert len(found.scored) == 8
    assert {(found.texts[each.better], found.texts[each.worse]) for each in found.pairs} == {
        versions(number) for number in range(4)
    }
    assert found.notes == ()


def test_a_paragraph_twice_with_two_scores(scored_file):
    text = versions(0)[0]  # 7 points
    data = scored_file(3, more=({"paragraph": text, "score": 2},))

    def scores(duplicates: str) -> list[float]:
        found = read_material([data], (), duplicates)
        return [each.score for each in found.scored if found.texts[each.text] == text]

    assert scores(MEAN) == [4.5]
    assert scores(KEPT) == [7, 2]
    for duplicates, how in ((MEAN, "whose mean counts"), (KEPT, "each of which counts")):
        notes = read_material([data], (), duplicates).notes
        assert notes == (f"1 paragraph with different scores, {how}: {data}:1, {data}:7",)


def test_pairs_that_contradict_each_other_are_left_out_and_named(scored_file, tmp_path):
    plain, ornate = versions(0)
    other, _ = versions(30)
    data = written(
        tmp_path / "pairs.jsonl", pair(plain, ornate, "1"), pair(ornate, plain + " ", "1"), pair(other, "Else.", "1")
    )
    found = read_material([data], (), MEAN)
    assert found.notes == (f"left out: 2 of 3 records, pairs that contradict each other: {data}:1, {data}:2",)
    assert len(found.pairs) == 1


def test_a_pair_counts_more_than_the_scores_of_its_texts(scored_file, tmp_path):
    plain, ornate = versions(0)  # the plain one has the better score
    data = written(tmp_path / "pairs.jsonl", pair(plain, ornate, "2"))
    found = read_material([scored_file(2), data], (), MEAN)
    chosen = [(found.texts[each.better], found.texts[each.worse]) for each in found.pairs]
    assert chosen == [(ornate, plain), versions(1)]


def test_pairs_are_read_as_they_are(tmp_path):
    plain, ornate = versions(1)
    data = written(tmp_path / "pairs.jsonl", pair(ornate, plain, "2"), pair(plain, ornate, 1))
    found = read_material([data], (), MEAN)
    assert [(found.texts[each.better], found.texts[each.worse]) for each in found.pairs] == [(plain, ornate)]
    with pytest.raises(InputError, match="--variant R: the data has no paragraph with a score to learn from; try P"):
        found.of_variant(R)
    assert found.of_variant(P) == found


def test_scores_off_the_scale_are_named_when_none_is_left(tmp_path):
    data = written(tmp_path / "pairs.jsonl", pair("One text.", "Another text."), {"paragraph": "A third.", "score": 12})
    found = read_material([data], (), MEAN)
    with pytest.raises(InputError, match=r"try P; left out: 1 of 2 records, scores outside 1 to 10: .*pairs\.jsonl:2"):
        found.of_variant(R)


def test_variants_learn_from_their_own(scored_file, tmp_path):
    found = read_material([scored_file(4)], (), MEAN)
    assert (len(found.of_variant(P).scored), len(found.of_variant(P).pairs)) == (0, 4)
    assert (len(found.of_variant(R).scored), len(found.of_variant(R).pairs)) == (8, 0)
    assert found.of_variant(PR) == found
    lone = written(tmp_path / "lone.jsonl", {"paragraph": versions(1)[0], "score": 3})
    with pytest.raises(InputError, match="no two versions of a paragraph with different scores; try R"):
        read_material([lone], (), MEAN).of_variant(PR)


def test_scores_off_the_scale_and_pairs_of_one_text_are_left_out_and_named(scored_file, tmp_path):
    scored = scored_file(
        2, more=({"paragraph": "Off the scale.", "score": 0}, {"paragraph": "So is this.", "score": 11})
    )
    same = written(tmp_path / "same.jsonl", pair("One text.", "One text. "))
    found = read_material([scored, same], (), MEAN)
    assert found.notes == (
        f"left out: 2 of 7 records, scores outside 1 to 10: {scored}:5, {scored}:6",
        f"left out: 1 of 7 records, pairs of one text: {same}:1",
    )
    assert len(found.texts) == 4


def test_a_paragraph_of_the_test_is_named_and_not_trained_on(scored_file, tmp_path):
    plain, _ = versions(2)
    tested = written(tmp_path / "test.jsonl", pair(plain + " It was edited later.", "Something else entirely."))
    data = scored_file(4)
    found = read_material([data], [tested], MEAN)
    assert found.notes == (
        f"left out: 2 records whose paragraph stands in --test or --other-kind, edited or not: {data}:5, {data}:6",
    )
    assert plain not in found.texts
    with pytest.raises(
        InputError, match=r"--data: nothing is left to train on: .* whose paragraph stands in --test or --other-kind"
    ):
        read_material([data], [data], MEAN)


def test_an_error_says_why_nothing_is_left(tmp_path):
    percent = written(tmp_path / "percent.json", {"paragraph": "The sea was grey.", "score": 80})
    with pytest.raises(InputError, match=r"nothing is left .*: left out: 1 of 1 record, scores outside 1 to 10: "):
        read_material([percent], [], MEAN)
    with pytest.raises(InputError, match="nothing is left to train on: the files hold no record"):
        read_material([written(tmp_path / "empty.json")], [], MEAN)


def test_a_bad_record_is_named_with_file_line_and_field(tmp_path):
    data = written(tmp_path / "bad.jsonl", pair("Good.", "Better.", "2"), {"paragraph": " ", "score": 3})
    with pytest.raises(InputError, match=r"bad\.jsonl:2: paragraph: is empty"):
        read_material([data], (), MEAN)


def test_versions_of_a_paragraph_stay_on_one_side_of_the_split(scored_file):
    found = read_material([scored_file(20)], (), MEAN)
    train, dev = found.split(0.25, seed=3)
    assert (len(train.pairs), len(dev.pairs)) == (15, 5)
    assert (len(train.scored), len(dev.scored)) == (30, 10)
    sides = [{found.originals[each.text] for each in part.scored} for part in (train, dev)]
    assert sides[0] & sides[1] == set()
    assert found.split(0.25, seed=3) == (train, dev)
    assert found.split(0.25, seed=4) != (train, dev)


def test_too_little_to_split(scored_file):
    found: RewardMaterial = read_material([scored_file(2)], (), MEAN)
    with pytest.raises(InputError, match="2 underlying paragraphs are too few to split"):
        found.split(0.1, seed=0)


BETTER = "The kettle sang. He put one cup back."
WORSE = "A deep longing washed over him. Golden light filled it. The kettle whispered on and on into the night."
PAIRS = [(BETTER, WORSE), (WORSE, BETTER), ("It rained.", "It rained. Nothing happened that day.")]
CUT_PAIRS = [(BETTER, "A deep longing washed over him."), ("A deep longing washed over him.", BETTER)]


@pytest.mark.parametrize(("lengths", "left"), [(WHOLE, PAIRS), (CUT, CUT_PAIRS), (BOTH, [*PAIRS, *CUT_PAIRS])])
def test_the_longer_text_ends_where_the_other_does(lengths, left):
    """The pair that only the cut sentences told apart is left out."""
    assert of_lengths(PAIRS, lengths) == left
