from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from eval.recorded.style.consistency import (
    PEOPLE,
    among_people,
    over_judges,
    randolph,
    self_consistency,
    with_each_other,
)
from eval.recorded.style.counts import Texts
from eval.recorded.style.people import Subject, read_people


def of_counts(counts):
    texts = Texts([f"t{i}" for i in range(len(counts))])
    (row,) = randolph(np.array(counts, float), ["all"] * len(counts), texts).values()
    return row


def test_randolph_by_hand():
    # three ratings each; agreement is 1 in the first, one pair of three in the second: 2/3 on average, chance is 1/2
    row = of_counts([(3, 0), (1, 2)])
    assert row["kappa"]["value"] == pytest.approx((2 / 3 - 1 / 2) / (1 - 1 / 2))
    assert (row["band"], row["units"], row["ratings"], row["other_number"]) == ("fair", 2, 3, 0)


@pytest.mark.parametrize("seed", range(5))
def test_randolph_pair_by_pair(seed):
    random = np.random.default_rng(seed)
    ratings = random.integers(0, 3, (12, 4))
    pairs = [each[i] == each[j] for each in ratings for i, j in combinations(range(4), 2)]
    counts = [[(each == label).sum() for label in range(3)] for each in ratings]
    assert of_counts(counts)["kappa"]["value"] == pytest.approx((np.mean(pairs) - 1 / 3) / (2 / 3))


def test_one_label_is_full_agreement():
    row = of_counts([(3, 0), (3, 0)])
    assert (row["kappa"], row["band"]) == ({"value": 1.0, "low": 1.0, "high": 1.0}, "almost perfect")


def test_what_is_undefined_has_a_reason():
    assert of_counts([(1, 0), (0, 1)])["undefined"] == "no item has two ratings"


def test_units_with_another_number_of_ratings_count_as_they_are():
    """A judge that is unreadable where it wavers would gain by leaving these out."""
    row = of_counts([(3, 0), (1, 2), (2, 0), (1, 1), (1, 0)])
    assert (row["units"], row["ratings"], row["other_number"]) == (4, 3, 3)
    assert row["kappa"]["value"] == pytest.approx(2 * ((1 + 1 / 3 + 1 + 0) / 4 - 1 / 2))


def test_self_consistency(read, detected, corrected):
    draws = {"t1": ("present",) * 3, "t2": ("present", "absent", "absent")}
    lines = [detected(item, verdict, draw=i) for item, every in draws.items() for i, verdict in enumerate(every)]
    lines += [detected(item, judge="Ben", task="email", draw=i) for item in draws for i in range(3)]
    lines += [detected("t3", draw=i, task="tweet") for i in range(3)]
    rows = list(self_consistency("detection", read(lines).units, corrected))
    found = {(row["judge"], row["task"]): row for row in rows}
    assert found["Ann", "email"]["kappa"]["value"] == pytest.approx(1 / 3)
    assert found["Ann", None]["kappa"]["value"] == pytest.approx(2 * ((1 + 1 + 1 / 3) / 3 - 1 / 2))
    assert found["Ben", None]["kappa"]["value"] == 1.0
    assert {(mean["task"], mean["judges"]): mean["mean"] for mean in over_judges(rows)} == {
        (None, 2): pytest.approx((found["Ann", None]["kappa"]["value"] + 1) / 2),
        ("email", 2): pytest.approx((1 / 3 + 1) / 2),
        ("tweet", 1): 1.0,
    }


def test_published_means():
    """Table 2 of the paper is not the mean of Table 18 (email, yes or no), and Table 3 is that of Table 26."""
    table_18 = (0.75, 0.75, 0.64, 0.97, 0.98, 0.97, 0.90, 0.90)
    kind = {"kind": "detection", "scheme": "yes_no", "task": "email"}
    (mean,) = over_judges([kind | {"kappa": {"value": value}} for value in table_18])
    assert mean["mean"] == pytest.approx(0.8575)  # Table 2 has 0.92
    table_26 = (0.70, 0.71, 0.86, 0.95, 0.98, 0.97, 0.90, 0.92)
    (mean,) = over_judges([kind | {"kappa": {"value": value}} for value in table_26])
    assert round(mean["mean"], 2) == 0.87  # as in Table 3


def test_people(read, detected, write_lines, corrected):
    given = {"t1": ("very", "very", "somewhat"), "t2": ("not", "not", "not"), "t3": ("very", "not", "cant_tell")}
    lines = [
        {"item": item, "style": "storytelling", "rater": f"r{i}", "label": label}
        for item, every in given.items()
        for i, label in enumerate(every)
    ]
    people = read_people(write_lines(lines))
    judged = {Subject("detection", "t1", "storytelling"): read([detected("t1")]).units[0]}
    rows = list(among_people(people, judged, corrected))
    assert [(row["style"], row["task"]) for row in rows] == [
        (None, None),
        (None, "email"),
        ("storytelling", None),
        ("storytelling", "email"),
    ]
    whole = rows[0]
    # of three levels: 1/3, 1 and, of two ratings, 0; of two labels two texts agree wholly and one not at all
    assert whole["kappa"]["value"] == pytest.approx(((1 / 3 + 1 + 0) / 3 - 1 / 3) / (2 / 3))
    assert whole["labels"]["kappa"]["value"] == pytest.approx(2 * (2 / 3 - 1 / 2))
    assert (whole["units"], whole["other_number"], whole["scale"]) == (3, 1, ["not", "somewhat", "very"])


def test_intervals_are_over_texts(read, detected, corrected):
    """Several styles of one text are no more texts."""
    said = {"Ann": "present absent present absent", "Ben": "present present present absent"}

    def kappa(styles):
        lines = [
            detected(f"t{i}", verdict, judge=judge, style=style)
            for judge, every in said.items()
            for i, verdict in enumerate(every.split())
            for style in styles
        ]
        (found,) = with_each_other("detection", read(lines).units, {}, corrected)
        return found["coefficients"]["randolph_kappa"]

    assert kappa(["storytelling"]) == kappa(["storytelling", "journalistic", "legal precision"])


def test_judges_with_people(read, detected, corrected):
    said = {"Ann": ("present", "present", "absent", "absent"), "Ben": ("present", "absent", "absent", "invalid")}
    lines = [
        detected(f"t{i}", verdict, judge=judge) for judge, every in said.items() for i, verdict in enumerate(every)
    ]
    people = {
        Subject("detection", f"t{i}", "storytelling"): label
        for i, label in enumerate(("present", "absent", None, "absent", "present"))
    }
    (found,) = with_each_other("detection", read(lines).units, people, corrected)
    assert found["raters"] == [PEOPLE, "Ann", "Ben"]
    pairs = {(pair["rater"], pair["against"]): pair for pair in found["pairs"]}
    ann = pairs[PEOPLE, "Ann"]
    assert (ann["items"], ann["agreement"]["value"]) == (3, pytest.approx(2 / 3))
    assert ann["randolph_kappa"]["value"] == pytest.approx((2 / 3 - 1 / 2) / (1 / 2))
    assert ann["randolph_band"] == "fair"
    assert pairs["Ann", "Ben"]["items"] == 3
    assert pairs[PEOPLE, "Ben"]["items"] == 2
