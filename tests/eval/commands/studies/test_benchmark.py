"""``pearl eval benchmark`` with a mock endpoint, the real client and the embedded encoder."""

from __future__ import annotations

import json

import pytest

TOPICS = ("bread", "snow", "trains", "rain", "tea")
LINES = [
    {
        "user_id": f"u{user}",
        "id": f"{user}-{day}",
        "timestamp": 1_000_000 + day,
        "request": f"say something about {TOPICS[(user + day) % len(TOPICS)]}",
        "text": f"Well, {TOPICS[(user + day) % len(TOPICS)]} again, said {user} on day {day}.",
    }
    for user in range(4)
    for day in range(7)
]
SYSTEMS = ["none", "recent", "random", "bm25", "dense", "rag", "embedded"]
KEPT = ("PEARL_MAX_DRAFT_TOKENS=16",)
MEASURED = ("rouge1", "rougeL", "meteor", "bertscore", "carried_over", "seconds", "tokens")


@pytest.fixture
def benchmark(pearl_eval, write_lines, tmp_path):
    def run(*more, lines=LINES):
        words = ("benchmark", "history", "--data", write_lines(lines, "h.jsonl"), "--k", 1)
        return pearl_eval(*words, *KEPT, f"PEARL_HOME={tmp_path}", *more, "--json", "-")

    return run


@pytest.fixture
def writer(judge_endpoint):
    """An endpoint that repeats the last lines of its prompt, so that systems differ."""
    judge_endpoint.says = lambda body: " ".join(message["content"] for message in body["messages"])[-90:]
    return judge_endpoint


def test_all_systems_in_one_table_and_a_card(benchmark, writer):
    run = benchmark("--llm", "openai")
    assert run.status == 0
    found = run.json
    assert (found["benchmark"], found["n"], found["users"], found["requests"]) == ("history", 4, 4, 4)
    assert [row["system"] for row in found["systems"]] == SYSTEMS
    for row in found["systems"]:
        assert all(row[name]["low"] <= row[name]["value"] <= row[name]["high"] for name in MEASURED)
        assert (row["failed"], row["refused"]) == (0, 0)
        assert row["tokens"]["value"] > 0
    pairs = [(row["system"], row["against"]) for row in found["differences"]]
    assert pairs == [*((name, "none") for name in SYSTEMS[1:]), ("embedded", "best baseline"), ("embedded", "rag")]
    for row in found["differences"]:
        assert "seconds" not in row
        assert row["rouge1"]["p_value"] <= row["rouge1"]["p_holm"] <= 1
    assert found["differences"][-2]["rouge1"]["against"] in SYSTEMS[:-1]
    card = found["card"]
    assert len(card["sha256"]) == len(card["prompts_sha256"]) == 64
    assert ("mock" in card["model"], card["encoder"], card["seed"], card["k"]) == (True, "embedded", 0, 1)
    assert "eval benchmark history --data " in found["command"]

    calls = len(writer.bodies)
    again = benchmark("--llm", "openai")
    assert (again.json, len(writer.bodies)) == (found, calls)  # kept drafts, with the seconds that they took
    other = benchmark("--llm", "openai", "--past", 2, "--users", 2, "--dry-run").json
    assert other["card"]["prompts_sha256"] != card["prompts_sha256"]


def test_a_dry_run_says_what_it_would_cost(benchmark, writer):
    run = benchmark("--llm", "openai", "--users", 2, "PEARL_LLM_PRICES=1,2", "--dry-run")
    assert (run.status, writer.bodies) == (0, [])
    estimate = run.json["estimate"]
    assert estimate["calls"] == estimate["questions"] <= 2 * len(SYSTEMS)
    tokens, most = estimate["prompt_tokens"], estimate["completion_tokens_at_most"]
    assert estimate["cost_at_most"] == pytest.approx((tokens + 2 * most) / 1e6)


def test_money_that_ends_in_the_middle_keeps_what_was_written(benchmark, writer):
    prices = ("--llm", "openai", "PEARL_LLM_PRICES=1000,1000")
    most = benchmark(*prices, "--dry-run").json["estimate"]["cost_at_most"]
    run = benchmark(*prices, "--max-cost", most / 3, "PEARL_MAX_IN_FLIGHT=1")
    assert (run.status, run.out) == (1, "")
    assert "stopped after" in run.err
    assert "their replies are kept" in run.err
    written = len(writer.bodies)
    assert 0 < written < 4 * len(SYSTEMS)
    whole = benchmark(*prices, "--max-cost", most)
    assert (whole.status, whole.json["n"]) == (0, 4)
    assert len(writer.bodies) - written < 4 * len(SYSTEMS)


def test_a_model_that_refuses_is_counted(benchmark, writer):
    writer.says = lambda body: "I'm sorry, but I cannot help with that request."
    run = benchmark("--llm", "openai", "--users", 2)
    assert run.status == 0
    assert {row["refused"] for row in run.json["systems"]} == {2}
    asked = [[message["content"] for message in body["messages"]] for body in writer.bodies]
    rag = [messages for messages in asked if messages[0].startswith("You draft texts as their author")]
    assert len(rag) == 2  # and not again, as PEARL does
    assert all(messages[1].startswith("say something about") and "again, said" in messages[0] for messages in rag)


def test_without_a_model_by_gains_alone(embedded_once, benchmark):
    run = benchmark("--users", 2)
    assert run.status == 0
    assert [row["system"] for row in run.json["systems"]] == [name for name in SYSTEMS if name != "rag"]
    gains = {row["system"]: row["gain"]["value"] for row in run.json["systems"]}
    assert gains["none"] == 0
    assert len(set(gains.values())) > 2
    assert all("rouge1" not in row for row in run.json["systems"])
    assert run.json["card"]["model"] == "embedded"


def test_what_is_left_out_is_counted_and_shown(benchmark, writer, pearl_eval, tmp_path):
    lines = [*LINES, {"user_id": "new", "id": "1", "timestamp": 1, "request": "first", "text": "The first."}]
    run = benchmark("--llm", "openai", lines=lines)
    assert run.json["left_out"] == {"user without an earlier text": 1}
    words = ("benchmark", "history", "--data", tmp_path / "h.jsonl", "--llm", "openai", "--k", 1)
    shown = pearl_eval(*words, *KEPT, f"PEARL_HOME={tmp_path}")
    assert shown.status == 0
    assert "user without an earlier text" in shown.out
    assert "METEOR" in shown.out


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("lmap", (), "lmap: there are lamp, longlamp, blogs, aeslc, history"),
        ("aeslc", (), "there is no *.subject of aeslc; it may be longlamp or history"),
        ("history", ("--model", "bm25"), "named twice"),
        ("history", ("--llm", "openai", "--max-cost", 1), "PEARL_LLM_PRICES"),
    ],
)
def test_bad_input_is_named_before_anything_is_drafted(judge_endpoint, pearl_eval, write_lines, name, more, message):
    run = pearl_eval("benchmark", name, "--data", write_lines(LINES, "h.jsonl"), *more, "--json", "-")
    assert judge_endpoint.bodies == []
    assert message in run.refusal


def test_a_bad_line_of_a_history_is_an_error(pearl_eval, write_lines):
    path = write_lines([LINES[0], json.dumps(LINES[1])[:30]], "h.jsonl")
    run = pearl_eval("benchmark", "history", "--data", path, "--json", "-")
    assert (run.status, "h.jsonl:2: is not JSON" in run.err) == (2, True)
