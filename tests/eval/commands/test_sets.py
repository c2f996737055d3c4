from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TEXTS = [{"id": name, "text": f"The text {name}."} for name in "abcd"]


def line(user: str, score: list[float], gain: list[float], two: float, three: float) -> dict[str, Any]:
    """A request whose best document is b, its second a; the sets with d are never a prompt's."""
    sets = [{"documents": [1, 0], "gain": two}, {"documents": [1, 0, 2], "gain": three}]
    sets += [{"documents": [1, 3], "gain": 90.0}, {"documents": [1, 3, 0], "gain": 99.0}]
    return {"user_id": user, "request": "again", "documents": TEXTS, "gain": gain, "score": score, "sets": sets}


# alone, two, three: 4, 6, 5 and 2, 3, 9 in the chat; 10, 8, 6 on the list
CHAT = [line("ann", [1.0, 2.0, 0.5, 0.0], [0, 4, 0, 0], 6, 5), line("bob", [1.9, 2.0, 1.8, 0.0], [0, 2, 0, 0], 3, 9)]
MAIL = [line("eve", [1.0, 2.0, 0.9, 0.0], [0, 10, 0, 0], 8, 6)]


def test_the_margin_is_chosen_by_what_documents_gain_together(
    pearl_eval: Callable[..., Any],
    write_lines: Callable[..., Path],
    make_artifact: Callable[..., Path],
    run_pearl: Callable[..., Any],
    tmp_path: Path,
) -> None:
    chat, mail = write_lines(CHAT, "chat.jsonl"), write_lines(MAIL, "mail.jsonl")
    report = tmp_path / "sets.json"
    run = pearl_eval("sets", "--sets", chat, "--sets", mail, "--model", "mine", "--json", report)
    assert run.status == 0
    (found,) = json.loads(report.read_text())["models"]
    assert [(file["file"], file["n"], file["users"]) for file in found["files"]] == [
        ("chat.jsonl", 2, 2),
        ("mail.jsonl", 1, 1),
    ]
    # each file counts the same: the best alone (4 + 2) / 2 and 10, two of them 4.5 and 8, three 7 and 6
    assert [row["gain"]["value"] for row in found["by_count"]] == [6.5, 6.25, 6.5]
    *curve, everything = found["curve"]
    assert (everything["margin"], everything["documents"]["value"], everything["gain"]["value"]) == (None, 3.0, 6.5)
    # within 0.2 of the best bob's three, one of ann's and one of eve's: (4 + 9) / 2 and 10
    best = next(point for point in curve if 0.19 < point["margin"] < 1.0)
    assert (best["gain"]["value"], best["by_file"]["mail.jsonl"]["value"]) == (8.25, 10.0)
    assert best["less_all"]["gain"]["value"] == 1.75
    assert best["documents"]["value"] == 1.5

    shown = pearl_eval("sets", "--sets", chat, "--sets", mail, "--model", "mine")
    assert "mine: gain of the documents that score at most the margin below the best; 2 requests of" in shown.out

    folder = make_artifact()
    ran = run_pearl("train", "margin", "--model", folder, "--shown", report, "--metric", "gain")
    assert ran.status == 0
    told = ": gain 8.2500 at best, 6.5000 with all documents, as much by chance in "
    assert ran.err.startswith(f"no margin, for margin {best['margin']:.3f} is no better than chance{told}")
    # ten times as many users of either kind, with the same means
    files = [
        write_lines([row | {"user_id": f"{row['user_id']}{n}"} for row in rows for n in range(10)], f"{name}.jsonl")
        for name, rows in (("many-chats", CHAT), ("many-mails", MAIL))
    ]
    told_twice = [part for file in files for part in ("--sets", file)]
    assert pearl_eval("sets", *told_twice, "--model", "mine", "--json", report).status == 0
    assert json.loads(report.read_text())["models"][0]["by_chance"]["gain"] <= 0.05
    ran = run_pearl("train", "margin", "--model", folder, "--shown", report, "--metric", "gain")
    assert ran.err.startswith(f"margin {best['margin']:.3f}{told}")


def test_two_files_of_one_name_both_count(
    pearl_eval: Callable[..., Any], write_lines: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "list").mkdir()
    chat, mail = write_lines(CHAT, "sets.jsonl"), write_lines(MAIL, "list/sets.jsonl")
    run = pearl_eval("sets", "--sets", chat, "--sets", mail, "--model", "mine", "--json", "-")
    (found,) = run.json["models"]
    assert [(file["file"], file["n"]) for file in found["files"]] == [(str(chat), 2), (str(mail), 1)]
    assert [row["gain"]["value"] for row in found["by_count"]] == [6.5, 6.25, 6.5]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"score": None}, "has no scores or no sets"),
        ({"sets": []}, "has no scores or no sets"),
        ({"sets": [{"documents": [0, 1], "gain": 1}, {"documents": [2, 3], "gain": 1}]}, "no document is in all sets"),
        ({"sets": [{"documents": [1, 0], "gain": 1}, {"documents": [1, 3], "gain": 1}]}, "lacks the set of its best"),
    ],
)
def test_a_file_without_the_sets_that_a_prompt_shows(
    pearl_eval: Callable[..., Any], write_lines: Callable[..., Path], change: dict[str, Any], said: str
) -> None:
    run = pearl_eval("sets", "--sets", write_lines([MAIL[0] | change]), "--model", "mine")
    assert run.status == 2
    assert said in run.err


def test_the_scores_must_be_the_models(pearl_eval: Callable[..., Any], write_lines: Callable[..., Path]) -> None:
    file = write_lines([{**row, "retriever": "bm25"} for row in CHAT], "chat.jsonl")
    assert pearl_eval("sets", "--sets", file, "--model", "bm25").status == 0
    run = pearl_eval("sets", "--sets", file, "--model", "recent")
    assert (run.status, run.out) == (2, "")
    assert "chat.jsonl: has the scores of 'bm25', and --model's are of 'recent'" in run.err
