"""Items for the personalised judge from small files in the published formats, and what is wrong with such files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TIES = ("--choose", "ties=kept")
Build = Callable[..., tuple[dict[str, Any], list[dict[str, Any]]]]


@pytest.fixture
def build(run_pearl, tmp_path) -> Build:
    """The figures of a build and the items it wrote."""

    def run(source: str, *options: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        out = tmp_path / "items.jsonl"
        done = run_pearl("judge", "items", "--from", source, "--data", tmp_path, "--out", out, "--json", "-", *options)
        assert done.status == 0, done.err
        return json.loads(done.out), [json.loads(line) for line in out.read_text().splitlines()]

    return run


@pytest.fixture
def error(run_pearl, tmp_path) -> Callable[..., str]:
    def run(source: str, *options: str) -> str:
        words = ("--from", source, "--data", tmp_path, "--out", tmp_path / "o", *options)
        return run_pearl("judge", "items", *words).refusal

    return run


def write_json_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def dropped(figures: dict[str, Any]) -> dict[str, int]:
    return {row["reason"]: row["count"] for row in figures["dropped"]}


def right(item: dict[str, Any]) -> str:
    return item["responses"][item["preferred"]]


# PRISM


def person(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "user_id": f"user{number}",
        "age": "25-34 years old",
        "gender": "Female",
        "employment_status": "Retired",
        "education": "Some University but no degree",
        "marital_status": "Prefer not to say",
        "religion": {"self_described": "x", "simplified": "No Affiliation"},
        "ethnicity": {"self_described": "x", "simplified": "White"},
        "location": {"birth_country": "Chile", "reside_country": "Norway"},
        **fields,
    }


def said(number: int, *scores: float, **fields: Any) -> list[dict[str, Any]]:
    """The first turn of an interaction, a response for each score."""
    return [
        {
            "interaction_id": f"int{number}",
            "user_id": f"user{number}",
            "turn": 0,
            "conversation_type": "unguided",
            "user_prompt": f"Prompt {number}?",
            "model_name": f"model-{index}",
            "model_response": f"Response {index} to prompt {number}.",
            "score": score,
        }
        | fields
        for index, score in enumerate(scores)
    ]


def prism(folder: Path, people: list[dict[str, Any]], *interactions: list[dict[str, Any]]) -> None:
    write_json_lines(folder / "survey.jsonl", people)
    write_json_lines(folder / "utterances.jsonl", [row for rows in interactions for row in rows])


def test_prism_takes_the_best_against_another(build, tmp_path):
    later = said(1, 99, 98, turn=1)
    prism(tmp_path, [person(1), person(2)], said(2, 10, 80), said(1, 90, 20, 30), later)
    figures, items = build("prism")
    assert [item["id"] for item in items] == ["int1", "int2"]
    assert [right(item) for item in items] == ["Response 0 to prompt 1.", "Response 1 to prompt 2."]
    assert items[0]["question"] == "Prompt 1?"
    assert "own" not in items[0]
    assert items[0]["persona"] == {
        "age": "25-34 years old",
        "sex": "Female",
        "race": "White",
        "birth country": "Chile",
        "living country": "Norway",
        "employment": "Retired",
        "education": "Some University but no degree",
        "religion": "No Affiliation",
    }
    generators = {items[0]["generator_a"], items[0]["generator_b"]}
    assert "model-0" in generators
    assert len(generators) == 2
    assert figures["items"] == 2
    assert figures["read"]["responses of later turns"] == 2


@pytest.mark.parametrize(("preset", "items"), [("corrected", 1000), ("as_published", 1001)])
def test_prism_takes_as_many_as_the_paper_or_its_code(build, tmp_path, preset, items):
    prism(tmp_path, [person(1)], *(said(number, 90, 20, user_id="user1") for number in range(1, 1004)))
    assert build("prism", "--preset", preset)[0]["items"] == items
    assert build("prism", "--preset", preset, "--limit", 7)[0]["items"] == 7


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("prism", "survey.jsonl"),
        ("prism", "utterances.jsonl.gz"),
        ("opinionqa", "W26/responses.csv"),
        ("empathic", "TRAC3_EMP_Train.CSV"),
        ("reddit", "synthetic_dataset.jsonl"),
    ],
)
def test_a_published_file_is_not_written_over(run_pearl, tmp_path, source, name):
    out = tmp_path / name
    out.parent.mkdir(exist_ok=True)
    out.write_text("as published")
    done = run_pearl("judge", "items", "--from", source, "--data", tmp_path, "--out", out)
    assert done.refusal == f"pearl: --out {out}: is a file that is read; name another one.\n"
    assert out.read_text() == "as published"


@pytest.mark.parametrize(("choice", "ties"), [("at_most_10", {"a": "C", "b": "C"}), ("below_10", {"a": "C"})])
def test_a_tie_of_ten_points(build, tmp_path, choice, ties):
    """Nine and ten points apart: the paper's rule has both for ties, the code's only the first."""
    prism(tmp_path, [person(1), person(2)], said(1, 50, 59), said(2, 50, 60))
    figures, items = build("prism", *TIES, "--choose", f"score_tie={choice}")
    assert sum(item["preferred"] == "C" for item in items) == len(ties)
    if len(ties) < 2:
        figures, _ = build("prism", "--choose", f"score_tie={choice}")
        assert dropped(figures) == {"tie": 1}


def test_own_family_and_refusals_are_left_out(build, tmp_path):
    refused = said(2, 90, 10, 50)
    refused[0]["model_response"] = "I'm sorry, but I can't help with that."
    mentions = said(3, 90, 10)
    mentions[0]["model_response"] = "Air travel: MAIN points follow."
    family = said(1, 90, 10, 50)
    family[0]["model_name"] = "GPT-4-turbo"
    prism(tmp_path, [person(1), person(2), person(3)], family, refused, mentions)
    figures, items = build("prism", "--own-family", "gpt")
    assert dropped(figures) == {"response of the judge's family": 1, "refusal": 1}
    assert [right(item) for item in items][:2] == ["Response 2 to prompt 1.", "Response 2 to prompt 2."]
    assert len(items) == 3
    figures, items = build("prism", "--preset", "as_published")
    assert dropped(figures) == {"refusal": 1, "fewer than two responses left": 1}  # MAIN holds AI, sorry does not


def test_what_cannot_be_asked_about_a_person(build, error, tmp_path):
    nobody = dict.fromkeys(("age", "gender", "employment_status", "education"), "Prefer not to say")
    empty = person(2, **nobody, religion={}, ethnicity={}, location={})
    prism(tmp_path, [person(1), empty], said(1, 90), said(2, 90, 10), said(3, 90, 10), said(4, 90, None, 10))
    assert "no item is left (no score: 1, fewer than two responses left: 1, empty persona: 1" in error("prism")


def test_all_refusals(error, tmp_path):
    prism(tmp_path, [person(1)], said(1, 90, 10, model_response="As an AI language model, I cannot say."))
    assert "no item is left (refusal: 2, fewer than two responses left: 1)" in error("prism")


def test_turns_of_another_type(error, tmp_path):
    prism(tmp_path, [person(1)], [{**row, "turn": "0"} for row in said(1, 90, 10)])
    assert "no item is left (responses of later turns: 2)" in error("prism")


def test_another_version_of_prism(error, tmp_path):
    assert "there is no file survey.jsonl" in error("prism")
    rows = said(1, 90, 10)
    prism(tmp_path, [person(1)], rows)
    del rows[1]["score"]
    write_json_lines(tmp_path / "utterances.jsonl", rows)
    assert "utterances.jsonl:2: score: is missing; the line has" in error("prism")
    prism(tmp_path, [person(1, religion="none")], said(1, 90, 10))
    assert "survey.jsonl:1: religion: must be an object, not a string; is it another version?" in error("prism")


# OpinionQA


def wave(folder: Path, name: str, answers: list[str], questions: list[tuple[str, dict[float, str]]]) -> None:
    write_csv(
        folder / name / "info.csv",
        [
            {"key": key, "question": f"Question {key}?", "references": "[]", "option_mapping": str(options)}
            for key, options in questions
        ],
    )
    write_csv(
        folder / name / "responses.csv",
        [
            {
                **{key: answer for key, _ in questions},
                **dict.fromkeys(("CREGION", "SEX", "EDUCATION", "CITIZEN", "MARITAL", "RELIG", "RELIGATTEND"), "nan"),
                "AGE": f"{18 + index}-49",
                "RACE": "White",
                "POLPARTY": "Refused",
                "POLIDEOLOGY": "",
                "INCOME": "",
            }
            for index, answer in enumerate(answers)
        ],
    )


YES_NO = {1.0: "Yes", 2.0: "No", 99.0: "Refused"}
FOUR = {1.0: "A lot", 2.0: "Some", 3.0: "None", 99.0: "Refused"}


def test_opinionqa_asks_a_binary_question_of_each_wave(build, tmp_path):
    wave(tmp_path, "W1", ["Yes", "No", "Refused", "No"], [("FOUR_W1", FOUR), ("BIN_W1", YES_NO)])
    wave(tmp_path, "W2", ["Yes", "Yes"], [("BIN_W2", YES_NO)])
    wave(tmp_path, "W3", ["Some"], [("FOUR_W3", FOUR)])
    figures, items = build("opinionqa")
    assert [item["question"] for item in items] == ["Question BIN_W1?"] * 3 + ["Question BIN_W2?"] * 2
    assert [right(item) for item in items] == ["Yes", "No", "No", "Yes", "Yes"]
    assert items[0]["persona"] == {"age": "18-49", "race": "White"}
    assert dropped(figures) == {"none of the two answers": 1, "wave without a question of so few options": 1}


def test_the_options_of_a_survey_are_nobodys_own(build, tmp_path):
    """That many respondents share an answer is no fault of the data."""
    wave(tmp_path, "W1", ["Yes", "No", "Yes", "Yes"] * 10, [("BIN_W1", YES_NO)])
    wave(tmp_path, "W2", ["No", "Yes", "Yes", "Yes"] * 10, [("BIN_W2", YES_NO)])
    figures, _ = build("opinionqa")
    found = {finding["check"] for finding in figures["preflight"]}
    assert not found & {"constant_distractor", "duplicate_distractor", "target_claimed_twice"}


def test_the_first_respondents_or_random_ones(build, tmp_path):
    wave(tmp_path, "W1", ["Yes", "No"] * 150, [("BIN_W1", YES_NO)])
    assert build("opinionqa")[0]["items"] == 200
    figures, items = build("opinionqa", "--preset", "as_published")
    assert (figures["items"], dropped(figures)) == (201, {"beyond --limit": 99})
    assert [item["id"] for item in items] == [f"W1 BIN_W1 {number}" for number in range(1, 202)]
    assert len(build("opinionqa", "--limit", "7")[1]) == 7


def test_another_version_of_opinionqa(error, tmp_path):
    assert "no folder in it has an info.csv" in error("opinionqa")
    wave(tmp_path, "W1", ["Yes"], [("BIN_W1", YES_NO)])
    (tmp_path / "W1" / "info.csv").write_text("key,question\nBIN_W1,Question?\n")
    assert "info.csv:1: option_mapping: there is no such column; the file has key, question, and" in error("opinionqa")
    (tmp_path / "W1" / "info.csv").write_text("key,question,option_mapping\nBIN_W1,Question?,Yes/No\n")
    assert "option_mapping: BIN_W1 has no mapping of numbers to answers" in error("opinionqa")
    (tmp_path / "W1" / "info.csv").write_text(f'key,question,option_mapping\nOTHER,Question?,"{YES_NO}"\n')
    assert "OTHER: there is no such column" in error("opinionqa")
    (tmp_path / "W1" / "info.csv").write_text('key,question,option_mapping\nOTHER,"Question?\n')
    assert "info.csv:2: is not CSV: a cell begins with a quote, and none closes it. Put a cell" in error("opinionqa")


# Empathic Conversations


def empathic(folder: Path, essays: list[tuple[int, int, float, float]], people: int = 9, **fields: Any) -> None:
    """``essays``: article, person, empathy and distress."""
    names = ("conscientiousness", "openess", "extraversion", "agreeableness", "stability")
    traits = {f"personality_{name}": 4.5 for name in names}
    row = {"gender": 2, "education": 6, "race": 1, "age": 33, "income": 50000, **traits} | fields
    write_csv(folder / "trac4_PER_train.csv", [{"person_id": number} | row for number in range(people)])
    write_csv(folder / "articles_adobe_AMT.csv", [{"article_id": n, "text": f"News {n}."} for n in range(9)])
    write_csv(
        folder / "trac3_EMP_train.csv",
        [
            {
                "article_id": article,
                "person_id": who,
                "person_essay": f"Essay of {who} on {article}.",
                "person_empathy": empathy,
                "person_distress": distress,
            }
            for article, who, empathy, distress in essays
        ],
    )


def test_two_essays_on_an_article(build, tmp_path):
    empathic(tmp_path, [(1, 0, 7, 7), (1, 1, 1, 1), (2, 2, 5, 5), (3, 3, 6, 6), (3, 4, 6, 1)])
    figures, items = build("empathic")
    assert [(item["question"], right(item)) for item in items] == [("News 1.", "Essay of 0 on 1.")]
    assert items[0]["persona"]["sex"] == "female"
    assert items[0]["persona"]["openness"] == "4.5"
    assert dropped(figures) == {"article with one essay": 1, "tie": 1}


@pytest.mark.parametrize(("choice", "clear"), [("below_2", 1), ("below_3", 0)])
def test_a_tie_of_two_or_three(build, error, tmp_path, choice, clear):
    empathic(tmp_path, [(1, 0, 7, 7), (1, 1, 5, 5)])
    options = ("--choose", f"essay_tie={choice}")
    if clear:
        assert build("empathic", *options)[0]["items"] == 1
    else:
        assert "no item is left (tie: 1)" in error("empathic", *options)


def test_six_pairs_an_article(build, tmp_path):
    """As in the recordings that the authors publish; the other splits of the data are passed over."""
    empathic(tmp_path, [(article, who, 4, 4) for article in range(9) for who in range(9)])
    (tmp_path / "trac3_EMP_dev.csv").write_text("another split\n")
    figures, _ = build("empathic", *TIES, "--preset", "as_published")
    assert figures["preferred"] == {"C": 9 * 6}
    assert dropped(figures) == {"beyond the pairs of an article": 9 * 30}


def test_ties_are_a_fifth_or_a_hundred(build, tmp_path):
    clear = [(article, who, 7 if who == 0 else 1, 7 if who == 0 else 1) for article in range(4) for who in (0, 1)]
    tied = [(article, who, 4, 4) for article in (4, 5, 6) for who in (0, 1)]
    empathic(tmp_path, clear + tied)
    figures, _ = build("empathic", *TIES)
    assert figures["preferred"].get("C") == 1
    assert dropped(figures) == {"tie beyond their share": 2}
    figures, _ = build("empathic", *TIES, "--choose", "tie_share=capped")
    assert figures["preferred"]["C"] == 3


def test_an_empty_persona_and_a_score_that_is_missing(error, tmp_path):
    nothing = dict.fromkeys(("gender", "education", "race", "age", "income"), "")
    names = ("conscientiousness", "openess", "extraversion", "agreeableness", "stability")
    empathic(
        tmp_path,
        [(1, 0, 7, 7), (1, 1, 1, 1), (1, 2, float("nan"), 1)],
        **nothing,
        **{f"personality_{name}": "nan" for name in names},
    )
    assert "no item is left (no empathy or distress score: 1, empty persona: 1)" in error("empathic")


def test_another_version_of_the_essays(error, tmp_path):
    empathic(tmp_path, [(1, 0, 7, 7), (1, 1, 1, 1)])
    (tmp_path / "trac3_EMP_train.csv").write_text("article_id,essay\n1,Sad.\n")
    assert "person_id: there is no such column; the file has article_id, essay, and needs" in error("empathic")


# public Reddit


def comment(who: str, question: int, **fields: Any) -> dict[str, Any]:
    person = {
        "age": 30 + len(who),
        "sex": "female",
        "city_country": "Oslo, Norway",
        "birth_city_country": "Lima, Peru",
        "education": "Masters",
        "occupation": who,
        "income": "40 thousand euros",
        "relationship_status": "single",
    }
    return {
        "personality": person,
        "question_asked": f"Question {question}?",
        "response": f"As a {who} I say {question}.",
    } | fields


def test_the_nearest_persona_gives_the_other_answer(build, tmp_path):
    people = ("nurse in a hospital", "hospital nurse", "train driver", "driver of a train")
    rows = [comment(who, 2 * index + n) for index, who in enumerate(people) for n in (0, 1)]
    write_json_lines(tmp_path / "synthetic_dataset.jsonl", rows)
    _, items = build("reddit")
    assert len(items) == 8
    for item in items:
        texts = item["responses"]["A"], item["responses"]["B"]
        assert all("nurse" in text for text in texts) or all("driver" in text for text in texts)
        assert item["persona"]["occupation"] in right(item)
    figures, items = build("reddit", "--preset", "as_published")
    assert all("As a driver of a train I say 7." in str(item["responses"]) for item in items)
    assert figures["broken"]
    assert "constant_distractor" in {finding["check"] for finding in figures["preflight"]}


def test_a_persona_with_one_answer_to_the_same_question(build, tmp_path):
    """Its nearest neighbour has answered that question alone, so the next nearest gives the other answer."""
    rows = [comment("nurse", 1), comment("old nurse", 1), comment("driver", 2)]
    write_json_lines(tmp_path / "synthetic_dataset.jsonl", rows)
    _, items = build("reddit")
    shown = {item["persona"]["occupation"]: str(item["responses"]) for item in items}
    assert "As a driver I say 2." in shown["nurse"]
    assert "As a driver I say 2." in shown["old nurse"]


def test_bad_personas(error, tmp_path):
    path = tmp_path / "synthetic_dataset.jsonl"
    write_json_lines(path, [comment("nurse", 1), comment("nurse", 2)])
    assert "there is only one person in it" in error("reddit")
    write_json_lines(path, [comment("nurse", 1, personality={"age": 3})])
    assert "1: personality: has no sex, city_country" in error("reddit")
    write_json_lines(path, [{"personality": {}, "question": "", "response": ""}])
    assert "question_asked: is missing" in error("reddit")
    write_json_lines(path, [comment("nurse", 1, personality=dict.fromkeys(comment("x", 1)["personality"], ""))])
    assert "no item is left (empty persona: 1)" in error("reddit")


def test_sources_and_choices_are_checked(error):
    assert "--from mtbench: there are prism, opinionqa, empathic, reddit, styled, ranked, quality." in error("mtbench")
    assert "--own-family: the texts of reddit are people's own" in error("reddit", "--own-family", "gpt")
    assert "--choose ties=kept: opinionqa has no ties" in error("opinionqa", *TIES)
    assert "there are nearest, constant" in error("reddit", "--choose", "distractor=far")
    assert "--keep: does nothing for items from reddit; leave it out." in error("reddit", "--keep", "3")
    assert "--data is given 2 times" in error("reddit", "--data", "other")


# the whole chain


def test_whose_text_is_asked_for(build, run_pearl, judge_endpoint, tmp_path):
    """Of essays and answers the one that the person wrote is the right one, not one that they would like."""
    empathic(tmp_path, [(1, 0, 7, 7), (1, 1, 1, 1)])
    build("empathic")
    judge_endpoint.says = lambda body: "A]] [[85]]"
    run_pearl("judge", "personalized", "--items", tmp_path / "items.jsonl", "--llm", "openai")
    assert all(
        "which of the two is this person's own" in body["messages"][0]["content"] for body in judge_endpoint.bodies
    )
    assert len(judge_endpoint.bodies) == 2


def test_what_is_built_is_judged(build, run_pearl, judge_endpoint, tmp_path):
    prism(tmp_path, [person(n) for n in range(1, 5)], *(said(n, 90, 20, 30) for n in range(1, 5)))
    build("prism")
    judge_endpoint.says = lambda body: "A]] [[85]]"
    done = run_pearl("judge", "personalized", "--items", tmp_path / "items.jsonl", "--llm", "openai", "--json", "-")
    assert done.status == 0, done.err
    result = json.loads(done.out)
    assert (result["files"][0]["n"], result["files"][0]["high"]["total"]) == (8, 8)
    assert result["files"][0]["accuracy"] == 0.5
