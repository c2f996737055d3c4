"""``pearl eval quality --texts``: the scores of texts by who wrote them and by how detailed their prompt was."""

from __future__ import annotations

import json

import pytest

# characters of a text; the scorer is "shorter", so a score is minus its length
LENGTHS = {("short", "author"): 10, ("short", "model"): 40, ("detailed", "author"): 10, ("detailed", "model"): 25}
TEXTS = [
    {"instruction": f"i{number}", "origin": origin, "prompt": prompt, "text": "x" * (length + number)}
    for number in range(3)
    for (prompt, origin), length in LENGTHS.items()
]


@pytest.fixture
def content(pearl_eval, write_lines):
    def run(*more, lines=TEXTS, scorer=("--scorer", "shorter")):
        return pearl_eval("quality", "--texts", write_lines(lines, "t.jsonl"), *scorer, *more)

    return run


def test_medians_differences_and_detail(content, tmp_path):
    page = tmp_path / "c.html"
    run = content("--reference", "author", "--json", "-", "--report", page)
    assert (run.status, run.err) == (0, "")
    found = run.json
    assert (found["n"], found["instructions"], found["scorer"]) == (12, 3, "shorter")
    groups = {(row["prompt"], row["origin"]): row for row in found["groups"]}
    assert {key: row["median"]["value"] for key, row in groups.items()} == {
        key: -(length + 1) for key, length in LENGTHS.items()
    }
    assert groups["short", "model"]["less_reference"] == {"value": -30, "low": -30, "high": -30}
    assert groups["detailed", "author"]["less_reference"] is None
    assert {row["origin"]: row["value"] for row in found["detail"]} == {"author": 0, "model": 15}
    assert "Detailed prompt less short prompt" in page.read_text(encoding="utf-8")


def test_texts_of_one_instruction_are_drawn_themselves(content):
    run = content("--reference", "author", "--json", "-", lines=[line | {"instruction": "i"} for line in TEXTS])
    model = next(row for row in run.json["groups"] if (row["prompt"], row["origin"]) == ("short", "model"))
    assert model["median"] == {"value": -41, "low": -42, "high": -40}
    assert model["less_reference"] is None  # the difference of one instruction has no interval
    assert [row["value"] for row in run.json["detail"]] == [None, None]


def test_without_prompts_or_a_reference(content):
    lines = [{name: value for name, value in line.items() if name != "prompt"} for line in TEXTS]
    found = content("--json", "-", lines=lines).json
    assert [(row["prompt"], row["origin"], row["n"]) for row in found["groups"]] == [
        ("any", "author", 6),
        ("any", "model", 6),
    ]
    assert [row["value"] for row in found["detail"]] == [None, None]


def published(detailed, **scores):
    """A record of the authors' files; the expert's text stands there twice."""
    whole = "Write of the sea in the manner of twenty paragraphs."
    by_origin = {"expert": 8.9, "MFA": 8.0, "a-model": 5.5} | scores
    responses = [
        {"origin": origin, "response": f"A text by {origin}.", "score_pre": score}
        for origin, score in by_origin.items()
    ]
    return {
        "instruction_id": "A_Writer",
        "full_instruction": whole,
        "instruction": whole if detailed else "Write of the sea.",
        "responses": [responses[0], *responses],
    }


def test_the_authors_files_with_their_scores(pearl_eval, tmp_path):
    files = []
    for name, detailed in (("less", False), ("more", True)):
        model = "A text by a-model for a detailed prompt." if detailed else "A text by a-model."
        record = published(detailed)
        record["responses"][-1] |= {"response": model, "score_pre": 7.0 if detailed else 5.5}
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps([record, record | {"full_instruction": "Other.", "instruction": "Other."}]))
        files += ["--texts", file]
    found = pearl_eval("quality", *files, "--reference", "expert", "--json", "-").json
    assert (found["scorer"], found["instructions"]) == ("recorded", 2)
    medians = {(row["prompt"], row["origin"]): (row["n"], row["median"]["value"]) for row in found["groups"]}
    assert medians["short", "expert"] == (1, 8.9)
    assert (medians["short", "a-model"], medians["detailed", "MFA"]) == ((1, 5.5), (3, 8.0))
    scored = pearl_eval("quality", *files, "--scorer", "longer", "--json", "-").json
    assert scored["scorer"] == "longer"
    without = published(True)
    del without["responses"][1]["score_pre"]
    files[1].write_text(json.dumps([without]))
    run = pearl_eval("quality", *files[:2])
    assert "give --model or --scorer" in run.refusal


@pytest.mark.parametrize(
    ("lines", "more", "message"),
    [
        ([TEXTS[0] | {"prompt": "long"}], (), ":1: prompt: must be short or detailed."),
        ([TEXTS[0], {**TEXTS[1], "prompt": None}], (), "some lines name a prompt and others do not"),
        (TEXTS, ("--reference", "nobody"), "--reference nobody: there are author, model."),
        (TEXTS, ("--model", "m"), "--scorer and --model are two ways to score; give one."),
        ([{"instruction": "1", "origin": "a"}], (), ":1: text: is missing"),
        ([published(True, expert="good")], (), ":1: responses[0].score_pre: must be a number"),
        ([published(True) | {"responses": ["text"]}], (), ":1: responses[0].origin: "),
        ([published(True) | {"responses": None}], (), ":1: responses: must be a list, not null"),
        ([published(True), TEXTS[0] | {"prompt": None}], (), "some lines name a prompt and others do not"),
    ],
)
def test_bad_input_is_named(content, lines, more, message):
    run = content(*more, lines=lines)
    assert message in run.refusal


def test_a_scorer_is_needed(content, tmp_path):
    assert "give --model or --scorer" in content(scorer=()).refusal
    assert "is not a reward model" in content("--json", "-", scorer=("--model", tmp_path)).refusal
