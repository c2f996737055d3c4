"""Equation 1 over histories, and what an interruption leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pearl.errors import InputError
from pearl.records import Document
from training.auxiliary import Group, load_auxiliary
from training.scoring import (
    Scorer,
    ScoringOptions,
    describe,
    few_shot_examples,
    merge_scores,
    plan_units,
    read_scores,
    score_units,
)
from training.templates import auxiliary_template

OPTIONS = ScoringOptions("commit", targets=2, candidates=None, target_tokens=40, document_tokens=60)


def histories(users: int = 3, documents: int = 6) -> dict[str, list[Document]]:
    return {
        f"user{user}": [
            Document(
                f"u{user}d{number}", f"Text {number} of {user}, {'long ' * number}.", float(number), f"Subject {number}"
            )
            for number in range(documents)
        ]
        for user in range(users)
    }


def scorer_for(folder: Path, found: dict[str, list[Document]]) -> Scorer:
    model = load_auxiliary(str(folder), dtype="float32")
    return Scorer(model, auxiliary_template("commit"), few_shot_examples(found, OPTIONS), OPTIONS)


def test_every_pair_is_scored_once_by_equation_1(causal_folder: Path, tmp_path: Path) -> None:
    found = histories()
    units = plan_units(found, OPTIONS)
    model, template = load_auxiliary(str(causal_folder), dtype="float32"), auxiliary_template("commit")
    description = describe(model, template, OPTIONS, "digest")

    score_units(units, lambda: scorer_for(causal_folder, found), tmp_path / "parts", description)
    rows = merge_scores(units, tmp_path / "parts", tmp_path / "scores.parquet", description)
    table, metadata = read_scores(tmp_path / "scores.parquet")

    records = table.to_pylist()
    assert rows == len(records) == 3 * 2 * 4  # users, targets, candidates
    assert len({(row["request_id"], row["document_id"]) for row in records}) == rows
    assert metadata["history_sha256"] == "digest"
    assert set(metadata["versions"]) == {"torch", "transformers", "pyarrow"}
    row = next(row for row in records if (row["request_id"], row["document_id"]) == ("u1d5", "u1d2"))
    target = tuple(model.encode(found["user1"][5].text, 40))
    examples = tuple(model.decode(model.encode(text, 60)) for text in few_shot_examples(found, OPTIONS))
    prompts = [
        template.prompt_with(found["user1"][2].text, "Subject 5"),
        template.prompt_without("Subject 5", examples),
    ]
    with_document, without = (
        model.likelihoods([Group((tuple(model.encode(prompt)),), (target,))])[0][0] for prompt in prompts
    )
    assert row["log_p_with"] == pytest.approx(with_document.total, rel=1e-4)
    assert row["log_p_without"] == pytest.approx(without.total, rel=1e-4)
    assert row["target_tokens"] == len(target)


def test_work_that_is_done_is_not_done_again(causal_folder: Path, tmp_path: Path) -> None:
    found = histories()
    units = plan_units(found, OPTIONS)
    scorer = scorer_for(causal_folder, found)
    score_units(units[:1], lambda: scorer, tmp_path, {"model": "a"})
    (tmp_path / f"{units[1].name}.partial").write_bytes(b"half a file")
    told: list[bool] = []

    score_units(units, lambda: scorer, tmp_path, {"model": "a"}, lambda pairs, computed: told.append(computed))

    assert told == [False, True, True]


def test_scores_of_another_model_are_refused(causal_folder: Path, tmp_path: Path) -> None:
    score_units([], lambda: pytest.fail("nothing to do"), tmp_path, {"model": "a", "options": {"seed": 0}})

    with pytest.raises(InputError, match="another model"):
        score_units([], lambda: pytest.fail("nothing to do"), tmp_path, {"model": "b", "options": {"seed": 0}})


def test_a_damaged_part_is_named(causal_folder: Path, tmp_path: Path) -> None:
    found = histories(users=1)
    units = plan_units(found, OPTIONS)
    score_units(units, lambda: scorer_for(causal_folder, found), tmp_path, {"model": "a"})
    part = tmp_path / f"{units[0].name}.parquet"
    part.write_bytes(part.read_bytes()[:-20])

    with pytest.raises(InputError, match=f"{units[0].name}.parquet: is damaged"):
        merge_scores(units, tmp_path, tmp_path / "scores.parquet", {"model": "a"})

    assert not (tmp_path / "scores.parquet").exists()


def test_a_foreign_parquet_file_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa

    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")

    with pytest.raises(InputError, match="not a scores file"):
        read_scores(tmp_path / "x.parquet")


def test_one_user_with_nothing_before_is_nothing_to_score() -> None:
    with pytest.raises(InputError, match="nothing to score"):
        plan_units({"ann": [Document("a", "text", 1.0, "request")]}, OPTIONS)


def test_the_plan_depends_on_histories_and_options_alone() -> None:
    found = histories()

    assert plan_units(found, OPTIONS) == plan_units(dict(reversed(found.items())), OPTIONS)


def test_the_command_survives_kill_and_ends_with_every_pair_once(causal_folder: Path, tmp_path: Path) -> None:
    history = tmp_path / "history.jsonl"
    with history.open("w") as file:
        for user, documents in histories(users=40, documents=12).items():
            for each in documents:
                line = {"user_id": user, "id": each.id, "timestamp": each.timestamp, "text": each.text}
                file.write(json.dumps(line | {"request": each.request}) + "\n")
    out = tmp_path / "scores.parquet"
    command = [Path(sys.executable).parent / "pearl", "train", "score", "--history", history, "--out", out]
    command += ["--aux", causal_folder, "--template", "commit", "--targets", "3", "--dtype", "float32"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    first = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)
    parts = tmp_path / "scores.parts"
    deadline = time.monotonic() + 60
    while len(list(parts.glob("*.parquet"))) < 3 and time.monotonic() < deadline and first.poll() is None:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done_before = len(list(parts.glob("*.parquet")))

    second = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert second.returncode == 0, second.stderr
    assert done_before >= 3
    assert second.stdout == ""
    rows = read_scores(out)[0].to_pylist()
    assert len({(row["request_id"], row["document_id"]) for row in rows}) == len(rows) == 40 * 3 * 9
