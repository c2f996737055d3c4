from __future__ import annotations

import json

import pytest

JUDGES = {"small": 4, "middle": 3, "large": 6}  # each is wrong about one text in so many


@pytest.fixture
def files(detected, ranked, write_lines, tmp_path):
    """Three judges, three tasks of which one is not the paper's, two schemes each, four writers, two personas."""
    lines, people = [], []
    for i in range(24):
        about = {"task": ("email", "tweet", "letter")[i % 3], "generator": ("small", "Zoe", "Yan", "large")[i % 4]}
        about |= {"persona": str(i % 2)} if i % 5 else {}
        texts = ("vivid scenes follow", "as any letter would")
        for style in ("storytelling", "legal precision"):
            there = (i // 3 + len(style)) % 3 == 0
            for rater in range(3):
                label = "very" if there != (rater == 0 and i % 4 == 0) else "not"
                people.append({"item": f"t{i}", "style": style, "rater": f"r{rater}", "label": label})
            for judge, wrong in JUDGES.items():
                for scheme in ("yes_no", "probability"):
                    for draw in range(3):
                        says = there != ((i + draw // 2) % wrong == 0)
                        verdict = "present" if says else "absent"
                        reply = f"The text has {texts[not says]} in part {draw}. Answer: {verdict}"
                        fields = {"style": style, "scheme": scheme, "judge": judge, "draw": draw, "reply": reply}
                        lines.append(detected(f"t{i}", verdict, **about, **fields))
        better = ("a", "tie", "b")[i // 3 % 3]
        for rater in range(3):
            people.append({"item": f"p{i}", "style": None, "rater": f"r{rater}", "label": better})
        for judge, wrong in JUDGES.items():
            for draw in range(2):
                takes = "b" if (i + draw) % wrong == 0 else better
                for order in ("ab", "ba"):
                    first = order[0] if takes == "tie" else takes
                    verdict = "A" if first == order[0] else "B"
                    fields = {"style": None, "scheme": "ab_helpfulness", "judge": judge, "draw": draw}
                    lines.append(ranked(f"p{i}", verdict, order, **about, **fields))
    for i in range(24):
        for persona in ("a human", "a typical person", "a woman"):
            lines.append(
                detected(
                    f"t{i}",
                    task=("email", "tweet", "letter")[i % 3],
                    **{
                        **({"persona": str(i % 2)} if i % 5 else {}),
                        "generator": ("small", "Zoe", "Yan", "large")[i % 4],
                        "judge": "small",
                        "judge_persona": persona,
                    },
                )
            )
    ability = tmp_path / "ability.json"
    scores = {"small": 0.5, "middle": 0.6, "large": 0.7, "Zoe": 0.65, "Yan": 0.4}
    ability.write_text(json.dumps({name: {"score": score, "family": name[:1]} for name, score in scores.items()}))
    half = len(lines) // 2
    return (
        "style",
        "--judgements",
        write_lines(lines[:half], "a.jsonl.gz"),
        "--judgements",
        write_lines(lines[half:], "b.jsonl"),
        "--human",
        write_lines(people, "people.jsonl.gz"),
        "--ability",
        ability,
    )


def test_figures_and_page(pearl_eval, files, tmp_path):
    pages = []
    for name in ("a", "b"):
        page = tmp_path / f"{name}.html"
        run = pearl_eval(*files, "--json", "-", "--report", page)
        assert (run.status, run.err) == (0, "")
        pages.append((run.out, page.read_bytes()))
    assert pages[0] == pages[1]
    html = pages[0][1].decode()
    assert "vivid scenes follow" in html
    found = run.json
    assert found["judgements"]["lines"] == 24 * (2 * 3 * 2 * 3 + 3 * 2 * 2) + 24 * 3
    assert found["judgements"]["units"] == 24 * (2 * 3 * 2 + 3) + 24 * 3
    assert found["judgements"]["units_of_a_judge_told_to_be_somebody"] == 24 * 3
    assert found["judgements"]["units_not_rated"] == 0
    assert found["people"]["labels"]["ranking"] == {"a": 9, "tie": 9, "b": 6, "no_label": 0}
    assert found["choices"] == {
        "votes": "labels_first",
        "cant_tell": "left_out",
        "even": "no_label",
        "half": "dropped",
        "bins": "published",
    }
    assert {row["average"] for row in found["f1"]} == {"binary", "macro"}
    assert {row["group"].get("task") for row in found["f1"] if row["by"] == ["task"]} == {"email", "letter", "tweet"}
    assert {row["judges"] for row in found["correlations"] if row["task"] is None} == {3}
    assert {row["judge_persona"] for row in found["irrelevant_attributes"]} == {
        "a human",
        "a typical person",
        "a woman",
    }
    assert found["command"].startswith("pearl eval style --judgements")
    assert "NaN" not in run.out


def test_tables_for_the_eye(pearl_eval, files):
    run = pearl_eval(*files)
    assert (run.status, run.err) == (0, "")
    for said in ("F1 of the judges against people", "Randolph's kappa", "Whose texts a judge judges best", "small"):
        assert said in run.out


def test_without_people(pearl_eval, files):
    run = pearl_eval(*files[:5], "--json", "-")
    assert (run.status, run.err) == (0, "")
    assert run.json["f1"] == []
    assert run.json["self_consistency"]
    assert run.json["agreement"][0]["raters"] == ["large", "middle", "small"]
    assert pearl_eval(*files[:5]).status == 0


def test_one_judgement_is_enough(pearl_eval, detected, write_lines, tmp_path):
    path, page = write_lines([detected()]), tmp_path / "p.html"
    run = pearl_eval("style", "--judgements", path, "--json", "-", "--report", page)
    assert (run.status, run.err) == (0, "")
    assert run.json["agreement"][0]["coefficients"]["randolph_kappa"] is None
    assert {"no_persona", "no_generator"} <= {found["check"] for found in run.json["preflight"]}
    assert run.json["self_consistency"][0]["undefined"] == "no item has two ratings"


def test_presets_and_choices(pearl_eval, detected, write_lines):
    """Four of ten say not; three and three that it is there, more or less."""
    labels = ["not"] * 4 + ["somewhat"] * 3 + ["very"] * 3
    people = write_lines(
        [
            {"item": "text 1", "style": "storytelling", "rater": f"r{i}", "label": label}
            for i, label in enumerate(labels)
        ],
        "people.jsonl",
    )
    words = ("style", "--judgements", write_lines([detected()]), "--human", people, "--json", "-")
    assert pearl_eval(*words).json["people"]["labels"]["detection"] == {"absent": 0, "present": 1, "no_label": 0}
    run = pearl_eval(*words, "--preset", "as_published")
    assert run.json["people"]["labels"]["detection"] == {"absent": 1, "present": 0, "no_label": 0}
    run = pearl_eval(*words, "--preset", "as_published", "--choose", "votes=labels_first", "--choose", "cant_tell=own")
    assert run.json["choices"]["cant_tell"] == "own"
    assert run.json["people"]["labels"]["detection"]["present"] == 1


def test_a_name_is_no_markup(pearl_eval, detected, write_lines, tmp_path):
    page = tmp_path / "p.html"
    lines = [detected(judge="<b>&"), detected("t2", "absent", judge="$x^2$")]
    assert pearl_eval("style", "--judgements", write_lines(lines), "--report", page, "--json", "-").status == 0
    assert "<b>" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [
        ("--preset", "none"),
        ("--choose", "votes=none"),
        ("--votes", "labels_first"),
        ("--cant-tell", "own"),
        ("--even", "cautious"),
        ("--half", "tie"),
        ("--report", "no/such/folder.html"),
        ("--human", "none.jsonl"),
        ("--ability", "none.json"),
    ],
)
def test_bad_options(pearl_eval, detected, write_lines, words):
    run = pearl_eval("style", "--judgements", write_lines([detected()]), *words)
    assert run.refusal


def test_bad_input_is_one_line(pearl_eval, detected, write_lines):
    path = write_lines([detected(), '{"kind": '])
    run = pearl_eval("style", "--judgements", path, "--json", "-")
    assert run.refusal.startswith(f"pearl: {path}:2: is not JSON")


def test_nothing_could_be_read(pearl_eval, detected, write_lines):
    people = [{"item": "text 1", "style": "storytelling", "rater": "r1", "label": "very"}]
    run = pearl_eval(
        *("style", "--judgements", write_lines([detected(verdict="invalid")]), "--json", "-"),
        *("--human", write_lines(people, "people.jsonl")),
    )
    assert (run.status, run.err) == (0, "")
    (whole,) = (row for row in run.json["f1"] if not row["by"])
    assert (whole["n"], whole["no_label"], whole["f1"]) == (0, 1, None)
    assert [found["check"] for found in run.json["preflight"]] == [
        "one_draw",
        "unreadable",
        "no_persona",
        "no_generator",
        "rated_once",
        "unbalanced_people",
        "no_three_labels",
    ]
