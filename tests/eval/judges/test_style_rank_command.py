"""``pearl judge style-rank`` through the real command line and the real SDK."""

from __future__ import annotations

import json
import random
from functools import partial

import pytest

from eval.recorded.style.choices import chosen
from eval.recorded.style.judged import read_judged

LINES = [
    {
        "id": f"i{n}",
        "task": ("email", "tweet", "summary")[n % 3],
        "style": ["storytelling", "Poetic & lyrical"] if n % 2 else "storytelling",
        "request": f"Question {n % 3}?",
        "text_a": f"Once upon a time {n}.",
        "text_b": f"Fact {n}.",
        "generator_a": "ours",
        "generator_b": "theirs",
    }
    for n in range(6)
]
CALLS = 6 * 4 * 2


@pytest.fixture
def style_rank(run_pearl, write_lines, judge_endpoint, tmp_path):
    judge_endpoint.says = prefers_stories

    def run(*more, lines=LINES):
        words = ("--items", write_lines(lines, "pairs.jsonl"), f"PEARL_HOME={tmp_path}", "--draws", 4)
        return run_pearl("judge", "style-rank", *words, *more)

    return run


def prefers_stories(body):
    """Whatever the order is."""
    text = body["messages"][-1]["content"]
    return "Output (a)" if text.find("Once upon") < text.find("Fact") else "Output (b)"


def counts(found):
    return {name: each["count"] for name, each in found["labels"].items()}


def judged(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_ranking(style_rank, judge_endpoint, tmp_path):
    run = style_rank("--json", "-", "--judgements", tmp_path / "j.jsonl")
    assert run.status == 0
    found = run.json
    assert (found["scheme"], found["judge"], found["draws"]) == ("ab_style", "mock", 4)
    assert (found["n"], found["items"], found["requests"]) == (CALLS, 6, 3)
    assert counts(found) == {"a": 6, "tie": 0, "b": 0, "no_label": 0}
    assert (found["p_first"]["value"], found["flip_rate"]["value"]) == (0.5, 0)
    assert found["prefers_longer"]["value"] == 1
    assert (found["randolph_kappa"]["value"], found["undefined"]) == (1, {})
    assert [part["task"] for part in found["tasks"]] == ["email", "summary", "tweet"]
    assert found["command"].startswith("pearl judge style-rank --items ")
    lines = judged(tmp_path / "j.jsonl")
    assert len(lines) == CALLS
    assert [(line["item"], line["draw"], line["order"], line["verdict"]) for line in lines[6:9]] == [
        ("i0", 3, "ab", "A"),
        ("i0", 3, "ba", "B"),
        ("i1", 0, "ab", "A"),
    ]
    assert (lines[0]["style"], lines[8]["style"]) == ("storytelling", ["storytelling", "poetic and lyrical"])
    assert {body["temperature"] for body in judge_endpoint.bodies} == {0.7}
    assert {body["top_p"] for body in judge_endpoint.bodies} == {1}

    replayed = style_rank("--json", "-")
    assert (replayed.status, replayed.err) == (0, "")
    assert len(judge_endpoint.bodies) == CALLS
    assert {**replayed.json, "elicitation": 0} == {**found, "elicitation": 0}


def test_a_rubric(style_rank, judge_endpoint, tmp_path):
    judge_endpoint.says = lambda body: (
        "A story.\nScore: 4" if "Once upon" in body["messages"][-1]["content"] else "Dry.\nScore: 1"
    )
    run = style_rank("--scheme", "rubric_style", "--json", "-", "--judgements", tmp_path / "j.jsonl")
    assert counts(run.json) == {"a": 6, "tie": 0, "b": 0, "no_label": 0}
    assert run.json["scores"]["a"] == {"mean": 4, "counts": {"4": 24}}
    assert run.json["ranked"][0]["mean_scores"] == [4, 1]
    assert run.json["p_first"] is None
    first, second = judged(tmp_path / "j.jsonl")[:2]
    assert (first["response"], first["score"], first["verdict"]) == ("a", 4, "scored")
    assert (second["response"], second["score"]) == ("b", 1)


def test_helpfulness_needs_no_style(style_rank, judge_endpoint, tmp_path):
    lines = [{name: value for name, value in line.items() if name != "style"} for line in LINES]
    run = style_rank("--scheme", "ab_helpfulness", "--json", "-", "--judgements", tmp_path / "j.jsonl", lines=lines)
    assert counts(run.json)["a"] == 6
    assert judged(tmp_path / "j.jsonl")[0]["style"] is None
    assert "style" not in judge_endpoint.bodies[0]["messages"][1]["content"]


@pytest.mark.parametrize("scheme", ["ab_style", "rubric_helpfulness"])
@pytest.mark.parametrize("preset", ["as_published", "corrected"])
def test_what_is_written_gives_the_same_labels_again(style_rank, judge_endpoint, tmp_path, scheme, preset):
    """To `pearl eval style`, with the preset of the same name; some replies cannot be read."""
    chance = random.Random(3)

    def says(body):
        stories = prefers_stories(body) if scheme == "ab_style" else "Score: 4"
        return chance.choice([stories, stories, stories, "Output (a)", "Score: 1", "Hard to say."])

    judge_endpoint.says = says
    path = tmp_path / "j.jsonl"
    options = ("--scheme", scheme, "--preset", preset, "PEARL_MAX_IN_FLIGHT=1", "--judgements", path)
    lines = [{**LINES[n % 6], "id": str(n), "text_a": f"Once upon a time, {n}."} for n in range(24)]
    found = style_rank(*options, "--json", "-", lines=lines).json
    again = {unit.key.item: unit.label(chosen(preset)) for unit in read_judged([path]).units}
    assert again == {each["item"]: each["label"] for each in found["ranked"]}
    assert {"a", "tie"} <= set(again.values())


def test_half_of_a_draw(style_rank, judge_endpoint):
    judge_endpoint.says = lambda body: said if (said := prefers_stories(body)) == "Output (a)" else "Hard to say."
    corrected = style_rank("--json", "-").json
    assert (counts(corrected)["no_label"], corrected["invalid"]) == (6, {"no_verdict": CALLS // 2})
    published = style_rank("--json", "-", "--preset", "as_published").json
    assert counts(published) == {"a": 0, "tie": 6, "b": 0, "no_label": 0}
    assert counts(style_rank("--json", "-", "--choose", "half=tie").json) == counts(published)
    assert len(judge_endpoint.bodies) == 2 * CALLS  # as_published asks in other words
    first, later = (judge_endpoint.bodies[place]["messages"][1]["content"] for place in (0, -1))
    assert "Scenes, dialogue" in first
    assert "Scenes, dialogue" not in later


def test_a_dry_run_asks_nothing(style_rank, judge_endpoint):
    run = style_rank("--dry-run", "PEARL_LLM_PRICES=1,2")
    estimate = run.json["estimate"]
    assert (estimate["calls"], estimate["completion_tokens_at_most"]) == (CALLS, CALLS * 64)
    rubric = style_rank("--dry-run", "--scheme", "rubric_style").json["estimate"]
    assert rubric["completion_tokens_at_most"] == CALLS * 512
    assert judge_endpoint.bodies == []


def test_tables_for_the_eye(style_rank, judge_endpoint):
    run = style_rank(lines=[*LINES, {**LINES[0], "id": "same", "text_b": LINES[0]["text_a"], "mood": 1}])
    assert run.status == 0
    for word in ("no label", "Randolph's kappa", "summary", "flip rate", "takes Output (a)", "identical_texts"):
        assert word in run.out
    judge_endpoint.says = lambda body: "Fine.\nScore: 3"
    assert "mean score of text b" in style_rank("--scheme", "rubric_helpfulness").out


def without(name):
    return {key: value for key, value in LINES[0].items() if key != name}


changed = partial(dict, LINES[0])


@pytest.mark.parametrize(
    ("lines", "options", "complaint"),
    [
        ([without("task")], (), ":1: task: is missing; the line has generator_a, "),
        ([without("text_b")], (), ":1: text_b: is missing"),
        ([without("style")], (), ":1: style: is missing"),
        ([changed(task="poem")], (), ":1: task: must be one of email, tweet, summary"),
        ([changed(style="baroque")], (), ":1: style: 'baroque' is none of step-by-step"),
        ([changed(style=[])], (), ":1: style: names no style"),
        ([changed(style=[1])], (), ":1: style: must be a style or an array of styles, not a number"),
        ([changed(style={"a": 1})], (), "not an object"),
        ([changed(generator_a=["ours"])], (), ":1: generator_a: "),
        ([LINES[0], changed(task="tweet")], (), ":2: id: 'i0' is on line 1 already"),
        (LINES, ("--scheme", "elo"), "--scheme elo: there are ab_style, ab_helpfulness, rubric_style"),
    ],
)
def test_bad_input_is_named_before_anything_is_asked(style_rank, judge_endpoint, lines, options, complaint):
    run = style_rank("--json", "-", *options, lines=lines)
    assert complaint in run.refusal
    assert judge_endpoint.bodies == []


def test_top_p_is_sent_and_asks_anew(style_rank, judge_endpoint):
    """The command says it where it is not 1."""
    assert "top_p=" not in style_rank("--json", "-").json["command"]
    assert {body["top_p"] for body in judge_endpoint.bodies} == {1}
    for words, sent in ((("--choose", "top_p=0.95"), 0.95), (("--choose", "top_p=0.8"), 0.8)):
        judge_endpoint.bodies.clear()
        run = style_rank(*words, "--json", "-")
        assert (run.status, {body["top_p"] for body in judge_endpoint.bodies}) == (0, {sent})
        assert f"--choose top_p={sent}" in run.json["command"]
        assert run.json["elicitation"]["kept_before"] == 0
    assert style_rank("--choose", "top_p=0").status == 2
