"""``pearl judge personalized --ablate`` through the real command line and the real SDK."""

from __future__ import annotations

import json

import pytest

LINES = [
    {
        "id": f"p{n}",
        "persona": {"age": 30 + n, "home": "a village" if n % 2 else "a town"},
        "responses": {"A": f"The hills, says {n}.", "B": f"The theatre and its cafe, says {n}."},
        "preferred": "A" if n % 2 else "B",
    }
    for n in range(8)
]
SUBSETS = ("--ablate", "home", "--ablate", "age", "--ablate", "none")


@pytest.fixture
def personalized(run_pearl, write_lines, judge_endpoint, tmp_path):
    judge_endpoint.says = knows

    def run(*more, lines=LINES):
        words = ("--items", write_lines(lines, "items.jsonl"), f"PEARL_HOME={tmp_path}")
        return run_pearl("judge", "personalized", *words, *more)

    return run


def knows(body):
    """Right, and sure of it, where the profile says where the person lives; else for the theatre."""
    text = body["messages"][-1]["content"]
    wanted = "The hills" if "a village" in text else "The theatre"
    first = text.index(wanted) < max(text.index("The hills"), text.index("The theatre"))
    return f"{'A' if first else 'B'}]] [[{90 if 'home: ' in text else 20}]]"


def test_one_judge_with_all_fields_with_some_and_with_none(personalized, judge_endpoint):
    run = personalized(*SUBSETS, "--json", "-")
    assert run.status == 0
    found = run.json["ablation"]
    assert (found["less"], found["items"], found["personas"]) == ("all fields", 8, 8)
    rows = {row["told"]: row for row in found["modes"]}
    assert list(rows) == ["all fields", "home", "age", "no persona"]
    right = {name: (row["accuracy"]["part"], row["accuracy"]["of"]) for name, row in rows.items()}
    assert right == {"all fields": (16, 16), "home": (16, 16), "age": (8, 16), "no persona": (8, 16)}
    assert {name: row["high_share"]["part"] for name, row in rows.items()} == {
        "all fields": 16,
        "home": 16,
        "age": 0,
        "no persona": 0,
    }
    assert (rows["age"]["high"]["of"], rows["age"]["high"]["interval"]) == (0, None)
    assert (rows["age"]["auroc"]["value"], rows["home"]["auroc"]) == (0.5, None)
    assert rows["home"]["undefined"]["auroc"].startswith("the records with a certainty are all right")
    home, age, none = found["differences"]
    assert (home["accuracy"]["value"], home["p_value"], home["items_worse"]) == (0, 1, 0)
    # four items of eight are worse, none is better; three tests are corrected
    assert (age["accuracy"]["value"], age["high_share"]["value"]) == (-0.5, -1)
    assert (age["items_better"], age["items_worse"]) == (0, 4)
    assert age["p_value"] == pytest.approx(2 / 2**4)
    assert (age["p_holm"], none["p_holm"]) == (pytest.approx(3 * 2 / 2**4), pytest.approx(3 * 2 / 2**4))
    assert age["accuracy"]["low"] < -0.5 < age["accuracy"]["high"] < 0
    assert "--ablate home --ablate age --ablate none" in run.json["command"]
    assert len(judge_endpoint.bodies) == 4 * 16
    assert sum("Profile" in body["messages"][0]["content"] for body in judge_endpoint.bodies) == 3 * 16


def test_each_is_asked_once_and_kept(personalized, judge_endpoint, tmp_path):
    assert personalized(*SUBSETS, "--dry-run").json["estimate"]["calls"] == 4 * 16
    assert judge_endpoint.bodies == []
    run = personalized(*SUBSETS, "--json", "-")
    again = personalized(*SUBSETS, "--json", "-")
    assert again.json["ablation"] == run.json["ablation"]
    plain = personalized("--json", "-")
    assert (plain.json["files"], plain.json["ablation"]) == (run.json["files"], None)
    few = personalized("--fields", "age", "--json", "-", "--records", tmp_path / "age.jsonl")
    assert few.json["files"][0]["correct"] == 8
    assert json.loads((tmp_path / "age.jsonl").read_text().splitlines()[0])["user_info"] == "age: 30"
    assert len(judge_endpoint.bodies) == 4 * 16


def test_a_mode_in_which_nothing_is_answered(personalized, judge_endpoint):
    judge_endpoint.says = lambda body: knows(body) if "Profile" in body["messages"][0]["content"] else "I cannot."
    found = personalized("--ablate", "none", "--json", "-").json["ablation"]
    row, (difference,) = found["modes"][1], found["differences"]
    assert (row["accuracy"]["part"], row["accuracies"]["invalid_dropped"]["interval"]) == (0, None)
    assert (difference["accuracy"]["value"], difference["n"]) == (-1, 16)
    published = personalized("--ablate", "none", "--preset", "as_published", "--json", "-").json["ablation"]
    assert published["modes"][1]["accuracy"]["interval"] is None
    assert published["differences"][0]["accuracy"] is None
    assert published["differences"][0]["p_value"] == 1


def test_without_a_certainty_and_from_a_few_fields(personalized):
    found = personalized("--fields", "home", "--ablate", "age", "--no-certainty", "--json", "-").json["ablation"]
    assert found["less"] == "home"
    assert [row["high_share"] for row in found["modes"]] == [None, None]
    assert found["modes"][0]["undefined"] == {"auroc": "no record has a certainty"}
    assert found["differences"][0]["high_share"] is None


def test_personas_that_are_texts_or_lack_the_field(personalized):
    texts = [{**line, "persona": f"Lives in home: {line['persona']['home']}."} for line in LINES]
    found = personalized("--ablate", "none", "--json", "-", lines=texts).json["ablation"]
    assert (found["personas"], found["differences"][0]["accuracy"]["value"]) == (2, -0.5)
    gaps = [*LINES[1:], {**LINES[0], "persona": {"age": 5}}]
    found = personalized("--ablate", "home", "--json", "-", lines=gaps).json["ablation"]
    assert [row["items_without_a_field"] for row in found["modes"]] == [0, 1]


def test_tables(personalized):
    out = personalized(*SUBSETS, "--limit", 4).out
    assert "Each less all fields" in out
    assert "no persona" in out


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--ablate", "age,job"), "--ablate job: the personas have age, home"),
        (("--ablate", " ,"), "--ablate : the personas have age, home"),
        (("--ablate", "age", "--ablate", " age"), "is asked already"),
        (("--ablate", "home,age"), "is asked already"),
        (("--ablate", "none", "--ablate", "none"), "is asked already"),
        (("--ablate", "age", "--no-persona"), "nothing to leave out of --no-persona"),
        (("--fields", "age", "--no-persona"), "--fields: there is nothing to show with --no-persona"),
    ],
)
def test_bad_options_are_named_before_anything_is_asked(personalized, judge_endpoint, options, complaint):
    run = personalized("--json", "-", *options)
    assert complaint in run.refusal
    assert judge_endpoint.bodies == []
