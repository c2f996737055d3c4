from __future__ import annotations

import json

import pytest
from scipy.stats import pearsonr

from eval.recorded.style.ability import Ability, contrasts, correlations, read_abilities
from pearl.errors import InputError

FOUND = ("present", "present", "present", "present")


def judged_by(detected, right):
    """Four texts that have the style; each judge finds so many of them."""
    return [
        detected(f"t{i}", "present" if i < number else "absent", judge=judge)
        for judge, number in right.items()
        for i in range(4)
    ]


def test_correlation_with_ability(columns, detected):
    right = {"Ann": 1, "Ben": 2, "Cy": 4, "Dan": 3}
    scores = {"Ann": 0.5, "Ben": 0.6, "Cy": 0.7, "Dan": 0.9, "Zoe": 0.1}
    made = columns(judged_by(detected, right), {f"t{i}": "present" for i in range(4)})
    rows = list(correlations(made, {name: Ability(score, None) for name, score in scores.items()}))
    assert [(row["scheme"], row["task"]) for row in rows] == [
        (None, None),
        (None, "email"),
        ("yes_no", None),
        ("yes_no", "email"),
    ]
    each = [2 * number / (number + 4) for number in right.values()]
    expected = pearsonr(each, [0.5, 0.6, 0.7, 0.9]).statistic
    assert rows[0]["pearson_r"]["value"] == pytest.approx(expected)
    assert rows[0]["pearson_r"]["low"] < expected < rows[0]["pearson_r"]["high"]
    assert rows[0]["judges"] == 4


@pytest.mark.parametrize(
    ("right", "scores", "said"),
    [
        ({"Ann": 1, "Ben": 2}, {"Ann": 0.5, "Ben": 0.6}, "fewer than 3 judges have a score"),
        ({"Ann": 1, "Ben": 2, "Cy": 3}, {"Ann": 0.5, "Ben": None, "Cy": 0.7}, "fewer than 3 judges have a score"),
        ({"Ann": 2, "Ben": 2, "Cy": 2}, {"Ann": 0.5, "Ben": 0.6, "Cy": 0.7}, "all judges have the same F1"),
        (
            {"Ann": 1, "Ben": 2, "Cy": 3},
            {"Ann": 0.5, "Ben": 0.5, "Cy": 0.5},
            "all judges have the same F1, or the same",
        ),
    ],
)
def test_undefined_correlation(columns, detected, right, scores, said):
    made = columns(judged_by(detected, right), {f"t{i}": "present" for i in range(4)})
    row = next(correlations(made, {name: Ability(score, None) for name, score in scores.items()}))
    assert row["pearson_r"] is None
    assert row["undefined"].startswith(said)


def test_contrasts(columns, detected):
    """Ann, who also writes, finds one of two of her own and both of Ben's; Cy finds all."""
    writers = {"t0": "Ann", "t1": "Ann", "t2": "Ben", "t3": "Ben"}
    lines = [
        detected(item, "absent" if (judge, item) == ("Ann", "t0") else "present", judge=judge, generator=writer)
        for judge in ("Ann", "Cy")
        for item, writer in writers.items()
    ]
    abilities = {"Ann": Ability(0.6, "x"), "Ben": Ability(0.7, "x"), "Cy": Ability(0.8, "y")}
    made = columns(lines, dict.fromkeys(writers, "present"))
    found = {(row["contrast"], row["task"]): row for row in contrasts(made, abilities)}
    contrast = found["self_less_other", None]
    assert [(side["n"], side["f1"]["value"]) for side in contrast["sides"]] == [(2, pytest.approx(2 / 3)), (6, 1.0)]
    assert contrast["difference"]["value"] == pytest.approx(-1 / 3)
    assert contrast["within_judges"]["judges"] == 1  # Cy writes nothing
    assert contrast["within_judges"]["difference"]["value"] == pytest.approx(-1 / 3)
    family = found["same_less_different_family", None]
    assert [side["n"] for side in family["sides"]] == [4, 4]
    assert family["within_judges"] == {"judges": 0, "difference": None}
    stronger = found["stronger_less_weaker", "email"]
    assert [side["n"] for side in stronger["sides"]] == [4, 2]  # Cy is stronger than both, Ann weaker than Ben


def test_a_contrast_without_a_side(columns, detected):
    made = columns([detected(generator="Zoe")], {"text 1": "present"})
    found = {row["contrast"]: row for row in contrasts(made, {}) if row["task"] is None}
    assert found["self_less_other"]["difference"] is None
    assert found["self_less_other"]["undefined"] == "no judgement is of self"
    assert found["stronger_less_weaker"]["undefined"] == "no judgement is of stronger judge or of weaker judge"


def test_texts_of_two_writers_are_of_neither(columns, ranked):
    lines = [ranked(order=order, generator_a="Ann", generator_b="Ben") for order in ("ab", "ba")]
    made = columns(lines, {"pair 1": "a"}, "ranking")
    assert {side["n"] for row in contrasts(made, {}) for side in row["sides"]} == {0}


def test_reading(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"Ann": {"score": 1, "family": "x"}, "Ben": {"family": "y"}}))
    assert read_abilities(path) == {"Ann": Ability(1.0, "x"), "Ben": Ability(None, "y")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", ": must be a JSON object, not an array"),
        ('{"Ann": 0.7}', ": Ann: must be an object with score and family."),
        ('{"Ann": {"skore": 1}}', ": Ann: must be an object with score and family."),
        ('{"Ann": {"score": "high"}}', ": Ann.score: must be a number, not a string"),
        ('{"Ann": {"score": true}}', ": Ann.score: must be a number"),
        ('{"Ann": {"family": 1}}', ": Ann.family: must be a string"),
        ('{"Ann": \n', ":2: is not JSON"),
        ('{"Ann": {"score": NaN}}', ":1: is not JSON"),
    ],
)
def test_bad_abilities(tmp_path, text, said):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_abilities(path)
    assert raised.value.message.startswith(f"{path}{said}")


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_abilities(tmp_path / "none.json")
