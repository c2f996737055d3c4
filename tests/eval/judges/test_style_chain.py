"""The way of the style judges, each command on what the one before it wrote: pairs, ranking, figures."""

from __future__ import annotations

import json

import pytest

from eval.recorded.style.styles import PERSONAS, STYLES


def prefers_echoes(body):
    """Prefer the text that holds more names of the wanted styles, whatever the order."""
    asked = body["messages"][-1]["content"]
    styles = [name for names in PERSONAS.values() for name in names if f"- {name}" in asked]
    first, second = asked.split("<output_b>")
    return f"Output ({'a' if marks(first, styles) >= marks(second, styles) else 'b'})"


def marks(text, styles):
    return sum(text.partition("<output_a>")[2 if "<output_a>" in text else 0].count(mark_of(style)) for style in styles)


def mark_of(style):
    return f"[{style[:4]}]"


@pytest.fixture
def written(write_lines):
    """Two texts for each of three personas and for nobody, for two requests; one of the two has the persona's marks."""
    lines = []
    for request in ("What is a prime number?", "How do you keep a houseplant?"):
        for persona in ("0", "2", "4", None):
            for strong in (True, False):
                styles = PERSONAS[persona] if persona else ()
                text = f"{request} " + " ".join(mark_of(style) for style in styles if strong) + f" {persona} {strong}"
                line = {"task": "email", "request": request, "text": text, "generator": "Zoe"}
                line |= {"persona": persona, "scores": {style: float(strong) for style in styles}} if persona else {}
                lines.append(line)
    return write_lines(lines, "responses.jsonl")


def test_pairs_are_ranked_and_measured_by_persona(run_pearl, written, judge_endpoint, write_lines, tmp_path):
    judge_endpoint.says = prefers_echoes
    pairs, judged = tmp_path / "pairs.jsonl", tmp_path / "judged.jsonl"
    made = run_pearl("judge", "items", "--from", "styled", "--data", written, "--out", pairs, "--json", "-")
    assert (made.status, made.err) == (0, "")
    items = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert len(items) == 2 * 28 * 3  # 8 texts of a request make 28 pairs, each judged for three personas
    assert {item["persona"] for item in items} == {"0", "2", "4"}
    assert all(tuple(item["style"]) == PERSONAS[item["persona"]] for item in items)
    ranked = run_pearl(
        *("judge", "style-rank", "--items", pairs, "--draws", 1, "--judgements", judged, "--json", "-"),
        *(f"PEARL_HOME={tmp_path}",),
    )
    assert ranked.status == 0
    labels = {each["item"]: each["label"] for each in ranked.json["ranked"]}
    people = [
        {"item": item["id"], "style": item["style"], "rater": rater, "label": labels[item["id"]]}
        for item in items
        for rater in ("r1", "r2", "r3")
    ]
    words = ("eval", "style", "--judgements", judged, "--human", write_lines(people, "people.jsonl"), "--json", "-")
    run = run_pearl(*words)
    assert (run.status, run.err) == (0, "")
    (overall,) = (row for row in run.json["persona_sensitivity"] if row["task"] is None)
    assert overall["by_persona"] == {"0": 1.0, "2": 1.0, "4": 1.0}
    assert overall["personas"] == 3
    assert not {"no_persona", "no_request", "no_generator"} & {found["check"] for found in run.json["preflight"]}
    lines = [json.loads(line) for line in judged.read_text().splitlines()]
    assert len({line["request"] for line in lines}) == 2  # intervals are over two requests, not 168 items
    for line in lines:
        del line["persona"]
    run = run_pearl(*words[:3], write_lines(lines, "anonymous.jsonl"), *words[4:])
    assert run.json["persona_sensitivity"] == []
    assert "no_persona" in {found["check"] for found in run.json["preflight"]}


def test_from_requests_to_figures(run_pearl, write_lines, judge_endpoint, tmp_path):
    """One model writes, detects and ranks; every command reads what the one before it wrote."""
    written, found, pairs, ranked = (tmp_path / f"{name}.jsonl" for name in ("texts", "found", "pairs", "ranked"))

    def says(body):
        system, user = (message["content"] for message in body["messages"])
        if "know writing styles well" in system:
            style = next(name for name in STYLES if f'"{name}"' in user)
            return f"Answer: {0.9 if mark_of(style) in user else 0.1}"
        if "choose between two outputs" in system:
            return prefers_echoes(body)
        told = [name for name in STYLES if f"- {name}" in system]
        return f"A text on {len(judge_endpoint.bodies)} " + " ".join(mark_of(name) for name in told)

    judge_endpoint.says = says
    kept = (f"PEARL_HOME={tmp_path}",)
    requests = [{"task": task, "request": f"Why a {task}?"} for task in ("email", "commit")]
    run = run_pearl(
        *("judge", "style-write", "--items", write_lines(requests, "requests.jsonl"), "--draws", 2, *kept),
        *("--persona", "0", "--persona", "2", "--persona", "nobody", "--responses", written),
    )
    assert run.status == 0
    detect = ("judge", "style-detect", "--items", written, "--all-styles", "--draws", 2, "--judgements", found, *kept)
    assert run_pearl(*detect).status == 0
    assert len(found.read_text().splitlines()) == 2 * 3 * 2 * 15 * 2
    run = run_pearl(
        "judge", "items", "--from", "styled", "--data", written, "--judgements", found, "--out", pairs, "--json", "-"
    )
    assert (run.status, run.json["counts"]["responses"], run.json["passed_over"]) == (0, 12, {})
    assert run.json["lines"] == 2 * 15 * 2  # six texts of a request make 15 pairs, judged for two personas
    rank = ("judge", "style-rank", "--items", pairs, "--draws", 2, "--judgements", ranked, *kept)
    assert run_pearl(*rank).status == 0
    lines = [json.loads(line) for line in found.read_text().splitlines()]
    labels = {(line["item"], line["style"]): "very" if line["score"] > 0.5 else "not" for line in lines}
    people = [
        {"item": item, "style": style, "rater": rater, "label": label}
        for (item, style), label in labels.items()
        for rater in ("r1", "r2")
    ]
    run = run_pearl(
        *("eval", "style", "--judgements", found, "--judgements", ranked, "--json", "-"),
        *("--human", write_lines(people, "people.jsonl")),
    )
    assert (run.status, run.err) == (0, "")
    assert run.json["f1"][0]["f1"]["value"] == 1.0
    assert {row["group"]["task"] for row in run.json["f1"] if row["by"] == ["task"]} == {"email", "commit"}
    assert {row["persona"] for row in run.json["labels_by_persona"]} == {"0", "2", "null persona"}
    assert not {"no_persona", "no_generator"} & {found["check"] for found in run.json["preflight"]}


def test_from_prompts_to_their_scores(run_pearl, write_lines, judge_endpoint, tmp_path):
    """A prompt that steers is taken when its styles are asked for and not by default; one that does not is neither."""
    written, styled, default = (tmp_path / f"{name}.jsonl" for name in ("texts", "styled", "default"))

    def says(body):
        system, user = (message["content"] for message in body["messages"])
        first, _, second = user.partition("<output_b>")
        if "fits the writing styles" in system:
            styles = [name for name in STYLES if f"- {name}" in user]
            return f"By its style.\nEMAIL {'ONE' if marks(first, styles) >= marks(second, styles) else 'TWO'}"
        if "do you prefer" in system:
            return f"It is plainer.\nANSWER: OPTION {'A' if '[' not in first.partition('<output_a>')[2] else 'B'}"
        told = [name for name in STYLES if f"- {name}" in system]
        weak = "parameters" in system
        return f"Text {len(judge_endpoint.bodies)} " + " ".join(mark_of(name) for name in told if not weak)

    judge_endpoint.says = says
    kept = (f"PEARL_HOME={tmp_path}", "--json", "-")
    requests = write_lines([{"task": "email", "request": "Why tea?"}], "requests.jsonl")
    write = ("judge", "style-write", "--items", requests, "--draws", 2, "--prompt", "prefer", "--prompt", "agent")
    assert run_pearl(*write, "--persona", "0", "--persona", "nobody", "--responses", written, *kept).status == 0
    for targets, scheme, judged, items in (
        ("prompts", "validation_style", styled, 4 * 4),
        ("prompts_all", "validation_default", default, 4),
    ):
        pairs = tmp_path / f"{targets}.jsonl"
        made = run_pearl(
            "judge", "items", "--from", "styled", "--data", written, "--choose", f"targets={targets}", "--out", pairs
        )
        assert (made.status, made.err, len(pairs.read_text().splitlines())) == (0, "", items)
        rank = ("judge", "style-rank", "--items", pairs, "--scheme", scheme, "--draws", 1, "--judgements", judged)
        assert run_pearl(*rank, *kept).status == 0
    run = run_pearl("eval", "style", "--judgements", styled, "--judgements", default, "--prompts", "--json", "-")
    assert (run.status, run.err) == (0, "")
    scores = {row["prompt"]: row["alignment"]["value"] for row in run.json["prompts"]["prompts"]}
    assert scores["prefer"] == 100
    assert scores["agent"] < 60
    assert [row["prompt"] for row in run.json["prompts"]["prompts"] if row["best"]] == ["prefer"]
