"""The way of the style judges, each command on what the one before it wrote: pairs, ranking, figures."""

from __future__ import annotations

import json

import pytest

from eval.recorded.style.styles import PERSONAS


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
    made = run_pearl("judge", "style-pairs", "--responses", written, "--out", pairs, "--json", "-")
    assert (made.status, made.err) == (0, "")
    items = [json.loads(line) for line in pairs.read_text().splitlines()]
    assert len(items) == 2 * 28 * 3  # 8 texts of a request make 28 pairs, each judged for three personas
    assert {item["persona"] for item in items} == {"0", "2", "4"}
    assert all(tuple(item["style"]) == PERSONAS[item["persona"]] for item in items)
    ranked = run_pearl(
        *("judge", "style-rank", "--items", pairs, "--draws", 1, "--judgements", judged, "--json", "-"),
        *("--replies", tmp_path / "r.sqlite"),
    )
    assert ranked.status == 0
    labels = {each["item"]: each["label"] for each in ranked.json["ranked"]}
    people = [
        {"item": item["id"], "style": item["style"], "rater": rater, "label": labels[item["id"]]}
        for item in items
        for rater in ("r1", "r2", "r3")
    ]
    words = ("eval", "style", "--judgements", judged, "--human", write_lines(people, "people.jsonl"), "--json", "-")
    run = run_pearl(*words, "--resamples", 100)
    assert (run.status, run.err) == (0, "")
    (overall,) = (row for row in run.json["persona_sensitivity"] if row["task"] is None)
    assert overall["by_persona"] == {"0": 1.0, "2": 1.0, "4": 1.0}
    assert overall["personas"] == 3
    assert not {"no_persona", "no_request", "no_generator"} & {found["check"] for found in run.json["preflight"]}
    lines = [json.loads(line) for line in judged.read_text().splitlines()]
    assert len({line["request"] for line in lines}) == 2  # intervals are over two requests, not 168 items
    for line in lines:
        del line["persona"]
    run = run_pearl(*words[:3], write_lines(lines, "anonymous.jsonl"), *words[4:], "--resamples", 100)
    assert run.json["persona_sensitivity"] == []
    assert "no_persona" in {found["check"] for found in run.json["preflight"]}
