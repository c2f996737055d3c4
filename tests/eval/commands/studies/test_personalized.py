from __future__ import annotations

import json

import pytest


def test_figures_picture_and_page(pearl_eval, judged, write_lines, tmp_path):
    first, second = write_lines(judged(), "one.jsonl.gz"), write_lines(judged(8, certainty="NA"), "two.jsonl")
    words = ("personalized", "--records", first, "--records", second, "--threshold", 85)
    pages = []
    for name in ("a", "b"):
        picture, page = tmp_path / f"{name}.svg", tmp_path / f"{name}.html"
        run = pearl_eval(*words, "--json", "-", "--picture", picture, "--report", page)
        assert (run.status, run.err) == (0, "")
        pages.append((picture.read_bytes(), page.read_bytes()))
    assert pages[0] == pages[1]
    assert b"no certainty" in pages[0][0]
    html = pages[0][1].decode()
    assert html.count("<svg") == 1
    assert "http://" not in html.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    assert [found["file"] for found in run.json["files"]] == [str(first), str(second)]
    assert run.json["threshold"] == 85
    assert run.json["command"].startswith(f"pearl eval personalized --records {first} --records {second}")


def test_tables_for_the_eye(pearl_eval, judged, write_lines):
    lines = judged()
    lines[3]["acc"] = not lines[3]["acc"]
    run = pearl_eval("personalized", "--records", write_lines(lines))
    assert (run.status, run.err) == (0, "")
    assert "Preset recorded" in run.out
    assert "acc_contradicts_gold" in run.out


def test_presets_and_choices(pearl_eval, judged, write_lines):
    path = write_lines([*judged(4), *judged(1, answer="[", res=None)])
    words = ("personalized", "--records", path, "--json", "-", "--preset")
    assert pearl_eval(*words, "recorded").json["files"][0]["counted"] == 5
    assert pearl_eval(*words, "as_published").json["files"][0]["counted"] == 4
    run = pearl_eval(*words, "corrected", "--choose", "unparsed=dropped")
    assert run.json["choices"] == {"reading": "strict", "unparsed": "dropped"}
    assert run.json["files"][0]["counted"] == 4


def test_a_name_is_no_markup(pearl_eval, judged, write_lines, tmp_path):
    page = tmp_path / "p.html"
    path = write_lines(judged(4), "<b>&.jsonl")
    assert pearl_eval("personalized", "--records", path, "--report", page, "--json", "-").status == 0
    assert "<b>" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], ": there is no record in it."),
        ([{"answer": "A"}], ":1: ground_truth: is missing; the record has answer."),
        ([{"ground_truth": "A", "answer": "A"}, '{"ground_truth": '], ":2: is not JSON"),
    ],
)
def test_bad_input_is_one_line(pearl_eval, write_lines, lines, said):
    path = write_lines(lines)
    run = pearl_eval("personalized", "--records", path, "--json", "-")
    assert run.refusal.startswith(f"pearl: {path}{said}")


@pytest.mark.parametrize(
    "words", [("--preset", "none"), ("--picture", "x.gif"), ("--report", "no/such/folder.html"), ("--threshold", 0)]
)
def test_bad_options(pearl_eval, judged, write_lines, words):
    run = pearl_eval("personalized", "--records", write_lines(judged(4)), *words)
    assert (run.status, run.out) == (2, "")


def test_one_record_is_enough(pearl_eval, write_lines):
    run = pearl_eval("personalized", "--records", write_lines([{"ground_truth": "A", "answer": "A"}]), "--json", "-")
    assert json.loads(run.out)["files"][0]["correct"] == 1
