"""``pearl eval likeness`` on invented people."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eval.commands.studies.likeness import likeness_tables
from eval.likeness.writers import (
    OWN,
    SAME_DOMAIN,
    TEST,
    TOPIC_MATCHED,
    claims,
    part_of,
    passages,
    texts_by_user,
    writers_of,
)
from pearl.cli.main import app
from pearl.errors import InputError, PearlError

OPENINGS = ("Honestly ,", "Well then :", "As far as I can see", "Right ;", "To be fair ,", "Oh ,", "Look ,")
LINKS = ("and so", "but still", "because", "; however ,", "- which is why", "although", "since")
NOUNS = ("tide", "kettle", "garden", "train", "letter", "harbour", "window", "piano")
VERBS = ("waits", "sings", "leaves", "stays", "turns", "opens")


def texts_of(person: int, count: int) -> list[str]:
    dice = random.Random(person)

    def sentence() -> str:
        def mine(habits: tuple[str, ...], step: int) -> str:
            return habits[person // step % 7] if dice.random() < 0.7 else dice.choice(habits)

        first, second = dice.choice(VERBS), dice.choice(VERBS)
        return f"{mine(OPENINGS, 1)} the {dice.choice(NOUNS)} {first} {mine(LINKS, 7)} it {second}."

    return [" ".join(sentence() for _ in range(5)) for _ in range(count)]


def history(path: Path, people: dict[str, list[str]]) -> Path:
    lines = [
        {"user_id": user, "id": f"{user} {index}", "timestamp": 1_600_000_000 + index, "text": text}
        for user, texts in people.items()
        for index, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    everybody = {f"user {number}": texts_of(number, 24) for number in range(30)}
    return history(tmp_path_factory.mktemp("likeness") / "people.jsonl", everybody)


def measured(*words: str) -> dict[str, Any]:
    arguments = ["eval", "likeness", *words, "--method", "likeness", "--method", "tfidf"]
    result = CliRunner().invoke(app, [*arguments, "--json", "-"])
    if isinstance(result.exception, PearlError):
        raise result.exception
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_passages_longer_than_what_anybody_wrote(people: Path) -> None:
    with pytest.raises(InputError, match="nobody's later texts fill a passage of 90,000 words; give fewer"):
        measured("--history", str(people), "--words", "90000", "--words", "100000")


def test_nobody_but_the_people_tested(tmp_path: Path) -> None:
    tested = [user for user in map("user {}".format, range(30)) if part_of(user) == TEST]
    file = history(tmp_path / "tested.jsonl", {user: texts_of(number, 24) for number, user in enumerate(tested)})
    with pytest.raises(
        InputError, match=r"nobody is left to be an impostor, .* name histories of other people with --imp"
    ):
        measured("--history", str(file), "--words", "60")


def test_figures_of_every_length(people: Path) -> None:
    found = measured("--history", str(people), "--words", "60", "--words", "20")
    file = found["files"][0]
    assert (file["users"], file["removed"]) == (30, [])
    at_60, at_20 = file["lengths"]
    assert at_60["same_domain"] > at_60["own"] == at_60["topic_matched"] > 10
    ours, cosine = at_60["methods"]
    assert (ours["method"], cosine["method"]) == ("likeness", "tfidf")
    for kind in ("same_domain", "topic_matched"):
        assert ours[kind]["low"] <= ours[kind]["value"] <= ours[kind]["high"]
    assert ours["same_domain"]["value"] > 0.7
    assert set(at_60["calibration"]) == {"brier", "ece"}
    # below 30 words it says nothing, and that is counted
    assert (at_20["own"], at_20["methods"], at_20["calibration"]) == (0, [], None)
    assert at_20["abstained"] > 0
    assert sum(row["of"] for row in found["reliability"]) <= 2 * at_60["own"]


def test_the_calibration_has_as_many_false_claims_as_true_ones_where_some_are_not_answered(tmp_path: Path) -> None:
    """Every third of the passages is in a language that the impostors do not write: of these nothing is said."""
    german = "Der Kahn liegt am Ufer und wartet auf die Flut, weil niemand ihn heute noch braucht. " * 5
    everybody = {f"user {number}": texts_of(number, 24) for number in range(30)}
    for user, texts in everybody.items():
        if part_of(user) == TEST:
            texts[17::3] = [f"{german} {index}" for index in range(len(texts[17::3]))]
    found = measured("--history", str(history(tmp_path / "h.jsonl", everybody)), "--words", "60")
    assert found["files"][0]["lengths"][0]["abstained"] > 10
    rows = found["reliability"]
    assert 2 * sum(row["true"] for row in rows) == sum(row["of"] for row in rows) > 20


def test_few_impostors_are_said_to_make_probabilities_too_high(people: Path, tmp_path: Path) -> None:
    words = ["eval", "likeness", "--history", str(people), "--method", "likeness", "--words", "60", "--json", "-"]
    few = CliRunner().invoke(app, words)
    impostors = json.loads(few.stdout)["files"][0]["impostors"]
    assert f"Note: people.jsonl has {impostors} impostors; against fewer than 50 probabilities come" in few.stderr
    others = history(tmp_path / "others.jsonl", {f"other {number}": texts_of(100 + number, 2) for number in range(50)})
    assert "Note" not in CliRunner().invoke(app, [*words, "--impostors", str(others)]).stderr
    shipped = CliRunner().invoke(app, [*words, "--shipped"])
    assert list(json.loads(shipped.stdout)["files"][0]["impostors"]) == ["mail"]
    assert "Note: the register mail has 19 impostors; against fewer than 50 probabilities come" in shipped.stderr


def test_impostors_who_are_tested_are_removed_and_named(people: Path, tmp_path: Path) -> None:
    tested = writers_of(texts_by_user(people), "test")[0].user
    number = int(tested.split()[1])
    others = {f"stranger {index}": texts_of(100 + index, 12) for index in range(6)}
    file = history(tmp_path / "others.jsonl", others | {tested: texts_of(200, 12), "alias": texts_of(number, 24)[:12]})
    found = measured("--history", str(people), "--impostors", str(file), "--words", "60")
    assert found["files"][0]["removed"] == ["alias", tested]
    assert found["files"][0]["impostors"] == 6


def test_too_few_people_are_refused(tmp_path: Path) -> None:
    # three texts, and many that are all the same
    file = history(tmp_path / "few.jsonl", {"ann": texts_of(1, 3), "dev": texts_of(2, 1) * 40})
    with pytest.raises(InputError, match="0 people of the test part have 15 texts or more"):
        measured("--history", str(file))
    with pytest.raises(InputError, match="two kinds of impostors"):
        measured("--history", str(file), "--shipped", "--impostors", str(file))


def test_claims_are_divided_by_person_and_by_time(people: Path) -> None:
    texts = texts_by_user(people)
    parts = {part: {writer.user for writer in writers_of(texts, part)} for part in ("impostors", "dev", "test")}
    assert sum(map(len, parts.values())) == len(set().union(*parts.values())) == 30
    writers = writers_of(texts, "test")
    assert all(not set(writer.history) & set(writer.later) for writer in writers)
    for claim in claims(writers, 60, seed=0):
        mine = writers[claim.writer]
        assert len(claim.passage.text.split()) == 60
        assert (claim.passage.user == mine.user) is (claim.kind == OWN)
        assert claim.kind in (OWN, SAME_DOMAIN, TOPIC_MATCHED)


def test_passages_are_cut_to_their_length() -> None:
    assert list(passages(["one two", "three four five", "six"], 3)) == ["one two\n\nthree"]
    assert list(passages(["one two three", "four five six seven"], 3)) == ["one two three", "four five six"]
    assert list(passages(["明天见面吧。", "好的，谢谢你们。"], 5)) == ["明天见面吧。\n\n好"]


def test_the_method_words_has_a_column_beside_the_length_in_words():
    interval = {"value": 0.9, "low": 0.8, "high": 1.0}
    methods = [{"method": name, SAME_DOMAIN: interval, TOPIC_MATCHED: None} for name in ("likeness", "words")]
    part = {"words": 60, OWN: 1, SAME_DOMAIN: 3, "abstained": 0, "calibration": None, "methods": methods}
    file = {"file": "a.jsonl", "tested": 2, "removed": [], "lengths": [part]}
    auc, *_ = likeness_tables({"methods": ["likeness", "words"], "files": [file], "command": ""})
    assert auc.columns == ("file", "length", "likeness", "words")
    assert auc.rows == (("a.jsonl", "60", "0.900 [0.800, 1.000]", "0.900 [0.800, 1.000]"),)
