from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score

from eval.recorded.style.breakdowns import breakdowns, measured, reflections
from eval.recorded.style.counts import accuracy, class_f1, f1


def table(*rows):
    """Counts as a confusion: people's labels by the judge's, its last for none."""
    return np.array(rows, float).reshape(-1)


def test_f1_of_present():
    confusion = table((5, 2, 1), (3, 6, 4))  # 6 found, 2 too many, 3 missed, 4 without an answer
    assert f1(confusion, "binary") == pytest.approx(2 * 6 / (2 * 6 + 2 + 3))
    assert f1(confusion, "binary", unlabelled_wrong=True) == pytest.approx(2 * 6 / (2 * 6 + 2 + 3 + 4))
    assert accuracy(confusion) == pytest.approx((5 + 6) / 16)


def test_macro_f1_is_the_mean_of_the_labels():
    confusion = table((4, 1, 0, 0), (2, 1, 1, 0), (0, 1, 5, 0))
    each = (2 * 4 / (5 + 6), 2 * 1 / (4 + 3), 2 * 5 / (6 + 6))
    assert class_f1(confusion) == pytest.approx(each)
    assert f1(confusion, "macro") == pytest.approx(sum(each) / 3)


@pytest.mark.parametrize("seed", range(20))
def test_against_scikit_learn(seed):
    random = np.random.default_rng(seed)
    size = int(random.integers(2, 4))
    people, judge = random.integers(0, size, (2, int(random.integers(1, 12))))
    confusion = np.zeros((size, size + 1))
    np.add.at(confusion, (people, judge), 1)
    flat = confusion.reshape(-1)
    assert f1(flat, "macro") == pytest.approx(f1_score(people, judge, average="macro"))
    assert accuracy(flat) == pytest.approx(accuracy_score(people, judge))
    if size == 2 and (people.any() or judge.any()):
        assert f1(flat, "binary") == pytest.approx(f1_score(people, judge))


def rows_of(columns, *by):
    return [row for row in breakdowns(columns) if tuple(row["by"]) == by]


def test_figures_of_a_group(columns, detected):
    said = {"t1": "present", "t2": "present", "t3": "absent", "t4": "absent", "t5": "invalid"}
    gold = {"t1": "present", "t2": "absent", "t3": "absent", "t4": "present", "t5": "present", "t9": "present"}
    (row,) = rows_of(columns([detected(item, verdict) for item, verdict in said.items()], gold))
    assert (row["n"], row["no_label"], row["average"]) == (4, 1, "binary")
    assert row["f1"]["value"] == 2 * 1 / (2 * 1 + 1 + 1)
    assert row["f1_no_label_wrong"]["value"] == pytest.approx(2 * 1 / (2 * 1 + 1 + 2))
    assert row["accuracy"]["value"] == 0.5
    assert row["labels"]["present"] == {
        "judge": 0.5,
        "people": 0.5,
        "difference": row["labels"]["present"]["difference"],
    }
    assert row["labels"]["present"]["difference"]["value"] == 0.0
    # of four texts two are present: all of them said present is 2 * 2 / (4 + 2); half of them by chance 2 * 1 / (2 + 2)
    assert row["baselines"] == {
        "majority": 0.0,  # absent is as common, and first
        "always_present": pytest.approx(2 / 3),
        "random": 0.5,
        "random_as_people": 0.5,
    }
    assert row["less_baseline"]["value"] == pytest.approx(1 / 2 - 2 / 3)
    assert row["less_baseline"]["against"] == "always_present"


def test_pairs_of_one_request_are_drawn_themselves(columns, ranked):
    gold = {f"p{i}": "ab"[i % 2] for i in range(8)}
    lines = [
        ranked(item, "AB"[(i >= 6) != (order == "ba")], order=order, request="r")
        for i, item in enumerate(gold)
        for order in ("ab", "ba")
    ]
    (row,) = rows_of(columns(lines, gold, "ranking"))
    assert row["f1"]["low"] < row["f1"]["value"] < row["f1"]["high"]


def test_chance_in_three_labels(columns, ranked):
    """Why the paper's 33 says macro: with labels as common as each other, chance has a third of each."""
    gold = {f"p{i}": ["a", "tie", "b"][i % 3] for i in range(9)}
    lines = [
        ranked(item, "A" if label == "b" else "B", order=order) for item, label in gold.items() for order in ("ab",)
    ]
    lines += [line | {"order": "ba"} for line in lines]  # another text in each order: ties
    (row,) = rows_of(columns(lines, gold, "ranking"))
    assert row["average"] == "macro"
    assert row["baselines"]["random"] == pytest.approx(1 / 3)
    assert row["f1"]["value"] == pytest.approx((0 + 2 * 3 / (3 + 9) + 0) / 3)
    assert row["f1_by_label"] == {"a": 0.0, "tie": 0.5, "b": 0.0}


def test_no_case_is_no_figure(columns, detected):
    lines = [detected("t1", "absent"), detected("t2", "absent")]
    (row,) = rows_of(columns(lines, {"t1": "absent", "t2": "absent"}))
    assert row["f1"] is None
    assert row["undefined"] == "neither people nor the judge say so of any"
    assert row["accuracy"]["value"] == 1.0


def test_mean_over_judges(columns, detected):
    said = {"Ann": ("present", "present"), "Ben": ("present", "absent"), "Cy": ("absent", "absent")}
    lines = [
        detected(f"t{i}", verdict, judge=judge) for judge, every in said.items() for i, verdict in enumerate(every)
    ]
    made = columns(lines, {"t0": "present", "t1": "present"})
    (row,) = rows_of(made)
    each = np.array([1.0, 2 * 1 / (1 + 2), 0.0])
    assert row["over_judges"]["n"] == 3
    assert row["over_judges"]["mean"]["value"] == pytest.approx(each.mean())
    assert row["over_judges"]["se"] == pytest.approx(each.std(ddof=1) / 3**0.5)
    assert row["f1"]["value"] == pytest.approx(2 * 3 / (2 * 3 + 3))  # pooled: 3 found, 3 missed
    assert {row["group"]["judge"]: row["f1"]["value"] for row in rows_of(made, "judge")} == {
        "Ann": 1.0,
        "Ben": pytest.approx(2 / 3),
        "Cy": 0.0,
    }


def test_groups(columns, detected):
    about = (("email", None, "Zoe"), ("tweet", "1", "Zoe"), ("tweet", "2", None))
    lines = [
        detected(f"t{i}", task=task, persona=persona, generator=generator, scheme=scheme)
        for i, (task, persona, generator) in enumerate(about)
        for scheme in ("yes_no", "likert_3")
    ]
    made = columns(lines, {f"t{i}": "present" for i in range(3)})
    found = {by: {} for by in ("task", "persona", "conditioning", "generator")}
    for by, counts in found.items():
        counts.update({row["group"][by]: row["n"] for row in rows_of(made, by) if row["scheme"] == "yes_no"})
    assert found == {
        "task": {"email": 1, "tweet": 2},
        "persona": {"null persona": 1, "1": 1, "2": 1},
        "conditioning": {"null persona": 1, "styled": 2},
        "generator": {"Zoe": 2},  # of one text nobody says who wrote it
    }


def test_intervals_are_over_texts(columns, detected):
    """Judgements of one text count together: many schemes of few texts are no more texts."""
    texts = [("present", "present"), ("present", "absent"), ("absent", "present")]
    lines = [detected(f"t{i}", said, judge=judge) for i, (said, _) in enumerate(texts) for judge in ("Ann", "Ben")]
    gold = {f"t{i}": label for i, (_, label) in enumerate(texts)}
    both, alone = columns(lines, gold), columns(lines[::2], gold)
    assert rows_of(both)[0]["f1"] == rows_of(alone)[0]["f1"]


def test_a_confusion_of_a_resample(columns, detected):
    """Slowly: the same draws of texts, the figure of each from the judgements it holds."""
    lines = [detected(f"t{i}", ("present", "absent")[i % 3 == 0]) for i in range(8)]
    made = columns(lines, {f"t{i}": ("present", "absent")[i % 2] for i in range(8)})
    (totals,) = made.confusions(["all"] * 8).values()
    drawn = np.random.default_rng(0).multinomial(8, np.full(8, 1 / 8), size=200)
    for times, sums in zip(drawn, totals.resampled[:200], strict=True):
        people, judge = np.repeat(made.gold, times), np.repeat(made.said, times)
        if people.any() or judge.any():
            assert f1(sums, "binary") == pytest.approx(f1_score(people, judge))
    assert measured(made, totals)["f1"]["low"] < measured(made, totals)["f1"]["high"]


def test_reflection(columns, detected):

    lines = [detected(f"t{i}", verdict) for i, verdict in enumerate(("present", "absent", "absent"))]
    lines += [detected(f"t{i}", verdict, scheme="yes_no_reflected") for i, verdict in enumerate(("present",) * 3)]
    overall, email = reflections(columns(lines, {"t0": "present", "t1": "present", "t2": "absent"}))
    assert (overall["task"], email["task"], overall["judge"], overall["scheme"]) == (None, "email", "Ann", "yes_no")
    assert overall["f1"]["value"] == pytest.approx(2 * 1 / (1 + 2))
    assert overall["f1_reflected"]["value"] == pytest.approx(2 * 2 / (3 + 2))
    assert overall["difference"]["value"] == pytest.approx(4 / 5 - 2 / 3)
