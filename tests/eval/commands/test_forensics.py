"""``pearl forensics`` on the command line."""

from __future__ import annotations

import json
import os

import pytest


@pytest.fixture
def forensics(run_pearl):
    return lambda *words, **options: run_pearl("forensics", *words, **options)


def test_metrics_writes_what_the_contract_says(forensics, pairs_file):
    path = pairs_file({"human": "aabbaabb", "is kind": "aab-a&bb", "is dry": "bbaabbaa"})
    run = forensics("metrics", "--pairs", path, "--reference", "human", "--json", "-")
    assert (run.status, run.err) == (0, "")
    result = run.json
    assert result["n"] == 8
    names = {"name", "relevance", "agreement", "kappa", "kappa_randomized", "strength", "p_value", "p_corrected"}
    assert all(names <= row.keys() for row in result["annotators"])
    assert [row["name"] for row in result["annotators"]] == [
        "Select the response that is kind",
        "Select the response that is dry",
    ]
    assert result["annotators"][1]["strength"]["value"] == -1.0
    again = forensics("metrics", "--pairs", path, "--reference", "human", "--json", "-")
    assert again.json == result


def test_metrics_shows_tables(forensics, pairs_file):
    path = pairs_file({"human": "aabb" * 10, "is kind": "aabb" * 10, "is dry": "bb-a" * 10})
    run = forensics("metrics", "--pairs", path, "--reference", "human", "--pairwise")
    assert run.status == 0
    assert "is kind" in run.out
    assert "over the 40 of 40 pairs" in run.out
    assert "is kind, is dry" in run.out


def test_merge_puts_files_together_and_writes_other_forms(forensics, pairs_file, tmp_path):
    first = pairs_file({"human": "aab", "is kind": "aa-"}, "first.json")
    second = pairs_file({"person": "bbab"}, "second.json")
    out = tmp_path / "both.jsonl.gz"
    run = forensics("merge", first, second, "--out", out, "--json", "-")
    assert (run.status, run.json["pairs"], run.json["annotators"]) == (0, 4, 3)
    found = forensics("metrics", "--pairs", out, "--reference", "person", "--json", "-").json
    assert [row["votes"] for row in found["annotators"]] == [3, 3]
    assert forensics("merge", out, "--out", tmp_path / "again.json").out.endswith("4 pairs, 3 annotators\n")
    refused = forensics("merge", first, second, "--out", tmp_path / "both.xml")
    assert (refused.status, "ends in .json, .jsonl, .csv" in refused.err) == (2, True)


def test_files_of_one_name_are_told_apart(forensics, pairs_file, tmp_path):
    files = []
    for folder, votes in (("ann", "aab"), ("ben", "abb"), ("cleo", "bbb")):
        (tmp_path / folder).mkdir()
        files.append(pairs_file({"human": votes}, f"{folder}/pairs.json"))
    whole = forensics("merge", *files, "--apart", "--out", tmp_path / "all.json", "--json", "-").json
    assert (whole["pairs"], whole["annotators"]) == (3, 3)
    words = [word for path in files for word in ("--pairs", path)]
    columns = forensics("compare", *words, "--reference", "human", "--json", "-").json["columns"]
    assert [column["name"] for column in columns] == list(map(str, files))


def test_pairs_that_are_read_are_not_written_over(forensics, pairs_file):
    path = pairs_file({"human": "aabb"})
    before = path.read_bytes()
    for words in (
        ("report", "--pairs", path, "--html", path),
        ("annotate", "--pairs", path, "--out", path, "--rules", "--judgements", path),
        ("merge", path, "--out", path.with_name("whole.json"), "--json", path),
    ):
        run = forensics(*words)
        assert "is a file that is read; name another one" in run.refusal
    assert path.read_bytes() == before


def test_figures_are_not_written_over_pairs(forensics, pairs_file, tmp_path):
    path, new = pairs_file({"human": "aabb"}), tmp_path / "new.json"
    for words in (
        ("annotate", "--pairs", path, "--rules", "--out", new),
        ("annotate", "--pairs", path, "--rules", "--out", path),
        ("merge", path, "--out", new),
        ("report", "--pairs", path, "--html", new),
    ):
        run = forensics(*words, "--json", words[-1])
        said = "that is read" if words[-1] == path else f"of {words[-2]}"
        assert f"{said}; name another one." in run.refusal
    assert not new.exists()


def test_a_report_counts_the_pairs_that_are_in_no_column(forensics, pairs_file, tmp_path):
    path, page = pairs_file({"human": "aabb", "is kind": "abab"}), tmp_path / "page.html"
    value = json.loads(path.read_text())
    del value["comparisons"][2]["metadata"]
    value["comparisons"].append(value["comparisons"][0])
    path.write_text(json.dumps(value))
    run = forensics("report", "--pairs", path, "--reference", "human", "--by", "topic", "--html", page, "--json", "-")
    assert run.json["left_out"] == {"repeated": 1, "without_topic": 1}
    assert "Left out: 1 repeated, 1 without topic." in page.read_text(encoding="utf-8")


def test_a_report_needs_pairs_that_can_be_read_again(forensics, tmp_path):
    os.mkfifo(tmp_path / "pairs.jsonl")
    run = forensics("report", "--pairs", tmp_path / "pairs.jsonl", "--html", tmp_path / "page.html")
    assert "is a pipe, which can be read only once" in run.refusal


def test_compare_writes_json_and_latex(forensics, pairs_file, tmp_path):
    path = pairs_file({"ann": "aabb" * 10, "ben": "abab" * 10, "is kind": "aabb" * 10})
    latex = tmp_path / "out.tex"
    words = ("compare", "--pairs", path, "--reference", "ann", "--reference", "ben")
    run = forensics(*words, "--latex", latex, "--json", "-")
    assert (run.status, run.err) == (0, "")
    assert run.json["annotators"][0]["max_difference"]["strength"]["value"] == 1.0
    assert latex.read_text().startswith(r"\begin{tabular}{lccr}")
    shown = forensics(*words, "--figure", "relevance")
    assert "Max diff" in shown.out
    assert forensics(*words, "--figure", "length").status == 2
