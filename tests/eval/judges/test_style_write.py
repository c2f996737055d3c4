"""``pearl judge style-write`` through the real command line and the real SDK."""

from __future__ import annotations

import json

import pytest

from eval.judges.judge import Trial
from eval.judges.style_write import SYSTEM, WriteOptions, WritingRequest, ask, load, trials
from eval.recorded.style.styles import PERSONAS, STYLES, TASKS
from pearl.errors import InputError

REQUESTS = [{"id": "prime", "task": "email", "request": "What is a prime number?"}]


def writes(body):
    """A text that says which styles it was told of; another one each time is not needed."""
    told = [name for name in STYLES if f"- {name}" in body["messages"][0]["content"] + body["messages"][1]["content"]]
    return "A prime number. " + " ".join(f"[{name[:4]}]" for name in told)


@pytest.fixture
def write(run_pearl, write_lines, judge_endpoint, tmp_path):
    judge_endpoint.says = writes

    def run(*more, lines=REQUESTS):
        out = tmp_path / "responses.jsonl"
        words = ("--items", write_lines(lines, "requests.jsonl"), f"PEARL_HOME={tmp_path}", "--draws", 2)
        done = run_pearl("judge", "style-write", *words, "--responses", out, *more)
        return done, [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []

    return run


def test_texts_for_every_persona_and_for_nobody(write, judge_endpoint):
    run, texts = write("--json", "-")
    assert run.status == 0
    assert len(texts) == run.json["texts"] == 2 * 6
    assert len({text["id"] for text in texts}) == len(texts)
    assert {text.get("persona") for text in texts} == {*PERSONAS, None}
    for text in texts:
        assert (text["task"], text["request"], text["generator"]) == ("email", "What is a prime number?", "mock")
        assert tuple(text.get("styles", ())) == PERSONAS.get(text.get("persona"), ())
        assert all(f"[{style[:4]}]" in text["text"] for style in text.get("styles", ()))
    nobody = next(row for row in run.json["written"] if row["persona"] == "nobody")
    assert (nobody["prompt"], nobody["texts"], nobody["different"]) == ("default", 2, 1)
    calls = len(judge_endpoint.bodies)
    again, same = write("--json", "-")
    assert (again.json["elicitation"]["kept_before"], same) == (12, texts)
    assert len(judge_endpoint.bodies) == calls  # nothing is written twice


def test_tables(write):
    run, _ = write()
    assert "12 texts for 1 requests, written by mock." in run.out


def test_a_rewritten_text(write, judge_endpoint):
    run, texts = write("--prompt", "rewrite", "--persona", "2", "--json", "-")
    assert run.status == 0
    first, second = judge_endpoint.bodies[0], judge_endpoint.bodies[-1]
    assert first["messages"][0]["content"] == SYSTEM["default"]
    assert "A prime number." in second["messages"][1]["content"]
    assert all("[robo]" in text["text"] and text["prompt"] == "rewrite" for text in texts)
    assert run.json["elicitation"]["rewriting"]["asked"] == 2


@pytest.mark.parametrize(
    "reply",
    [
        "<think>An email, in verse.</think>\n\nDear Ann,\n\nit divides by none.",
        "Sure! Here is the email:\n\nDear Ann,\n\nit divides by none.",
        "```\nDear Ann,\n\nit divides by none.\n```",
    ],
)
def test_a_text_is_what_was_asked_for_and_not_the_words_around_it(write, judge_endpoint, reply):
    judge_endpoint.says = lambda body: reply
    run, texts = write("--persona", "0", "--prompt", "rewrite", "--json", "-")
    assert run.status == 0
    assert {text["text"] for text in texts} == {"Dear Ann,\n\nit divides by none."}
    assert "in verse" not in judge_endpoint.bodies[-1]["messages"][1]["content"]  # the text that is to be rewritten


def test_a_text_that_is_empty_or_cut_off_is_left_out_and_counted(write, judge_endpoint):
    judge_endpoint.says = lambda body: " "
    run, texts = write("--persona", "0", "--json", "-")
    assert (run.status, texts, run.json["texts"]) == (0, [], 0)
    assert sum(run.json["invalid"].values()) + sum(run.json["failed"].values()) == 2


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("prompt", [name for name in SYSTEM if name not in ("default", "rewrite")])
def test_every_prompt_tells_of_the_styles_and_the_request(task, prompt):
    item = WritingRequest(1, "1", task, "Why {braces}?")
    system, user = ask(Trial(0, item, 0, way=("3", prompt)), WriteOptions())
    assert all(f"- {style}: {STYLES[style]}" in system.content for style in PERSONAS["3"])
    assert user.content.endswith("Why {braces}?")
    system, _ = ask(Trial(0, item, 0, way=("3", prompt)), WriteOptions(style_shown="name"))
    assert all(f"- {style}" in system.content and STYLES[style] not in system.content for style in PERSONAS["3"])


def test_the_wording_of_persona_1(write):
    _, texts = write("--persona", "1")
    assert texts[0]["styles"][2] == "rich descriptions"
    _, texts = write("--persona", "1", "--preset", "as_published")
    assert texts[0]["styles"][2] == "scholarly-yet-friendly"


def test_nobody_is_asked_by_one_prompt(write_lines):
    options = WriteOptions(prompt=["prefer", "agent"], draws=1)
    items, settled = load(write_lines(REQUESTS, "requests.jsonl"), options)
    assert len(list(trials(items.every, settled))) == 2 * 5 + 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"task": "poem", "request": "?"}, "task: must be one of email, tweet"),
        ({"task": "email"}, "request: is missing"),
        ({"task": "email", "request": " "}, "request: "),
    ],
)
def test_bad_requests(write_lines, line, said):
    path = write_lines([line], "requests.jsonl")
    with pytest.raises(InputError) as raised:
        load(path, WriteOptions())
    assert raised.value.message.startswith(f"{path}:1: {said}")


@pytest.mark.parametrize("words", [("--persona", "7"), ("--prompt", "shout"), ("--prompt", "default")])
def test_unknown_personas_and_prompts(write, words):
    run, _ = write(*words)
    assert run.status == 2
    assert run.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--labels", "--human"])
def test_texts_are_held_against_no_labels(write, option):
    run, _ = write(option, "labels.jsonl")
    assert f"No such option: {option}" in run.refusal
