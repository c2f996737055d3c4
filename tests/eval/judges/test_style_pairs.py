from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from eval.asking.json_lines import write_lines
from eval.judges.style_pairs import PairOptions, Response, build_pairs, distinct, extremes
from eval.judges.style_rank import RankOptions, load
from eval.recorded.style.styles import PERSONAS


def response(name, persona="0", score=0.0, text=None, request="Why?", generator="g"):
    styles = () if persona is None else PERSONAS[persona]
    return Response(name, "email", request, text or f"Text {name}.", generator, persona, styles, score)


def not_asked(texts):
    raise AssertionError("few texts need no vectors")


def built(responses, encode=not_asked, **options):
    return build_pairs(responses, PairOptions(**options), encode)


def six_personas(request="Why?"):
    """Three texts for each of the five personas, and three for none."""
    return [
        response(f"{request} {persona} {n}", persona, score=n / 10, request=request)
        for persona in (*PERSONAS, None)
        for n in range(3)
    ]


def test_twelve_texts_of_six_personas_make_66_pairs():
    found = built(six_personas(), targets="none")
    assert len(found.lines) == found.counts["pairs"] == 66
    texts = Counter(text for line in found.lines for text in (line["text_a"], line["text_b"]))
    assert len(texts) == 12
    assert set(texts.values()) == {11}  # each with every other
    assert not any("1." in text for text in texts if "None" not in text)  # neither the most nor the least
    assert len({frozenset((line["text_a"], line["text_b"])) for line in found.lines}) == 66


def test_a_pair_has_no_order():
    """Else text a would always be of the earlier persona."""
    lines = built(six_personas(), targets="none").lines
    firsts = Counter(
        line.get("persona_a") == "0" for line in lines if "0" in (line.get("persona_a"), line.get("persona_b"))
    )
    assert firsts[True] > 2
    assert firsts[False] > 2


@pytest.mark.parametrize(("targets", "lines"), [("each", 66 * 5), ("own", 5 + 40 * 2 + 20), ("none", 66)])
def test_what_pairs_are_judged_by(targets, lines):
    """Of 66 pairs 5 are within a persona and 40 of two personas; 20 of one and of nobody, and one of nobody alone."""
    found = built(six_personas(), targets=targets)
    assert len(found.lines) == lines
    assert all(("style" in line) is (targets != "none") for line in found.lines)
    assert len({line["id"] for line in found.lines}) == len(found.lines)


def test_only_texts_for_one_request_by_one_generator_are_paired():
    other = [response(f"h{n}", score=n, generator="h") for n in range(2)]
    found = built([*six_personas("Why?"), *six_personas("How?"), *other], targets="none")
    assert (found.counts["groups"], found.counts["pairs"]) == (3, 66 + 66 + 1)


def test_the_most_and_the_least():
    texts = [response(str(n), score=score) for n, score in enumerate((0.5, 0.9, 0.1, 0.9, 0.1))]
    assert [each.id for each in extremes(texts)] == ["1", "4"]
    assert [each.id for each in extremes(texts[:1])] == ["0"]
    assert extremes([]) == []


def test_a_text_that_names_a_style_of_its_persona_is_dropped():
    """That of another persona it may name; and nobody's text any."""
    texts = [
        response("0", score=0.1),
        response("1", score=0.9, text="A Storytelling email."),
        response("2", score=0.8, text="Of legal precision."),
        response("3", None, text="Storytelling, poetic and lyrical."),
        response("4", None),
    ]
    found = built(texts, targets="none")
    assert found.counts["dropped_naming_a_style"] == 1
    assert {line["text_a"] for line in found.lines} | {line["text_b"] for line in found.lines} == {
        "Text 0.",
        "Of legal precision.",
        "Storytelling, poetic and lyrical.",
        "Text 4.",
    }


def test_personas_with_fewer_than_two_texts_and_all_alike_are_counted():
    found = built([response("0"), response("1", "1", 0.5), response("2", "1", 0.5)], targets="none")
    assert (found.counts["personas_with_fewer_than_two"], found.counts["personas_all_alike"]) == (1, 1)
    assert found.counts["pairs"] == 3


def points(texts):
    """Text n lies at its number."""
    return np.array([[float(text.split()[1].rstrip(".")), 0.0] for text in texts], np.float32)


def test_one_text_of_each_cluster_is_kept():
    places = (0, 1, 2, 50, 51, 52, 100, 101, 102)
    texts = [f"Text {place}." for place in places]
    assert distinct(texts, PairOptions(keep=3), points) == [1, 4, 7]  # the middle of each
    assert distinct(texts, PairOptions(keep=9), not_asked) == list(range(9))
    assert distinct(["Text 5."] * 4, PairOptions(keep=3), points) == [0]  # copies are one
    found = built([response(str(place), score=-place) for place in places], points, keep=3, targets="none")
    assert found.counts["dropped_as_similar"] == 6
    assert {found.lines[0]["text_a"], found.lines[0]["text_b"]} == {"Text 1.", "Text 101."}


def test_the_same_seed_builds_the_same():
    first, again, other = (built(six_personas(), seed=seed).lines for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_the_lines_are_items(tmp_path):
    write_lines(tmp_path / "pairs.jsonl", built(six_personas()).lines, called="pairs")
    items, _ = load(tmp_path / "pairs.jsonl", RankOptions(scheme="ab_style"))
    assert (items.lines, items.passed_over) == (330, {})
    assert {item.styles for item in items.every} == set(PERSONAS.values())


LINES = [
    {
        "id": f"{persona}-{n}",
        "task": "tweet",
        "request": "Why?",
        "text": f"Because of {persona}, {n}.",
        "persona": persona,
        "scores": dict.fromkeys(PERSONAS["2"], n / 5),
    }
    for persona in ("2", "mine")
    for n in range(5)
]
for line in LINES[5:]:
    line["styles"] = list(PERSONAS["2"])


@pytest.fixture
def style_pairs(run_pearl, write_lines, tmp_path):
    def run(*more, lines=LINES):
        words = ("--data", write_lines(lines, "responses.jsonl"), "--out", tmp_path / "pairs.jsonl")
        return run_pearl("judge", "items", "--from", "styled", *words, *more)

    return run


def pairs(tmp_path):
    return [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]


def test_the_command(style_pairs, tmp_path):
    run = style_pairs("--json", "-", "--choose", "targets=none")
    assert run.status == 0
    assert (run.json["lines"], run.json["counts"]["pairs"]) == (6, 6)
    assert run.json["command"].startswith("pearl judge items --from styled --data ")
    texts = {text for line in pairs(tmp_path) for text in (line["text_a"], line["text_b"])}
    assert texts == {f"Because of {persona}, {n}." for persona in ("2", "mine") for n in (0, 4)}
    run = style_pairs()
    assert "pairs" in run.out
    assert len(pairs(tmp_path)) == 12


def test_similar_texts_with_the_embedded_encoder(style_pairs, tmp_path):
    texts = ["I baked bread.", "I baked some bread.", "The tyre is flat.", "The tyre went flat."]
    lines = [
        {"task": "email", "request": "Why?", "text": text, "persona": "2", "scores": dict.fromkeys(PERSONAS["2"], n)}
        for n, text in enumerate(texts)
    ]
    run = style_pairs("--keep", 2, "--choose", "targets=own", "--json", "-", lines=lines)
    assert run.json["counts"]["dropped_as_similar"] == 2
    (pair,) = pairs(tmp_path)
    assert {pair["text_a"][:8], pair["text_b"][:8]} == {"I baked ", "The tyre"}
    assert pair["style"] == list(PERSONAS["2"])


def test_scores_of_the_detection_judge(style_pairs, write_lines, tmp_path):
    """The other way round than the file's own."""
    judged = [
        {"item": line["id"], "style": style, "scheme": "likert_10", "judge": "m", "draw": draw, "score": score}
        for line in LINES
        for style in PERSONAS["2"]
        for draw, score in enumerate((10 - int(line["id"][-1]), None, 5))
    ]
    path = write_lines(judged, "judged.jsonl")
    assert style_pairs("--judgements", path, "--choose", "targets=none").status == 0
    first = next(line for line in pairs(tmp_path) if line.get("persona_a") == line.get("persona_b") == "2")
    assert {first["text_a"][-2], first["text_b"][-2]} == {"0", "4"}
    own = write_lines([*judged, {**judged[0], "style": "baroque"}], "own.jsonl")  # by a definition of its own
    assert style_pairs("--judgements", own, "--choose", "targets=none").status == 0
    few = write_lines([line for line in judged if line["item"] != "2-3"], "few.jsonl")
    run = style_pairs("--judgements", few)
    assert run.status == 2
    assert (
        ":4: scores: '2-3' has no score for 'robotic and emotionless': --judgements have no readable answer; leave the "
        "text out, or ask in more draws." in run.err
    )
    run = style_pairs("--judgements", write_lines([*judged, {**judged[0], "scheme": "yes_no"}], "two.jsonl"))
    assert "has likert_10 by m and yes_no by m; give those of one" in run.err
    told = write_lines([*judged, {**judged[0], "judge_persona": "a judge"}], "told.jsonl")
    assert "has likert_10 by m and likert_10 by m, told to be a judge" in style_pairs("--judgements", told).err


def changed(**fields):
    return LINES[0] | fields


@pytest.mark.parametrize(
    ("lines", "options", "complaint"),
    [
        ([], (), "no item"),
        ([changed(task="poem")], (), ":1: task: must be one of"),
        ([changed(text=" ")], (), ":1: text: "),
        ([changed(persona="9")], (), ":1: persona: '9' is none of 0, 1, 2, 3, 4; give its \"styles\""),
        ([changed(scores={})], (), ":1: scores: '2-0' has no score for 'robotic and emotionless': give it"),
        ([changed(scores=[1])], (), ":1: scores: must be an object, not an array"),
        ([changed(scores={"baroque": 1})], (), ":1: scores: 'baroque' is none of"),
        ([changed(scores={"storytelling": "much"})], (), ":1: scores.storytelling: must be a number, not a string"),
        ([changed(styles=["baroque"])], (), "'baroque' is none of"),
        ([LINES[0], LINES[0]], (), ":2: id: '2-0' is on line 1 already"),
        (LINES, ("--choose", "targets=all"), "--choose targets=all: there are each, own, none"),
        (
            LINES[:1],
            ("--choose", "targets=none"),
            ": no request has two texts of personas to pair, both by one generator",
        ),
        (LINES, ("--choose", "targets=prompts"), ": no request has a text that a prompt steered and one for nobody"),
        (LINES, ("--json", "no/such/folder.json"), "there is no folder"),
    ],
)
def test_bad_input(style_pairs, tmp_path, lines, options, complaint):
    run = style_pairs(*options, lines=lines)
    assert complaint in run.refusal
    assert not (tmp_path / "pairs.jsonl").exists()


def test_persona_1_in_both_wordings(run_pearl, write_lines, tmp_path):
    """Appendix L.2 and figure 12 disagree about its third style."""
    line = {"task": "email", "request": "Why?", "text": "One.", "persona": "1"}
    common = {"inspirational and uplifting": 1.0, "journalistic": 0.5}
    for words, third in (((), "rich descriptions"), (("--choose", "persona_1=scholarly"), "scholarly-yet-friendly")):
        lines = [line | {"text": text, "scores": common | {third: 0.1}} for text in ("One.", "Two.")]
        out = tmp_path / "pairs.jsonl"
        responses = write_lines(lines, "responses.jsonl")
        run = run_pearl("judge", "items", "--from", "styled", "--data", responses, "--out", out, *words, "--json", "-")
        assert (run.status, run.err) == (0, "")
        assert json.loads(out.read_text().splitlines()[0])["style"][2] == third
        assert run.json["choices"]["persona_1"] == ("rich" if not words else "scholarly")
