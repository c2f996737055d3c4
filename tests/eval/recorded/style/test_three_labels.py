"""Three labels: what two of them pass over."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sklearn.metrics import f1_score

from eval.recorded.style.labels import THREE
from eval.recorded.style.people import Subject
from eval.recorded.style.report import best_bounds, three_labels


@pytest.fixture
def compared(read, detected, corrected):
    """The row over all judges, from what the judge and people say of each text; two draws each."""

    def rows(said, people, **choices):
        lines = [
            detected(f"t{i}", "absent" if label == "not" else "present", label=label, draw=draw, score=score)
            for i, (label, score) in enumerate(said)
            for draw in range(2)
        ]
        golds = {Subject("detection", f"t{i}", "storytelling"): label for i, label in enumerate(people)}
        return list(three_labels(read(lines).units, golds, replace(corrected, **choices)))

    return rows


def test_somewhat_for_every_very_is_wrong(compared, columns, detected):
    """Two labels call it perfect."""
    overall = compared([("somewhat", 0.5)] * 6, ["very"] * 6)[0]
    assert (overall["average"], overall["f1"]["value"], overall["accuracy"]["value"]) == ("macro", 0.0, 0.0)
    assert overall["confusion"]["very"] == {"not": 0, "somewhat": 6, "very": 0, "no_label": 0}
    two = columns([detected(f"t{i}") for i in range(6)], {f"t{i}": "present" for i in range(6)})
    assert two.f1(["all"] * 6)["all"].value == 1.0


def test_macro_f1_of_three_labels(compared):
    said = ("not", "somewhat", "very", "very", "not", "somewhat", "not")
    people = ("not", "not", "very", "somewhat", "not", "somewhat", "very")
    overall, *more = compared([(label, 0.0) for label in said], people)
    assert overall["f1"]["value"] == pytest.approx(f1_score(people, said, average="macro"))
    assert {label: sum(row.values()) for label, row in overall["confusion"].items()} == {
        "not": 3,
        "somewhat": 2,
        "very": 2,
    }
    assert {tuple(row["by"]) for row in more} == {("task",), ("judge",), ("judge", "task")}
    assert "random" in overall["baselines"]


def test_bounds_are_learned_on_other_texts(compared):
    """A judge whose scores are in order and far too low: the recorded labels are all "not"."""
    people = [THREE[i % 3] for i in range(60)]
    said = [("not", 0.01 + 0.1 * THREE.index(label) + 0.001 * (i % 7)) for i, label in enumerate(people)]
    assert compared(said, people)[0]["f1"]["value"] < 0.2
    assert compared(said, people, bins="learned")[0]["f1"]["value"] == 1.0
    alone = compared(said[:1], people[:1], bins="learned")[0]
    assert (alone["n"], alone["no_label"]) == (0, 1)  # there is no other text to learn from


def test_learned_bounds_are_the_best_of_all(read, detected):
    """Slowly: every pair of scores as bounds."""
    scores = [0.1, 0.4, 0.35, 0.8, 0.6, 0.2, 0.9, 0.5]
    people = ["not", "somewhat", "not", "very", "very", "somewhat", "very", "not"]
    units = read([detected(f"t{i}", score=score) for i, score in enumerate(scores)]).units
    golds = {Subject("detection", f"t{i}", "storytelling"): label for i, label in enumerate(people)}

    def quality(low, high):
        labels = [THREE[(score > low) + (score > high)] for score in scores]
        return f1_score(people, labels, average="macro", labels=list(THREE), zero_division=0)

    best = max(quality(low, high) for low in scores for high in scores if low <= high)
    assert quality(*best_bounds(units, golds)) == pytest.approx(best)


def test_no_row_without_three_labels(read, detected, corrected):
    subject = Subject("detection", "text 1", "storytelling")
    assert list(three_labels(read([detected()]).units, {subject: "very"}, corrected)) == []
    assert list(three_labels(read([detected(label="present")]).units, {subject: "very"}, corrected)) == []
    assert list(three_labels(read([detected(label="very")]).units, {}, corrected)) == []


def test_the_command_compares_three_labels(pearl_eval, detected, write_lines):
    lines = [detected(f"t{i}", label="somewhat", score=0.5) for i in range(3)]
    people = [
        {"item": f"t{i}", "style": "storytelling", "rater": rater, "label": "very"} for i in range(3) for rater in "ab"
    ]
    words = ("style", "--judgements", write_lines(lines), "--human", write_lines(people, "people.jsonl"))
    found = pearl_eval(*words, "--json", "-").json
    assert found["f1"][0]["f1"]["value"] == 1.0
    assert found["three_labels"][0]["f1"]["value"] == 0.0
    assert found["three_labels"][0]["confusion"]["very"]["somewhat"] == 3
    run = pearl_eval(*words)
    assert "Three labels: the judge's for each of people's." in run.out
    run = pearl_eval(*words, "--choose", "bins=learned", "--json", "-")
    assert run.json["choices"]["bins"] == "learned"
