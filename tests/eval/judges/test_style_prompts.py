from __future__ import annotations

import re

import pytest

from eval.judges.style_prompts import alignment

TABLE = re.compile(r"^Prompt (\d)\t([\d.]+)\t([\d.]+)\t([\d.]+)\t([\d.]+)$", re.MULTILINE)


def test_the_score():
    assert alignment(100, 100, 0) == 100
    assert alignment(0, 0, 100) == 0
    assert alignment(50, 50, 50) == 50


def test_the_published_scores_come_from_their_rates(shared):
    """But for five of 48; table 13 prints what the rates of these come to."""
    paper = (shared / "papers/style-judges.txt").read_text()
    rows = TABLE.findall(paper[paper.index("Table 14:") : paper.index("E DATASET")])
    assert len(rows) == 48
    wrong = [
        (printed, f"{score:.2f}")
        for _, default, single, every, printed in rows
        if abs((score := alignment(float(every), float(single), float(default))) - float(printed)) > 0.006
    ]
    summaries = [("90.00", "75.78"), ("30.00", "97.33"), ("84.00", "95.11"), ("34.00", "95.33")]
    assert wrong == [("88.00", "84.00"), *summaries]
    table_13 = paper[paper.index("Table 13:") : paper.index("Table 14:")]
    assert all(score in table_13 for _, score in wrong)


def judged(item, verdict, prompt="short", *, order="ab", style=("a", "b"), scheme="ab_style", side="a", **more):
    style = list(style) if len(style) > 1 else style[0]
    about = {"item": f"{item} {prompt}", "task": "email", "style": style, "scheme": scheme, f"prompt_{side}": prompt}
    asked = {"kind": "ranking", "judge": "j", "draw": 0, "verdict": verdict, "order": order}
    return about | asked | {"generator": "g"} | more


@pytest.fixture
def style_prompts(run_pearl, write_lines):
    def run(*files):
        paths = [write_lines(lines, f"{place}.jsonl") for place, lines in enumerate(files)]
        return run_pearl("eval", "style", "--prompts", judgements=paths, json="-")

    return run


GOOD = [
    judged("i1", "A"),
    judged("i1", "B", order="ba"),  # the steered text, too
    judged("i2", "B", side="b"),
    judged("i2", "B", side="b", order="ba"),  # the other
    judged("i3", "A", style=("a",)),
    judged("i4", "invalid", style=("a",)),
    judged("i5", "A", scheme="ab_helpfulness"),
    judged("i6", "B", scheme="ab_helpfulness"),
]
BAD = [
    judged("i1", "B", "long"),
    judged("i3", "B", "long", style=("a",)),
    judged("i5", "A", "long", scheme="ab_helpfulness"),
]


def test_prompts_are_compared(style_prompts):
    run = style_prompts(GOOD, [*BAD, judged("i1", "A", "half")])
    assert run.status == 0
    assert (run.json["prompts"]["lines"], run.json["prompts"]["lines_used"]) == (12, 12)
    half, long, short = run.json["prompts"]["prompts"]
    assert [row["prompt"] for row in (half, long, short)] == ["half", "long", "short"]
    assert short["all"] == {"percent": 75, "taken": 3, "answered": 4, "not_answered": 0}
    assert short["single"] == {"percent": 100, "taken": 1, "answered": 1, "not_answered": 1}
    assert short["default"]["percent"] == 50
    assert short["alignment"]["value"] == pytest.approx((75 + 100 + 100 - 50) / 3)
    assert long["alignment"]["value"] == 0
    assert (half["alignment"], half["undefined"]) == (None, "there is no judgement for single, default")
    assert [row["best"] for row in (half, long, short)] == [False, False, True]
    assert (short["task"], short["generator"]) == ("email", "g")


def test_the_best_of_each_task_and_generator(style_prompts):
    tweets = [line | {"task": "tweet", "item": f"{line['item']} of a tweet"} for line in BAD]
    others = [line | {"generator": None, "generator_a": "h", "item": f"{line['item']} of h"} for line in BAD]
    found = style_prompts([*GOOD, *BAD, *tweets, *others]).json["prompts"]["prompts"]
    assert [(row["task"], row["generator"], row["prompt"], row["best"]) for row in found] == [
        ("email", "g", "long", False),
        ("email", "g", "short", True),
        ("email", "h", "long", True),
        ("tweet", "g", "long", True),
    ]


def test_judgements_with_reasons_count_as_well(style_prompts):
    """Figures 10 and 11 validate by other words than tables 11 and 12 rank by."""
    names = {"ab_style": "validation_style", "ab_helpfulness": "validation_default"}
    justified = [line | {"scheme": names[line["scheme"]]} for line in GOOD]
    assert style_prompts(justified).json["prompts"] == style_prompts(GOOD).json["prompts"]


def test_lines_of_something_else_are_passed_over(style_prompts):
    other = [judged("i7", "A", scheme="rubric_style"), {**judged("i8", "A"), "prompt_a": None}]
    assert style_prompts([*GOOD, *other]).json["prompts"]["lines_used"] == 8


def test_a_table(run_pearl, write_lines):
    run = run_pearl("eval", "style", "--prompts", judgements=write_lines([*GOOD, *BAD]))
    for word in ("email g short", "75.0 (3 of 4)", "best", "alignment score"):
        assert word in run.out


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], "there is no judgement in it"),
        ([judged("i1", "A", scheme="rubric_style")], "has an item with"),
        ([judged("i1", "A", prompt_b="long")], ':1: prompt_a: stands beside "prompt_b"'),
        ([judged("i1", "A", order="first")], ":1: order: must be 'ab' or 'ba'"),
        ([{"item": "i1", "task": "email", "scheme": "ab_style"}], ":1: verdict: is missing"),
        ([judged("i1", ["A"])], ":1: verdict: must be a string, not an array"),
    ],
)
def test_bad_input(style_prompts, lines, complaint):
    run = style_prompts(lines)
    assert complaint in run.refusal
