"""The human study, by hand: majority, mean certainty of those in it, agreement, people and judges side by side."""

from __future__ import annotations

import pytest

# three raters an item; the right answer is A of every item but the last
SAID = {
    "p1": (("A", 90), ("A", 80), ("B", 10)),  # right, 85 certain
    "p2": (("B", 60), ("B", 50), ("A", 99)),  # wrong, 55
    "p3": (("A", 40), ("A", 60), ("A", 80)),  # right, 60
    "p4": (("A", 70), ("B", 70), ("tie", 70)),  # no majority
    "p5": (("B", 90), ("B", 70), ("B", 95)),  # right, 85
}
RIGHT = {"p1": "A", "p2": "A", "p3": "A", "p4": "A", "p5": "B"}


def ratings(**more):
    return [
        {"item": item, "rater": f"rater {index}", "label": label, "certainty": certainty} | more
        for item, said in SAID.items()
        for index, (label, certainty) in enumerate(said)
    ]


def records():
    """A judge that says A with 90, in both orders; the second record of each shows the texts the other way round."""
    return [
        {
            "item": item,
            "swapped": swapped,
            "ground_truth": right if not swapped else {"A": "B", "B": "A"}[right],
            "answer": "B" if swapped else "A",
            "certainty": 90,
        }
        for item, right in RIGHT.items()
        for swapped in (False, True)
    ]


@pytest.fixture
def study(run_pearl, write_lines):
    def run(*more, lines=None, judged=None):
        words = ["--ratings", write_lines(ratings() if lines is None else lines, "ratings.jsonl")]
        if judged is not None:
            words += ["--records", write_lines(judged, "judged.jsonl")]
        return run_pearl("eval", "personalized", *words, *more)

    return run


def test_people_and_judge_side_by_side(study):
    run = study("--json", "-", judged=records())
    assert run.status == 0, run.err
    result = run.json["people"]
    people, each, judge = result["rows"]
    assert (result["items"], result["compared"], result["without_majority"], result["raters"]) == (5, 4, 1, 3)
    assert (people["all"]["correct"], people["all"]["total"]) == (3, 4)
    assert (people["high"]["correct"], people["high"]["total"]) == (2, 2)  # p1 and p5, at 85
    assert (people["low"]["correct"], people["low"]["total"]) == (1, 2)
    assert (each["all"]["correct"], each["all"]["total"]) == (2 + 1 + 3 + 3, 12)
    assert (judge["all"]["correct"], judge["all"]["total"]) == (3, 4)
    assert (judge["high"]["total"], judge["low"]["accuracy"]) == (4, None)
    at = {point["threshold"]: (point["correct"], point["total"]) for point in people["sweep"]}
    assert (at[55.0], at[60.0], at[85.0], at[90.0]) == ((3, 4), (3, 3), (2, 2), (0, 0))
    assert "people, by majority" in study(judged=records()).out


def test_a_missing_rating_is_counted(study):
    some = [{"item": "p1", "rater": f"rater {9 + index}", "label": label} for index, label in enumerate((None, "N/A"))]
    found, plain = (
        study("--json", "-", lines=lines, judged=records()).json["people"] for lines in ([*ratings(), *some], None)
    )
    assert (found["ratings"], found["missing"], found["raters"]) == (15, 2, 3)
    assert (found["rows"], found["agreement"]) == (plain["rows"], plain["agreement"])


def test_agreement_of_two_raters(study):
    """Of three pairs agree: 1 of p1, 1 of p2, 3 of p3, none of p4, 3 of p5: 8 of 15."""
    agreement = study("--json", "-", judged=records()).json["people"]["agreement"]
    assert agreement["mean"] == pytest.approx(8 / 15, abs=0.03)
    assert (agreement["draws"], agreement["drawn"], agreement["items"]) == (1000, 5, 5)
    many = [row | {"item": f"{row['item']} {copy}", "ground_truth": "A"} for copy in range(20) for row in ratings()]
    agreement = study("--json", "-", lines=many).json["people"]["agreement"]
    assert (agreement["drawn"], agreement["items"]) == (30, 100)
    assert agreement["sd"] == pytest.approx((8 / 15 * 7 / 15 / 30) ** 0.5, abs=0.02)


def test_right_answers_from_the_ratings(study):
    lines = [row | {"ground_truth": RIGHT[row["item"]]} for row in ratings()]
    result = study("--json", "-", lines=lines).json["people"]
    assert [row["who"] for row in result["rows"]] == ["people, by majority", "people, each rating"]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([{"item": "p1", "rater": "Ann", "label": "A"}] * 2, ":2: rater: 'Ann' rated 'p1' on line 1 already."),
        ([{"item": "p1", "rater": "Ann"}], ":1: label: is missing; the line has item, rater."),
        ([{"item": "p1", "rater": "Ann", "label": "X"}], ":1: label: must be A, B or tie."),
        ([{"item": "p1", "rater": "Ann", "label": "A", "certainty": 0}], ":1: certainty: must lie between 1 and 100."),
        ([{"item": "p1", "rater": "Ann", "label": "A", "certainty": "x"}], ":1: certainty: must be a number"),
        ([{"item": "p1", "rater": "Ann", "label": "A"}], "No rated item has both a majority and a right answer"),
        ([], "there is no rating in it"),
    ],
)
def test_bad_ratings(study, lines, says):
    run = study(lines=lines)
    assert says in run.refusal


def test_a_rater_whom_nobody_asked(study):
    asked = ("--raters", "rater 0,rater 1,rater 2")
    assert study(*asked, judged=records()).status == 0
    run = study(*asked, lines=[*ratings(), {"item": "p1", "rater": "Cy", "label": "A"}], judged=records())
    assert "ratings.jsonl:16: rater: 'Cy' is none of rater 0, rater 1, rater 2." in run.refusal


def test_orders_that_disagree_are_shown(study):
    """The judge says A in both orders, so it has no answer to p1: wrong, and counted."""
    disagreeing = [{**line, "answer": "A"} if line["item"] == "p1" else line for line in records()]
    run = study("--json", "-", judged=disagreeing)
    judge = run.json["people"]["rows"][2]
    assert (judge["unanswered"], judge["all"]["correct"]) == (1, 2)
    assert "unanswered" in study(judged=disagreeing).out


def test_two_right_answers(study):
    run = study(lines=ratings(ground_truth="B"), judged=records())
    assert "'p1' has two right answers, B and A." in run.err


def test_what_is_drawn_and_what_is_missing(study, run_pearl, tmp_path):
    """Ratings that have their right answers need no judge, but only judges are drawn."""
    lines = [row | {"ground_truth": RIGHT[row["item"]]} for row in ratings()]
    drawn = study("--picture", tmp_path / "picture.svg", lines=lines)
    assert (drawn.status, drawn.err) == (2, "pearl: --picture and --report draw judges; give their --records.\n")
    assert "Give --records" in run_pearl("eval", "personalized").err
