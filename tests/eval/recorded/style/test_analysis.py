from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from eval.recorded.style.analysis import by_persona, correlations, levels_of_raters, of_judges, of_people, spearman
from eval.recorded.style.people import NOBODY, read_people


@pytest.mark.parametrize("seed", range(10))
def test_spearman_of_counts(seed):
    random = np.random.default_rng(seed)
    one, other = random.integers(0, 3, (2, 30))
    table = np.zeros((3, 3))
    np.add.at(table, (one, other), 1)
    assert spearman(table.reshape(-1)) == pytest.approx(spearmanr(one, other).statistic)


def test_spearman_of_one_label_is_undefined():
    assert np.isnan(spearman(np.array([3.0, 2.0, 0.0, 0.0])))


def ratings(levels):
    return [
        {"item": f"t{i}", "style": style, "rater": "r1", "label": level}
        for style, every in levels.items()
        for i, level in enumerate(every)
    ]


def test_styles_of_people(write_lines, corrected):
    levels = {
        "poetic": ("very", "somewhat", "not", "not", "very"),
        "rhyming": ("very", "very", "not", "somewhat", "cant_tell"),
        "legal": ("not", "not", "not", "not", "not"),
    }
    (said,) = levels_of_raters((), read_people(write_lines(ratings(levels))), corrected)
    found = {tuple(row["styles"]): row for row in correlations(said)}
    both = found["poetic", "rhyming"]
    assert (both["n"], both["of"]) == (4, "people")  # of the fifth text one could not tell
    assert both["rho"]["value"] == pytest.approx(spearmanr((2, 1, 0, 0), (2, 2, 0, 1)).statistic)
    assert found["legal", "poetic"]["rho"] is None
    assert found["legal", "poetic"]["undefined"] == "one of the two has the same label everywhere"


def test_styles_of_a_judge(read, detected, corrected):
    said = {"poetic": "present present absent absent", "rhyming": "present present absent present"}
    lines = [
        detected(f"t{i}", verdict, style=style, definition="...")
        for style, every in said.items()
        for i, verdict in enumerate(every.split())
    ]
    (judge,) = levels_of_raters(read(lines).units, NOBODY, corrected)
    (row,) = correlations(judge)
    assert (row["of"], row["scheme"], row["n"]) == ("Ann", "yes_no", 4)
    assert row["rho"]["value"] == pytest.approx(spearmanr((1, 1, 0, 0), (1, 1, 0, 1)).statistic)


def test_labels_given_a_persona(read, detected, write_lines, corrected):
    personas = ("1", "1", None)
    lines = [
        detected(f"t{i}", verdict, persona=persona, draw=draw)
        for i, persona in enumerate(personas)
        for draw, verdict in enumerate(("present", "absent", "present") if i == 0 else ("absent",))
    ]
    units = read(lines).units
    people = read_people(write_lines(ratings({"storytelling": ("very", "somewhat", "not", "very")})))
    rows = [
        row
        for said in levels_of_raters(units, people, corrected)
        for row in by_persona(said, {unit.subject: unit.about.persona for unit in units})
    ]
    found = {(row["of"], row["persona"]): row for row in rows}
    # draws: two of four present; the fourth text was not judged, so nobody says for whom it was written
    assert (found["Ann", "1"]["n"], found["Ann", "1"]["levels"]["present"]["value"]) == (4, 0.5)
    assert found["people", "1"]["levels"]["very"]["value"] == 0.5
    assert found["people", "null persona"]["levels"]["not"]["value"] == 1.0
    assert len(rows) == 4


def test_trigrams_of_judges(read, detected, ranked):
    lines = [
        detected("t1", reply="Vivid scenes of harbour life.\nAnswer: Yes"),
        detected("t2", reply="There are vivid scenes of harbour life"),
        detected("t3", "absent", reply="Nothing but dry numbers here"),
        detected("t4", style="legal precision", reply="Defined terms throughout the notice"),
        ranked(
            reply="The first text has vivid scenes of harbour life. Output (a)", response="a", verdict="scored", score=4
        ),
    ]
    found = {(row["kind"], row["style"]): row for row in of_judges(read(lines).justifications)}
    story = found["detection", "storytelling"]
    assert story["n"] == 2
    # and none of a line that says the verdict
    assert {each["trigram"] for each in story["trigrams"]} == {"vivid scenes harbour", "scenes harbour life"}
    assert found["detection", "legal precision"]["n"] == 1
    assert found["ranking", "storytelling"]["n"] == 1


def test_trigrams_of_people(write_lines):
    lines = [
        row | {"justification": why}
        for row, why in zip(
            ratings({"poetic": ("very", "somewhat", "very")}),
            ("soft slow music", "hardly any music here", "soft slow music again"),
            strict=True,
        )
    ]
    (row,) = of_people(read_people(write_lines(lines)).justifications)
    assert (row["style"], row["n"]) == ("poetic", 2)  # the highest level only
    assert row["trigrams"][0]["trigram"] == "soft slow music"


def test_replies_without_a_trigram(read, detected):
    assert list(of_judges(read([detected(), detected("t2", reply="it is what it is")]).justifications)) == []
