"""docs/training.md: its commands by hand are run as they stand there, with tiny models named beside."""

from __future__ import annotations

import gzip
import json
import math
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pearl.text.files.whole import file_digest
from pearl.text.history.partition import DEV, SPLITS, TEST, TRAIN
from retriever.calibrated.artifact import read_manifest
from training.gains.scores import read_scores

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
STEPS = PAGE[PAGE.index("## Step by step") :]
COMMANDS = re.search(r"^```\n(.*?)^```", STEPS, re.DOTALL | re.MULTILINE)[1].splitlines()  # type: ignore[index]


@pytest.fixture
def mine(writings, users_in, write_lines, tmp_path, monkeypatch) -> Path:
    """The page's history, in the folder where the commands are run."""
    users = [user for split, n in ((TRAIN, 3), (DEV, 1), (TEST, 2)) for user in users_in(split, n)]
    monkeypatch.chdir(tmp_path)
    made: Path = write_lines(writings(users, documents=9), "mine.jsonl.gz")
    assert made.name == "mine.jsonl.gz"
    return made


@pytest.fixture
def score(run_pearl, mine, causal_folder) -> Callable[..., Any]:
    def run(split: str | None, out: str, candidates: int = 4, **options: Any) -> Any:
        choose = ["partition=rolling", f"candidates={candidates}", *options.pop("choose", ())]
        told = {"history": mine, "split": split, "choose": choose} | options
        told = {name: value for name, value in told.items() if value is not None}
        return run_pearl("train", "score", aux=causal_folder, out=out, **told)

    return run


def test_the_pages_published_commands_run(
    run_pearl, mine, writings, users_in, write_lines, seq2seq_folder, sentence_folder, mpnet_folder
):
    """With tiny models of the paper's kinds in place of those that the page names."""
    users = [*users_in(TRAIN, 2), *users_in(DEV, 1), *users_in(TEST, 1)]
    write_lines(writings(users, documents=14), "history.jsonl.gz")
    section = PAGE[PAGE.index("## As published") :]
    commands = re.search(r"^```\n(.*?)^```", section, re.DOTALL | re.MULTILINE)[1].splitlines()  # type: ignore[index]
    tiny: dict[str, Any] = {"choose": ["epochs=1", f"encoder={sentence_folder}"]}
    assert len(commands) == 3
    for command in commands[1:]:  # the first is the second on larger models
        _, *words = shlex.split(command.replace("base=embedded", f"base={mpnet_folder}"))
        ran = run_pearl(*words, **tiny | ({"aux": seq2seq_folder} if words[1] == "retriever" else {}))
        assert ran.status == 0, f"{command}: {ran.err}"
    chosen = {name: read_manifest(Path(name)).training["config"]["y0"] for name in ("SMALL", "THIRD")}
    assert chosen == {"SMALL": "median", "THIRD": "q3"}
    assert {read_manifest(Path(name)).training["config"]["preset"] for name in chosen} == {"as_published"}


def test_the_pages_commands_lead_from_a_history_to_a_measured_artifact(
    run_pearl, mine, causal_folder, sentence_folder, bert_folder
):
    tiny: dict[str, dict[str, Any]] = {
        "score": {"aux": causal_folder, "choose": "candidates=4"},
        "select": {},
        "fit": {"choose": [f"encoder={sentence_folder}", f"base={bert_folder}"]},
        "retrieval": {},
    }
    assert len(COMMANDS) == 6
    for command in COMMANDS:
        program, *words = shlex.split(command)
        assert program == "pearl"
        ran = run_pearl(f"PEARL_ENCODER={sentence_folder}", *words, **tiny[words[1]])
        assert ran.status == 0, f"{command}: {ran.err}"
    report = json.loads(Path("retrieval.json").read_text(encoding="utf-8"))
    assert [model["model"] for model in report["models"]] == ["MODEL", "bm25"]
    assert report["users"] == 2
    artifact = read_manifest(Path("MODEL"))
    assert artifact.training["requests"]["train"] > 0
    assert artifact.training["requests"]["dev"] > 0
    assert artifact.training["groups"] == file_digest(Path("groups.parquet"))


def test_scores_that_do_not_belong_together(score, run_pearl, mine, sentence_folder, write_lines):
    assert score(TRAIN, "a.parquet").status == 0
    assert score(DEV, "b.parquet").status == 0
    assert score(None, "whole.parquet").status == 0
    assert score(TRAIN, "fewer.parquet", candidates=2).status == 0
    broken = pq.read_table("b.parquet")  # a likelihood to choose by is not a number
    likelihoods = pa.array([math.nan] + [0.0] * (broken.num_rows - 1))
    pq.write_table(broken.set_column(3, broken.schema.field(3), likelihoods), "nan.parquet")
    other = write_lines([{"user_id": "zoe", "id": "1", "text": "hello", "request": "say it"}], "other.jsonl")

    def fit(*scores: str, history: Path = mine, out: str = "M") -> Any:
        return run_pearl(
            "train",
            "fit",
            history=history,
            scores=list(scores),
            choose=[f"encoder={sentence_folder}", "first_stage_only=yes"],
            out=out,
        )

    for ran, complaint in (
        (fit("a.parquet"), "holds no scores of 'mine'"),
        (fit("a.parquet", "a.parquet"), "--scores a.parquet: is of 'mine' and its split 'train', and so is a.parquet"),
        (fit("whole.parquet"), "--scores whole.parquet: has no split"),
        (fit("a.parquet", history=other), "--scores a.parquet: was made of none of the --history files"),
        (fit("fewer.parquet", "b.parquet"), "holds other scores of 'mine' and its split 'train'"),
        (fit("mine.jsonl.gz"), "mine.jsonl.gz: is not a Parquet file"),
        (fit("a.parquet", "nan.parquet"), "nan.parquet: request '"),
        (fit("no.parquet"), "no.parquet: there is no such file"),
    ):
        assert (ran.status, ran.err.count("\n")) == (2, 1), ran.err
        assert complaint in ran.err
    assert not Path("M").exists()
    assert fit("a.parquet", "b.parquet").status == 0
    assert read_manifest(Path("M")).figures == {}


def test_scores_of_the_test_split_measure_the_artifact(score, run_pearl, mine, sentence_folder):
    for split in SPLITS:
        assert score(split, f"{split}.parquet", choose=["targets=2"]).status == 0
    common = {"history": mine, "choose": [f"encoder={sentence_folder}", "first_stage_only=yes"]}
    scores = [f"{split}.parquet" for split in (TRAIN, DEV)]
    assert run_pearl("train", "fit", **common, scores=scores, out="A").status == 0
    Path("statistics.py").write_text("raise ImportError('of the folder where the command runs')", encoding="utf-8")
    ran = run_pearl("train", "fit", **common, scores=[*scores, "test.parquet"], out="B")
    without, measured = read_manifest(Path("A")), read_manifest(Path("B"))
    assert measured.files == without.files
    assert (without.figures, without.training["test_requests"]) == ({}, 0)
    assert measured.figures["requests"] == measured.training["test_requests"] == 4
    assert measured.figures["users"] == 2
    scored = measured.training["scored"]["mine"]
    assert {split: extent["targets"] for split, extent in scored.items()} == dict.fromkeys(SPLITS, 2)
    assert measured.training["auxiliary_fingerprint"] == read_scores(Path("dev.parquet"))[1]["fingerprint"]
    assert measured.inherited() in " ".join(ran.err.split())


def test_files_of_any_names_in_one_folder(score, run_pearl, mine, sentence_folder):
    """Scores without the ending that the page gives them, and histories that differ only after the first dot."""
    histories = [mine.rename("mine.2020.jsonl.gz"), Path("mine.2021.jsonl.gz")]
    lines = gzip.decompress(histories[0].read_bytes())
    histories[1].write_bytes(gzip.compress(lines.replace(b"on the bench", b"in the shed")))
    for year, history in zip((2020, 2021), histories, strict=True):
        for split in (TRAIN, DEV):
            ran = score(split, f"s.{year}.{split}", history=history)
            assert ran.status == 0, ran.err
    common = {"history": histories, "out": "M", "choose": [f"encoder={sentence_folder}", "first_stage_only=yes"]}
    ran = run_pearl("train", "fit", **common, scores=[f"s.{year}.{TRAIN}" for year in (2020, 2021)])
    assert ran.status == 2
    assert "holds no scores of 'mine.2020' and its split 'dev'" in ran.err
    scores = [f"s.{year}.{split}" for year in (2020, 2021) for split in (TRAIN, DEV)]
    ran = run_pearl("train", "fit", **common, scores=scores)
    assert ran.status == 0, ran.err
    trained_on = [each["file"] for each in read_manifest(Path("M")).training["histories"]]
    assert trained_on == ["mine.2020.jsonl.gz", "mine.2021.jsonl.gz"]
