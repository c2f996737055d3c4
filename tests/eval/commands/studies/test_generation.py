from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pearl.settings import load_settings
from pearl.text.history.partition import SPLITS, split_of

DOCUMENTS = [
    {"text": "Bread needs flour.", "request": "bake bread"},
    {"text": "Trains leave at four.", "request": "catch a train"},
    {"text": "Snow fell all night.", "request": "report the snow"},
]
LINES = [
    {
        "user_id": f"user {index % 2}",
        "request": request,
        "documents": [{**document, "text": f"{document['text']} {index % 2}"} for document in DOCUMENTS],
        "gain": [1.0, 0.5, -1.0],
        "target": target,
    }
    for index, (request, target) in enumerate(
        [
            ("bake more bread", "Bread needs flour and time."),
            ("late train", "The train was late."),
            ("snow", "It fell."),
        ]
    )
]
SMALL = ("--llm", "embedded", "PEARL_MAX_DRAFT_TOKENS=16", "--k", 1, "--template", "commit")
ENDPOINT = ("--llm", "openai")  # in its place, where what the drafts say does not matter


@pytest.fixture
def generation(pearl_eval, write_lines, tmp_path):
    """`pearl eval generation` of BM25 with a few tokens a draft."""

    def run(*more: object, lines=LINES, models=("bm25",)):
        named = [word for model in models for word in ("--model", model)]
        home = f"PEARL_HOME={tmp_path}"
        return pearl_eval("generation", "--gains", write_lines(lines), *named, *SMALL, home, *more)

    return run


@pytest.fixture
def writer(judge_endpoint):
    """An endpoint that says the same in each draft, and something else in each revision."""
    revision = "Nothing is missing.\nEDITED DRAFT\nBread needs flour and time."
    judge_endpoint.says = lambda body: revision if "EDITED DRAFT" in body["messages"][-1]["content"] else "Four trains."
    return judge_endpoint


def answers(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])


@pytest.mark.slow
def test_a_draft_of_the_embedded_model_is_measured(generation, tmp_path):
    run = generation("--no-zero-shot", "--limit", 1, "--json", "-")
    assert run.status == 0
    assert "1 of 1" in run.err
    (row,) = run.json["models"]
    assert (row["model"], row["failed"], row["cut_off"]) == ("bm25", 0, 1)
    assert "SmolLM2" in run.json["llm"]
    assert answers(tmp_path / "generations.sqlite") in (1, 2)  # the smallest model is asked again where it refuses
    again = generation("--no-zero-shot", "--limit", 1, "--json", "-")
    assert (again.json, again.err) == (run.json, "")


def test_drafts_are_measured_and_kept(generation, writer, tmp_path):
    writer.finish_reason = "length"
    run = generation("--k-shot", "--json", "-", *ENDPOINT)
    assert run.status == 0
    assert "9 of 9" in run.err
    assert [row["model"] for row in run.json["models"]] == ["zero-shot", "k-shot", "bm25"]
    assert [row["model"] for row in run.json["baselines"]] == ["copy of bm25"]
    assert (run.json["requests"], run.json["n"], run.json["users"], run.json["resampled"]) == (3, 3, 2, "users")
    for row in run.json["models"]:
        assert (row["failed"], row["cut_off"]) == (0, 3)
        for metric in ("rouge1", "rouge2", "bertscore"):
            assert row[metric]["low"] <= row[metric]["value"] <= row[metric]["high"]
    assert run.json["command"].startswith("PEARL_MAX_DRAFT_TOKENS=16 pearl eval generation --gains ")
    assert run.json["command"].endswith(" --k-shot")
    assert "mock" in run.json["llm"]
    assert answers(tmp_path / "generations.sqlite") == 9

    again = generation("--k-shot", "--json", "-", *ENDPOINT)
    assert (again.json, again.err) == (run.json, "")
    # as after a kill in the middle of the seventh answer
    with closing(sqlite3.connect(tmp_path / "generations.sqlite")) as connection, connection:
        connection.execute("DELETE FROM replies WHERE key IN (SELECT key FROM replies LIMIT 3)")
    resumed = generation("--k-shot", "--json", "-", *ENDPOINT)
    assert resumed.json == run.json
    assert "3 of 3" in resumed.err


HISTORY = [
    {"user_id": user, "id": f"{user}{day}", "timestamp": day, "request": f"day {day}", "text": f"Day {day} of {user}."}
    for user in (*(next(f"u{n}" for n in range(99) if split_of(f"u{n}") == split) for split in SPLITS), "ann")
    for day in range(6)
]


def test_a_history_is_drafted_again_without_gains(pearl_eval, write_lines, writer, tmp_path):
    history = write_lines(HISTORY, "history.jsonl")
    options = ("--model", "bm25", *SMALL, *ENDPOINT, f"PEARL_HOME={tmp_path}", "--json", "-")

    def run(*more):
        return pearl_eval("generation", "--history", history, *options, *more)

    everybody = run("--targets", 2)
    assert (everybody.json["records"], everybody.json["users"]) == (8, 4)
    assert "--history" in everybody.json["command"]
    assert "--targets 2" in everybody.json["command"]
    test = run("--split", "test")
    assert 1 <= test.json["records"] == test.json["users"] <= 2
    prompts = [body["messages"] for body in writer.bodies]
    earlier = [prompt for prompt in prompts if "day 4" in prompt[-1]["content"]]
    assert earlier
    assert not any("Day 5" in str(prompt) for prompt in earlier)


def test_random_documents_and_upr_stand_beside_the_others(embedded_once, generation, writer, tmp_path):
    models = ("bm25", "random", "likelihood")
    words = ("--no-zero-shot", "--drafts", tmp_path / "drafts.jsonl", *ENDPOINT)
    run = generation(*words, "--json", "-", models=models)
    assert run.status == 0
    assert [row["model"] for row in run.json["models"]] == list(models)
    assert [row["model"] for row in run.json["baselines"]] == [f"copy of {model}" for model in models]
    assert all(row["failed"] == 0 and row["rouge1"]["value"] >= 0 for row in run.json["models"])
    drafts = [json.loads(line)["candidates"] for line in (tmp_path / "drafts.jsonl").read_text().splitlines()]
    assert [list(each) for each in drafts] == [list(models)] * 3


def test_a_draft_may_be_as_long_as_the_services(writer, pearl_eval, write_lines, tmp_path, monkeypatch):
    """About 300 words, unless the setting says otherwise."""
    monkeypatch.setenv("PEARL_MAX_DRAFT_TOKENS", "16")
    words = ("--gains", write_lines(LINES[:1]), "--model", "bm25", *ENDPOINT, "--no-zero-shot", "--json", "-")
    run = pearl_eval("generation", *words, f"PEARL_HOME={tmp_path}")
    assert (run.status, run.json["max_tokens"]) == (0, 16)
    assert run.json["command"].startswith("PEARL_MAX_DRAFT_TOKENS=16 pearl eval generation ")
    assert [body["max_tokens"] for body in writer.bodies] == [16]
    monkeypatch.delenv("PEARL_MAX_DRAFT_TOKENS")
    assert load_settings().max_draft_tokens == 512


@pytest.mark.slow
def test_drafts_go_to_a_judge(generation, writer, run_pearl, tmp_path):
    items = tmp_path / "drafts.jsonl"
    assert generation("--drafts", items, "--json", "-", *ENDPOINT).status == 0
    lines = [json.loads(line) for line in items.read_text().splitlines()]
    assert [line["reference"] for line in lines] == [line["target"] for line in LINES]
    assert [line["user_id"] for line in lines] == ["user 0", "user 1", "user 0"]
    assert all(list(line["candidates"]) == ["zero-shot", "bm25"] for line in lines)
    assert lines[0]["generators"] == dict.fromkeys(["zero-shot", "bm25"], "mock")
    words = ("--items", items, "--llm", "embedded", f"PEARL_HOME={tmp_path}", "--choose", "max_tokens=8", "--runs", 1)
    run = run_pearl("judge", "authorship", *words, "--limit", 1, "--json", "-")
    assert (run.status, run.json["n"], run.json["users"]) == (0, 2, 1)
    assert run.json["verdicts"] == {"invalid": 2}  # eight tokens are not enough for one
    assert run.json["elicitation"]["completion_tokens"] > 0
    # held to the three labels, it gives one
    run = run_pearl("judge", "authorship", *words, "--limit", 1, "--ask-again", "--json", "-")
    assert run.json["verdicts"].keys() <= {"A", "B", "both"}


def test_revisions_start_from_the_same_drafts(generation, writer, pearl_eval, write_lines, tmp_path):
    writer.says = lambda body: "Nothing." if "EDITED DRAFT" in body["messages"][-1]["content"] else "Four trains."
    generation("--no-zero-shot", "--limit", 2, "--json", tmp_path / "out.json", *ENDPOINT)
    words = ("--gains", write_lines(LINES), "--model", "bm25", *SMALL, *ENDPOINT, "--limit", 2)
    words = (*words, f"PEARL_HOME={tmp_path}")
    run = pearl_eval("revision", *words, "--picture", tmp_path / "curve.svg", "--json", "-")
    assert run.status == 0
    assert "revisions: 2 of 2" in run.err
    assert "drafts" not in run.err
    (found,) = run.json["models"]
    assert found["threshold"] is None
    assert [row["policy"] for row in found["policies"]] == ["none", "all", "selective", "random"]
    assert found["policies"][0]["rouge1"] == json.loads((tmp_path / "out.json").read_text())["models"][0]["rouge1"]
    assert found["revisions"]["failures"].keys() == {"revision_unreadable"}
    assert b"bm25" in (tmp_path / "curve.svg").read_bytes()
    again = pearl_eval("revision", *words)
    assert again.status == 0
    assert "theta never" in again.out


def test_a_threshold_for_a_model_that_has_none(writer, pearl_eval, write_lines, tmp_path):
    words = ("--gains", write_lines(LINES), "--model", "bm25", *SMALL, *ENDPOINT, f"PEARL_HOME={tmp_path}")
    run = pearl_eval("revision", *words, "--threshold", "bm25=1e6", "--json", "-")
    assert run.status == 0
    (found,) = run.json["models"]
    assert found["threshold"] == 1e6
    none, everything, selective, _ = found["policies"]
    assert (none["share_revised"]["value"], selective["share_revised"]["value"]) == (0, 1)
    assert selective["rouge1"] == everything["rouge1"] != none["rouge1"]
    assert " --threshold bm25=1e6" in run.json["command"]
    never = pearl_eval("revision", *words, "--threshold", "bm25=never", "--json", "-")
    assert never.json["models"][0]["threshold"] is None
    revised = pearl_eval("revision", *words, "--threshold", "bm25=all", "--json", "-")
    found = revised.json["models"][0]
    assert (found["threshold"], found["policies"][2]["share_revised"]["value"]) == ("all", 1)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--threshold", "bm25"), "--threshold bm25: give MODEL=THETA"),
        (("--threshold", "dense=1"), "--threshold dense=1: give MODEL=THETA; the models are bm25."),
        (("--threshold", "bm25=high"), "--threshold bm25=high: 'high' is neither a number nor 'never' or 'all'"),
        (("--threshold", "bm25=nan"), "'nan' is neither"),
        (("--threshold", "bm25=inf"), "'inf' is neither"),
        (("--threshold", "bm25="), "'' is neither"),
        (("--threshold", "bm25=1", "--threshold", "bm25=2"), "--threshold bm25=2: 'bm25' has one already"),
        (("--metric", "bleu"), "--metric bleu"),
        (("--metric", "macro_f1"), "--metric macro_f1"),
        (("--picture", "curve.gif"), "--picture curve.gif"),
        (("--picture", "no/such/folder.svg"), "there is no folder"),
    ],
)
def test_a_threshold_or_a_picture_that_cannot_be(pearl_eval, write_lines, tmp_path, options, complaint):
    words = ("--gains", write_lines(LINES), "--model", "bm25", *SMALL, f"PEARL_HOME={tmp_path}")
    run = pearl_eval("revision", *words, *options, "--json", "-")
    assert complaint in run.refusal
    assert not (tmp_path / "generations.sqlite").exists()


def test_tables_for_the_eye(generation, writer):
    run = generation("--limit", 1, *ENDPOINT)
    assert run.status == 0
    assert "copy of bm25" in run.out


def test_theta_of_a_scorer_without_an_artifact(run_pearl, pearl_eval, write_lines, writer, tmp_path):
    report = tmp_path / "dev.json"
    words = ("--gains", write_lines(LINES), *ENDPOINT, f"PEARL_HOME={tmp_path}")
    for model in ("bm25", "recent", "random"):
        assert pearl_eval("revision", *words, "--model", model, "--json", report).status == 0
        chosen = run_pearl("train", "threshold", "--model", model, "--revision", report, "--json", "-").json
        theta = "never" if chosen["threshold"] is None else chosen["threshold"]
        run = pearl_eval("revision", *words, "--model", model, "--threshold", f"{model}={theta}", "--json", "-")
        (found,) = run.json["models"]
        selective = next(row for row in found["policies"] if row["policy"] == "selective")
        assert selective["share_revised"]["value"] == chosen["share_revised"]


def test_near_duplicates_are_not_shown(generation, writer):
    lines = [{**LINES[0], "target": "Bread needs flour. 0"}, LINES[1]]
    run = generation("--near-duplicates", 0.5, "--no-zero-shot", "--json", "-", *ENDPOINT, lines=lines)
    assert run.json["near_duplicates"] == {
        "threshold": 0.5,
        "documents_set_aside": 1,
        "records_left_without_documents": 0,
    }
    assert " --near-duplicates 0.5 " in run.json["command"]


def test_comments_take_a_stance(generation, writer):
    lines = [{**line, "target": target} for line, target in zip(LINES, ("YTA", "NTA", "who knows"), strict=True)]
    run = generation("--stances", "corrected", "--json", "-", *ENDPOINT, lines=lines)
    assert run.json["stances"]["target"] == {"YTA": 1, "NTA": 1, "unlabelled": 1}
    assert "macro_f1" in run.json["models"][0]
    assert [row["model"] for row in run.json["baselines"]] == ["copy of bm25", "always YTA", "always NTA"]


def without(line, name):
    return {key: value for key, value in line.items() if key != name}


@pytest.mark.parametrize(
    ("options", "lines", "complaint"),
    [
        ((), [], "no record"),
        ((), ["{"], ":1: is not JSON"),
        ((), [without(line, "target") for line in LINES], "target: no record has one"),
        ((), [LINES[0], {**LINES[1], "target": 5}], ":2: target: "),
        ((), [{**LINES[0], "gain": [1.0]}], ":1: gain: "),
        (("--template", "sonnet"), LINES, "There is no template 'sonnet'"),
        (("--model", "bm25"), LINES, "named twice"),
        (("--model", "word2vec"), LINES, "There is no model 'word2vec'"),
        (("PEARL_ENCODER=./nothing",), LINES, "cannot be loaded for BERTScore"),
        (("--json", "no/such/folder.json"), LINES, "there is no folder"),
        (("--k-shot",), [LINES[0]], "other users"),
        (("--near-duplicates", 0), LINES, "none is left to show"),
        (("--llm", "openai"), LINES, "PEARL_LLM_MODEL"),
    ],
)
def test_bad_input_is_named_before_anything_is_generated(generation, tmp_path, options, lines, complaint):
    run = generation("--json", "-", *options, lines=lines)
    assert complaint in run.refusal
    kept = tmp_path / "generations.sqlite"
    assert not kept.exists() or answers(kept) == 0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ((), "Give either --gains or --history."),
        (("--gains", "g.jsonl", "--history", "h.jsonl"), "Give either --gains or --history."),
        (("--gains", "g.jsonl", "--split", "test"), "--split chooses among the users of --history"),
        (("--history", "HISTORY", "--split", "tset"), "no split 'tset'"),
        (("--history", "NO_TIME"), ":1: timestamp"),
    ],
)
def test_requests_come_from_gains_or_from_a_history(pearl_eval, write_lines, options, complaint):
    files = {"HISTORY": HISTORY, "NO_TIME": [without(HISTORY[0], "timestamp")]}
    options = [write_lines(files[part], f"{part}.jsonl") if part in files else part for part in options]
    run = pearl_eval("generation", *options, "--model", "bm25", "--json", "-")
    assert complaint in run.refusal
