from __future__ import annotations

DOCUMENTS = [{"text": text} for text in ("Bread needs flour.", "Trains leave at four.", "Snow fell all night.")]
LINES = [
    {"user_id": user, "request": f"{word} again", "documents": DOCUMENTS, "gain": [1.0, 0.5, -1.0], "target": "It is."}
    for user, word in (("ann", "bread"), ("bob", "snow"))
]


def test_drafts_by_which_documents_they_were_shown(judge_endpoint, pearl_eval, write_lines, tmp_path):
    words = ["generation", "--by-count", "--gains", write_lines(LINES), "--model", "bm25", "--template", "commit"]
    words += ["--llm", "openai", "PEARL_MAX_DRAFT_TOKENS=16", "--k", 2, f"PEARL_HOME={tmp_path}"]
    run = pearl_eval(*words, "--json", "-")
    assert run.status == 0
    assert "4 of 4" in run.err
    (found,) = run.json["models"]
    assert (found["model"], found["n"], found["users"]) == ("bm25", 2, 2)
    assert [row["count"] for row in found["by_count"]] == [1, 2]
    *margins, everything = found["curve"]
    assert margins
    assert (everything["margin"], everything["documents"]["value"]) == (None, 2.0)
    assert everything["rouge2"] == found["by_count"][1]["rouge2"]
    assert "--k 2" in run.json["command"]

    shown = pearl_eval(*words)
    assert "4 of 4" not in shown.err  # all were kept
    assert "bm25: documents that score at most the margin below the best." in shown.out
