"""Columns side by side: their figures, their differences, and the forms in which they are written."""

from __future__ import annotations

import json

import numpy as np
import pytest

from eval.recorded.forensics.comparison import ColumnOptions, columns_of, compare_files, compared
from eval.recorded.forensics.measures import Resampling
from eval.recorded.forensics.tables import latex_of, side_by_side, spread
from eval.recorded.forensics.votes import read_votes
from pearl.errors import InputError

FEW = Resampling()


def run(paths, *references, **more):
    return compare_files(paths, ColumnOptions(reference=references, **more), FEW)


@pytest.fixture
def drawn(pairs_file):
    """400 pairs with votes at random: two people, the second much like the first, and two traits."""
    generator = np.random.default_rng(5)
    ann = generator.choice(list("ab"), 400)
    ben = np.where(generator.random(400) < 0.8, ann, generator.choice(list("ab"), 400))
    kind = np.where(generator.random(400) < 0.7, ann, generator.choice(list("ab-"), 400))
    dry = generator.choice(list("ab-"), 400)
    return pairs_file(
        {name: "".join(votes) for name, votes in (("ann", ann), ("ben", ben), ("is kind", kind), ("is dry", dry))}
    )


def test_people_are_compared_on_the_same_pairs(drawn):
    result = run([drawn], "ann", "ben")
    assert [column["name"] for column in result["columns"]] == ["ann", "ben"]
    kind, dry = result["annotators"]
    values = [cell["strength"]["value"] for cell in kind["columns"]]
    assert kind["max_difference"]["strength"]["value"] == pytest.approx(values[0] - values[1])
    assert (kind["max_difference"]["column"], kind["max_difference"]["against"]) == ("ann", "ben")
    assert kind["max_difference"]["significant"]
    assert not dry["max_difference"]["significant"]
    # four cells and two differences are tested
    assert kind["columns"][1]["p_corrected"] == pytest.approx(min(4 * kind["columns"][1]["p_value"], 1))
    assert kind["max_difference"]["p_corrected"] == pytest.approx(min(2 * kind["max_difference"]["p_value"], 1))


def test_a_paired_difference_is_that_of_the_bootstrap_over_pairs(drawn):
    (first, second) = columns_of([("x", read_votes(drawn))], ColumnOptions(reference=["ann", "ben"]))
    codes = first.table.codes
    place = next(n for n, each in enumerate(first.table.annotators) if "kind" in each.name)
    signed = [np.where(codes[:, place] < 2, np.where(codes[:, place] == codes[:, side], 1, -1), 0) for side in (0, 1)]
    generator = np.random.default_rng(2)
    gaps = [(signed[0][rows] - signed[1][rows]).mean() for rows in generator.integers(0, 400, (4000, 400))]
    result = compared([first, second], FEW)
    interval = result["annotators"][0]["max_difference"]["strength"]
    assert (interval["low"], interval["high"]) == pytest.approx(np.percentile(gaps, (2.5, 97.5)), abs=0.015)


def test_files_groups_and_models_are_columns(drawn, pairs_file):
    other = pairs_file({"ann": "abab", "is kind": "abba", "is warm": "abab"}, "other.json.gz".removesuffix(".gz"))
    files = run([drawn, other], "ann")
    assert [column["name"] for column in files["columns"]] == ["pairs", "other"]
    cells = {row["name"][-4:]: row["columns"] for row in files["annotators"]}
    assert cells["warm"][0] is None
    assert cells["warm"][1]["strength"]["value"] == 1.0
    groups = run([drawn], "ann", by="topic")
    assert [(column["name"], column["n"]) for column in groups["columns"]] == [("even", 200), ("odd", 200)]
    value = json.loads(drawn.read_text())
    value["comparisons"][0]["metadata"]["topic"] = None
    drawn.write_text(json.dumps(value))
    groups = run([drawn], "ann", by="topic")
    assert [column["n"] for column in groups["columns"]] == [200, 199]
    assert (files["left_out"], groups["left_out"]) == ({}, {"without_topic": 1})
    assert side_by_side(groups, "strength").caption.endswith(" Left out: 1 without topic.")
    models = run([drawn], models=True)
    assert [column["name"] for column in models["columns"]] == ["model: first", "model: second"]
    first, second = models["annotators"][0]["columns"]
    assert first["strength"]["value"] == -second["strength"]["value"]


def test_options_that_do_not_fit(drawn, pairs_file):
    with pytest.raises(InputError, match=r"pairs.json: --by mood: no pair has it in its metadata; there are topic"):
        run([drawn], "ann", by="mood")
    with pytest.raises(InputError, match="1 column, where 2 to 30 are needed"):
        run([drawn], "ann")
    with pytest.raises(InputError, match=r"pairs.json: there is no annotator 'eve'"):
        run([drawn], "ann", "eve")
    with pytest.raises(InputError, match="name a --reference, or --models"):
        run([drawn])
    ties = pairs_file({"ann": "abab", "ben": "&&00", "is kind": "abab"}, "ties.json")
    with pytest.raises(InputError, match=r"ties.json: ben: the reference chooses no response"):
        run([ties], "ann", "ben")


def test_tables_and_latex(drawn):
    result = run([drawn], "ann", "ben")
    result["annotators"][0]["name"] = "=cmd|' /C calc'!A0 & 50%_{x}"
    table = side_by_side(result, "strength")
    assert table.columns == ("annotator", "ann", "ben", "Max diff")
    assert table.rows[0][1].endswith("]*")
    assert spread(result["annotators"][0], "relevance") == 0.0
    relevance = side_by_side(result, "relevance")  # how often an annotator chooses is not tested
    assert not any(cell.endswith("*") for row in relevance.rows for cell in row)
    assert "textcolor" not in latex_of(result, "relevance")
    latex = latex_of(result, "strength")
    assert r"\& 50\%\_\{x\}" in latex
    assert r"\textcolor{gray}" in latex.splitlines()[5]  # the dry trait agrees with nobody
