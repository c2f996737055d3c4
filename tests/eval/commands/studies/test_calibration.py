from __future__ import annotations

import json

import pytest

from eval.commands.studies.calibration import METRICS

DOCUMENTS = [{"text": "Bread needs flour."}, {"text": "Trains leave at four."}, {"text": "Snow fell."}]
LINES = [
    {
        "user_id": f"user {index % 4}",
        "request": "flour for bread " * (index % 3) + "bread",
        "documents": DOCUMENTS,
        "gain": [float(index % 3) + index / 100, 1.0, -1.0],
        "target": "Bread was made.",
    }
    for index in range(24)
]


def test_figures_and_pictures(pearl_eval, write_lines, tmp_path):
    path = write_lines(LINES)
    words = ("calibration", "--gains", path, "--model", "bm25", "--model", "recent", "--bins", 4)
    run = pearl_eval(*words, "--json", "-", "--picture", tmp_path / "c.svg")
    assert (run.status, run.err) == (0, "")
    again = tmp_path / "again.svg"
    assert pearl_eval(*words, "--json", "-", "--picture", again).json == run.json
    assert again.read_bytes() == (tmp_path / "c.svg").read_bytes()
    assert b">recent<" in (tmp_path / "c.svg").read_bytes()
    bm25, recent = run.json["models"]
    assert [name for name in bm25 if name not in ("model", "reliability", "s1")] == [metric.name for metric in METRICS]
    assert bm25["pearson_r"]["value"] > 0.9
    assert recent["pearson_r"] is None
    assert sum(row["n"] for row in bm25["reliability"]) == run.json["n"] == 24
    assert run.json["near_duplicates"]["n"] == 24
    assert run.json["command"].startswith(f"pearl eval calibration --gains {path} --model bm25")


def test_tables_for_the_eye(pearl_eval, write_lines):
    run = pearl_eval("calibration", "--gains", write_lines(LINES), "--model", "bm25")
    assert (run.status, run.err) == (0, "")
    assert "bm25: requests by their best score." in run.out


@pytest.mark.parametrize("lines", [LINES[:1], LINES[:2]])
def test_one_user_or_one_request(pearl_eval, write_lines, tmp_path, lines):
    picture = tmp_path / "c.svg"
    run = pearl_eval(
        "calibration",
        "--gains",
        write_lines(lines[:1] * len(lines)),
        "--model",
        "bm25",
        "--json",
        "-",
        "--picture",
        picture,
    )
    assert (run.status, run.err) == (0, "")
    assert (run.json["users"], run.json["resampled"]) == (1, "requests")
    assert run.json["models"][0]["pearson_r"] is None
    assert picture.exists()


def test_a_bad_line_is_named(pearl_eval, write_lines):
    path = write_lines([LINES[0], json.dumps(LINES[0])[:-1]])
    run = pearl_eval("calibration", "--gains", path, "--model", "bm25", "--json", "-")
    assert run.refusal.startswith(f"pearl: {path}:2: is not JSON")
