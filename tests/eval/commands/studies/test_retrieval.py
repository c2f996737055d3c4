from __future__ import annotations

import json

import pytest

from pearl import __version__

DOCUMENTS = [{"text": "Bread needs flour."}, {"text": "Trains leave at four."}, {"text": "Snow fell."}]
LINES = [
    {"user_id": "ann", "request": "flour for bread", "documents": DOCUMENTS, "gain": [5.0, 1.0, -1.0]},
    {"user_id": "ann", "request": "trains at four", "documents": DOCUMENTS, "gain": [0.5, 3.0, 0.5]},
    {"user_id": "ben", "request": "trains", "documents": DOCUMENTS, "gain": [0.0, -2.0, 4.0], "target": "Snow fell."},
]


def test_the_contract_of_the_design(pearl_eval, write_lines):
    run = pearl_eval("retrieval", "--gains", write_lines(LINES, "g.jsonl.gz"), "--model", "bm25", "--json", "-")
    assert (run.status, run.err) == (0, "")
    assert run.json["n"] == 3
    (model,) = run.json["models"]
    assert list(model)[:5] == ["model", "top1_gain", "topk_gain", "ndcg", "pearson_r"]
    assert model["model"] == "bm25"
    assert model["top1_gain"]["value"] == pytest.approx((5 + 3 - 2) / 3)
    assert model["top1_gain"].keys() == {"value", "low", "high"}
    # the bread has more words in common than the trains, which two requests choose: 5, then 3 and -2
    assert model["topk_gain"]["value"] == pytest.approx((5 + 4 + 2) / 9)
    assert run.json["users"] == 2


def test_the_newest_is_chosen_by_recent_and_scores_do_not_change(pearl_eval, write_lines):
    words = ("--model", "bm25", "--model", "recent", "--k", 1, "--json", "-")
    run = pearl_eval("retrieval", "--gains", write_lines(LINES), *words)
    bm25, recent = run.json["models"]
    assert recent["top1_gain"] == recent["topk_gain"]
    assert recent["top1_gain"]["value"] == pytest.approx((-1 + 0.5 + 4) / 3)
    assert recent["pearson_r"] is None
    assert bm25["pearson_r"] is not None
    assert [row["model"] for row in run.json["differences"]] == ["bm25", "recent"]
    assert run.json["near_duplicates"]["documents_set_aside"] == 1


def test_a_path_that_is_not_utf8(pearl_eval, write_lines, tmp_path):
    path = tmp_path / "g\udcff.jsonl"  # a byte that no text has
    write_lines(LINES).rename(path)
    run = pearl_eval("retrieval", "--gains", path, "--model", "bm25", "--json", "-")
    assert (run.status, run.err) == (0, "")
    assert f"--gains '{tmp_path}/g?.jsonl'" in run.json["command"]
    shown = pearl_eval("retrieval", "--gains", path, "--model", "bm25")
    assert (shown.status, shown.err) == (0, "")
    shown.out.encode()


def test_the_result_says_what_made_it_and_is_the_same_again(pearl_eval, write_lines, tmp_path):
    path = write_lines(LINES)
    words = ("retrieval", "--gains", path, "--model", "bm25", "--baseline", "random")
    to_file = pearl_eval(*words, "--json", tmp_path / "r.json")
    assert (to_file.status, to_file.out, to_file.err) == (0, "", "")
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["version"] == __version__
    assert result["command"] == (
        f"pearl eval retrieval --gains {path} --model bm25 --baseline random --k 3 --near-duplicates 0.5"
    )
    assert [row["model"] for row in result["models"]] == ["bm25", "random"]
    assert sum(result["models"][0]["s1"]["counts"]) == 3
    assert pearl_eval(*words, "--json", "-").json == result


def test_several_files_are_one(pearl_eval, write_lines):
    first, second = write_lines(LINES[:1], "a.jsonl"), write_lines(LINES[1:], "b.jsonl")
    run = pearl_eval("retrieval", "--gains", first, "--gains", second, "--model", "bm25", "--json", "-")
    whole = pearl_eval("retrieval", "--gains", write_lines(LINES), "--model", "bm25", "--json", "-")
    assert run.json["models"] == whole.json["models"]


def test_tables_for_the_eye(pearl_eval, write_lines):
    run = pearl_eval("retrieval", "--gains", write_lines(LINES), "--model", "bm25", "--model", "recent")
    assert (run.status, run.err) == (0, "")
    assert "2.0 [-2.0, 4.0]" in run.out
    assert "random (expected)" in run.out
    assert "3 requests of 2 users; 95% intervals by bootstrap over users." in run.out
    assert "…" not in run.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--model", "none"), "There is no model 'none'; there are "),
        (("--model", "bm25", "--model", "bm25"), "The model 'bm25' is named twice"),
        (("--model", "bm25", "--baseline", "bm25"), "The model 'bm25' is named twice"),
        (("--model", "bm25", "--json", "no/r.json"), "--json no/r.json: there is no folder no."),
        (("--model", "bm25", "--json", "/"), "--json /: that is a folder"),
    ],
)
def test_unusable_options(pearl_eval, write_lines, words, complaint):
    run = pearl_eval("retrieval", "--gains", write_lines(LINES), *words)
    assert run.refusal.startswith(f"pearl: {complaint}")


def test_a_file_that_is_not_there_and_one_that_is_cut(pearl_eval, write_lines, tmp_path):
    run = pearl_eval("retrieval", "--gains", tmp_path / "none.jsonl", "--model", "bm25")
    assert "none.jsonl: cannot be read" in run.refusal
    path = write_lines(LINES * 50, "g.jsonl.gz")
    path.write_bytes(path.read_bytes()[:-20])
    assert "g.jsonl.gz: cannot be read" in pearl_eval("retrieval", "--gains", path, "--model", "bm25").err


def test_gains_of_real_writing(pearl_eval, shared):
    path = shared / "data/commits/git_gains_sample.jsonl.gz"
    run = pearl_eval("retrieval", "--gains", path, "--model", "bm25", "--model", "recent", "--json", "-")
    assert (run.json["n"], run.json["users"], run.json["resampled"]) == (120, 60, "users")
    bm25, recent = run.json["models"]
    random, best = run.json["baselines"]
    values = [row["top1_gain"]["value"] for row in (random, recent, bm25, best)]
    assert values == sorted(values)
    assert all(0 < row["ndcg"]["value"] <= 1 for row in (random, recent, bm25, best))
