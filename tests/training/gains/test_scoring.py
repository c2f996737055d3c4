"""Equation 1 over histories, and what an interruption leaves."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.history.partition import users_of
from retriever.models.auxiliary import Likelihood, PairGroup
from retriever.models.load_auxiliary import load_auxiliary
from retriever.templates import auxiliary_template
from training.gains.scores import SCHEMA, merge_scores, read_scores
from training.gains.scoring import Pace, Scorer, describe, few_shot_examples, score_units
from training.gains.units import GainOptions, ScoringUnit, plan_units, sample_candidates, target_texts

OPTIONS = GainOptions("commit", targets=2, candidates=None, target_tokens=40, document_tokens=60)


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


NOTHING_TO_DO: Any = None  # a scorer that would fail


def scorer_for(folder: Path, found: dict[str, list[Document]]) -> Scorer:
    model = load_auxiliary(str(folder), dtype="float32")
    return Scorer(
        model,
        auxiliary_template("commit"),
        few_shot_examples(found, OPTIONS, target_texts(plan_units(found, OPTIONS))),
        OPTIONS,
    )


def test_every_pair_is_scored_once_by_equation_1(causal_folder, tmp_path):
    found = histories()
    units = plan_units(found, OPTIONS)
    model, template = load_auxiliary(str(causal_folder), dtype="float32"), auxiliary_template("commit")
    description = describe(model, template, OPTIONS, "digest")

    score_units(units, scorer_for(causal_folder, found), tmp_path / "parts", description)
    rows = merge_scores(units, tmp_path / "parts", tmp_path / "scores.parquet", description)
    table, metadata = read_scores(tmp_path / "scores.parquet")

    records = table.to_pylist()
    assert rows == len(records) == 3 * 2 * 4  # users, targets, candidates
    assert len({(row["request_id"], row["document_id"]) for row in records}) == rows
    assert metadata["history_sha256"] == "digest"
    assert set(metadata["versions"]) == {"torch", "transformers", "openvino", "pyarrow"}
    row = next(row for row in records if (row["request_id"], row["document_id"]) == ("u1d5", "u1d2"))
    target = tuple(model.encode(found["user1"][5].text, 40))
    examples = tuple(
        model.decode(model.encode(text, 60))
        for text in few_shot_examples(found, OPTIONS, target_texts(plan_units(found, OPTIONS)))
    )
    prompts = [
        template.prompt_with(found["user1"][2].text, "Subject 5"),
        template.prompt_without("Subject 5", examples),
    ]
    with_document, without = (
        model.likelihoods([PairGroup((tuple(model.encode(prompt)),), (target,))])[0][0] for prompt in prompts
    )
    assert row["log_p_with"] == pytest.approx(with_document.total, rel=1e-4)
    assert row["log_p_without"] == pytest.approx(without.total, rel=1e-4)
    assert row["target_tokens"] == len(target)
    assert all(row["log_p_with"] == round(row["log_p_with"], 3) for row in records)


def test_work_that_is_done_is_not_done_again(causal_folder, tmp_path):
    found = histories()
    units = plan_units(found, OPTIONS)
    scorer = scorer_for(causal_folder, found)
    score_units(units[:1], scorer, tmp_path, {"model": "a"})
    (tmp_path / f".{units[1].name}.parquet.partial").write_bytes(b"half a file")
    told: list[bool] = []

    score_units(units, scorer, tmp_path, {"model": "a"}, lambda pairs, computed: told.append(computed))

    assert told == [False, True, True]


@pytest.mark.parametrize(
    ("described", "refused"),
    [
        ({"options": {"seed": 0}}, True),
        ({"fingerprint": {"folder": "tiny", "content": ""}}, True),  # a hub's model without a known commit
        ({"fingerprint": {"folder": "tiny", "content": "a digest"}}, False),
    ],
)
def test_scores_of_another_model_are_refused(tmp_path, described, refused):
    """If it is known by its weights, it may be named otherwise, as a folder is from another one."""
    score_units([], NOTHING_TO_DO, tmp_path, described | {"model": "tiny"})
    with pytest.raises(InputError, match="another model") if refused else nullcontext():
        score_units([], NOTHING_TO_DO, tmp_path, described | {"model": "../tiny"})


def test_a_damaged_part_is_named(causal_folder, tmp_path):
    found = histories(users=1)
    units = plan_units(found, OPTIONS)
    score_units(units, scorer_for(causal_folder, found), tmp_path, {"model": "a"})
    part = tmp_path / f"{units[0].name}.parquet"
    part.write_bytes(part.read_bytes()[:-20])

    with pytest.raises(InputError, match=f"{units[0].name}.parquet: is damaged"):
        merge_scores(units, tmp_path, tmp_path / "scores.parquet", {"model": "a"})

    assert not (tmp_path / "scores.parquet").exists()


def test_one_user_with_nothing_before_is_nothing_to_score():
    with pytest.raises(InputError, match="nothing to score"):
        plan_units({"ann": [Document("a", "text", 1.0, "request")]}, OPTIONS)


def test_the_plan_depends_on_histories_and_options_alone():
    found = histories()

    assert plan_units(found, OPTIONS) == plan_units(dict(reversed(found.items())), OPTIONS)


@pytest.mark.slow
def test_the_command_survives_kill_and_ends_with_every_pair_once(causal_folder, tmp_path, write_lines, train):
    users = 16
    history = write_lines(lines(histories(users=users, documents=12)))
    out, parts = tmp_path / "scores.parquet", tmp_path / "scores.parts"
    options = {"aux": causal_folder, "choose": ["targets=3", "template=commit", "dtype=float32"]}
    words = ["--aux", str(causal_folder), *(word for value in options["choose"] for word in ("--choose", value))]
    command = [Path(sys.executable).parent / "pearl", "train", "score", "--history", history, "--out", out, *words]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    first = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, start_new_session=True)
    while len(list(parts.glob("*.parquet"))) < 3 and first.poll() is None:
        time.sleep(0.005)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert len(list(parts.glob("*.parquet"))) >= 3

    second = train("score", history=history, out=out, **options)

    assert (second.status, second.out) == (0, "")
    rows = read_scores(out)[0].to_pylist()
    assert len({(row["request_id"], row["document_id"]) for row in rows}) == len(rows) == users * 3 * 9


def lines(found: dict[str, list[Document]], **changed: object) -> list[dict[str, object]]:
    """Of a history file; None leaves a field out."""
    made = []
    for user, documents in found.items():
        for each in documents:
            line = {"user_id": user, "id": each.id, "timestamp": each.timestamp, "text": each.text}
            line |= {"request": each.request, **changed}
            made.append({name: value for name, value in line.items() if value is not None})
    return made


class BrokenModel:
    """An auxiliary model all of whose likelihoods are one number."""

    name = "broken"
    fingerprint: ClassVar[dict[str, str]] = {}

    def __init__(self, total: float) -> None:
        self._total = total

    def encode(self, text: str, limit: int | None = None) -> list[int]:
        return list(text.encode())[:limit]

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode()

    def likelihoods(self, groups: Sequence[PairGroup]) -> list[list[Likelihood]]:
        return [[Likelihood(self._total, len(target)) for target in group.targets] for group in groups]


@pytest.mark.parametrize("total", [math.nan, math.inf, -math.inf])
def test_a_likelihood_that_is_not_a_number_is_refused(total, tmp_path):
    units = plan_units(histories(users=1), OPTIONS)
    scorer = Scorer(BrokenModel(total), auxiliary_template("commit"), (), OPTIONS)

    with pytest.raises(InputError, match="'broken' gave a likelihood that is not a number for user 'user0'"):
        score_units(units, scorer, tmp_path, {"model": "broken"})

    assert list(tmp_path.glob("*.parquet")) == []


@pytest.mark.parametrize(("request_tokens", "read"), [(10, 10), (0, 800)])
def test_long_targets_requests_and_documents_are_cut(causal_folder, request_tokens, read):
    long = {"ann": [Document(str(place), "word " * 200, float(place), "ask " * 200) for place in range(2)]}
    long["ann"][1] = replace(long["ann"][1], text="text " * 200)
    options = replace(OPTIONS, targets=1, target_tokens=7, document_tokens=20, request_tokens=request_tokens)
    model = load_auxiliary(str(causal_folder), dtype="float32")
    template = auxiliary_template("commit")

    (row,) = Scorer(model, template, (), options).score(plan_units(long, options)[0]).to_pylist()

    prompt = tuple(model.encode(template.prompt_with(("word " * 200)[:20], ("ask " * 200)[:read])))
    expected = model.likelihoods([PairGroup((prompt,), (tuple(model.encode("text te")),))])[0][0]
    assert row["target_tokens"] == 7
    assert row["log_p_with"] == pytest.approx(expected.total, rel=1e-4)


def test_a_split_has_its_users_only_and_examples_are_of_the_training_split():
    found = histories(users=30)
    train = set(users_of(found, "train"))
    units = plan_units(found, replace(OPTIONS, split="dev"))

    assert {unit.user_id for unit in units} == set(users_of(found, "dev"))
    writers = {document.text: user for user, documents in found.items() for document in documents}
    assert {writers[text] for text in few_shot_examples(found, replace(OPTIONS, split="dev"), set())} <= train
    no_writers = {user: documents for user, documents in found.items() if user not in train}
    assert few_shot_examples(no_writers, OPTIONS, set())


def test_rolling_targets_are_scored_with_what_was_before_each():
    found = histories(users=1, documents=20)

    units = plan_units(found, replace(OPTIONS, partition="rolling", targets=4, least_candidates=5))

    assert sum(len(unit.pairs) for unit in units) == 4
    for target, ids in units[0].pairs:
        number = int(target.id.removeprefix("u0d"))
        assert {int(id.removeprefix("u0d")) for id in ids} <= set(range(number))
        assert len(ids) >= 5
    with pytest.raises(InputError, match="and 20 before it"):
        plan_units(found, replace(OPTIONS, least_candidates=20))


def test_one_user_and_an_empty_request(causal_folder, tmp_path, train, write_lines):
    found = lines(histories(users=1))
    found[-1]["request"] = "  "  # the most recent text answers nothing, so the two before are the targets
    out = tmp_path / "scores.parquet"

    small = ["targets=2", "dtype=float32"]
    run = train("score", history=write_lines(found, "h.jsonl.gz"), out=out, aux=causal_folder, choose=small)

    assert (run.status, run.out) == (0, "")
    assert "timestamp" not in run.err
    assert {row["request_id"] for row in read_scores(out)[0].to_pylist()} == {"u0d3", "u0d4"}


def test_without_timestamps_the_user_is_told_that_chance_decides(causal_folder, tmp_path, train, write_lines):
    history = write_lines(lines(histories(users=2), timestamp=None))

    run = train("score", history=history, out=tmp_path / "s.parquet", aux=causal_folder, choose=["targets=2", "seed=3"])

    assert run.status == 0
    assert "2 users have a document without a timestamp ('user0' is one)" in run.err
    assert "chosen at random, by seed 3." in run.err


def test_parts_of_another_model_are_refused(causal_folder, narrow_folder, tmp_path, train, write_lines):
    options = {"history": write_lines(lines(histories(users=1))), "out": tmp_path / "s.parquet"}
    full = partial(train, "score", aux=causal_folder, **options)
    assert full(choose=["targets=2", "dtype=float32"]).status == 0

    run = train("score", aux=narrow_folder, choose=["targets=2", "dtype=bfloat16"], **options)
    halves = train("score", aux=causal_folder, choose=["targets=2", "dtype=bfloat16"], **options)
    changed = {"document_tokens": 99, "request_tokens": 0, "examples": 1}
    others = [full(choose=["targets=2", "dtype=float32", f"{name}={value}"]) for name, value in changed.items()]

    assert run.status == 2
    assert "s.parts: holds scores that were made with another model; delete it" in run.err
    assert "made with another precision (--choose dtype=float32 goes on with them); delete it" in halves.err
    for name, other in zip(changed, others, strict=True):
        assert f"s.parts: holds scores that were made with another --choose {name}; delete it" in other.err


def test_a_run_goes_on_in_the_precision_it_began_with(causal_folder, tmp_path, train, write_lines, monkeypatch):
    options = {"history": write_lines(lines(histories(users=1))), "out": tmp_path / "s.parquet", "aux": causal_folder}
    for prefers in (False, True):  # what a busy machine measures may change
        monkeypatch.setattr("retriever.models.load_auxiliary.prefers_bfloat16", lambda device, prefers=prefers: prefers)
        assert train("score", choose=["targets=2"], **options).status == 0
    assert read_scores(tmp_path / "s.parquet")[1]["fingerprint"]["dtype"] == "float32"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"choose": ["targets=2", "device=tpu"]}, "pearl: device tpu: there are cpu, cuda"),
        ({"choose": ["targets=2", "dtype=float8"]}, "pearl: dtype float8: there are auto, float32, bfloat16."),
        ({"split": "tset"}, "pearl: There is no split 'tset'"),
        ({"choose": ["template=letter"]}, "pearl: There is no template 'letter'; there are comment, "),
        ({"choose": ["targets=2", "least_candidates=9"]}, "pearl: No user has a document that answers"),
    ],
)
def test_options_that_cannot_be_used(options, complaint, tmp_path, train, write_lines):
    history = write_lines(lines(histories(users=1)))

    run = train("score", history=history, out=tmp_path / "s.parquet", **{"choose": "targets=2"} | options)

    assert (run.status, run.out) == (2, "")
    assert run.err.startswith(complaint)
    assert run.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["lines.jsonl"]


def texts_of(found: dict[str, list[Document]]) -> set[str]:
    return {document.text for documents in found.values() for document in documents}


@pytest.mark.parametrize("split", ["train", None])
def test_no_target_is_an_example(split):
    """Also where no user falls into the training split, so that all are scored and drawn from."""
    found = histories(users=12)
    found = {user: found[user] for user in found if (user in users_of(found, "train")) == (split == "train")}
    options = replace(OPTIONS, split=split, targets=5)

    for seed in range(10):
        options = replace(options, seed=seed)
        targets = target_texts(plan_units(found, options))
        examples = few_shot_examples(found, options, targets)
        assert len(targets) == 5 * len(found)
        assert len(set(examples)) == 2
        assert set(examples) <= texts_of(found) - targets


def test_an_example_that_is_no_target_stays():
    found = histories()
    drawn = few_shot_examples(found, OPTIONS, set())

    assert few_shot_examples(found, OPTIONS, texts_of(found) - set(drawn)) == drawn
    first, second = few_shot_examples(found, OPTIONS, {drawn[0]})
    assert first == drawn[1]
    assert second not in drawn
    assert few_shot_examples(found, OPTIONS, texts_of(found) - {drawn[1]}) == (drawn[1],)
    assert few_shot_examples(found, OPTIONS, texts_of(found)) == drawn  # there are no others


class Counting:
    """A scorer that takes a second for each pair, by its own clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.scored: list[str] = []
        monkeypatch.setattr("training.gains.scoring.time", SimpleNamespace(monotonic=lambda: self.now))

    def score(self, unit: ScoringUnit, /) -> pa.Table:
        self.scored.append(unit.name)
        self.now += unit.size
        return SCHEMA.empty_table()


def unit_of(name: str, pairs: int) -> ScoringUnit:
    return ScoringUnit(name, "ann", (), ((Document("t", "said"), frozenset(map(str, range(pairs)))),))


def test_what_would_take_longer_than_is_left_is_passed_over(tmp_path, monkeypatch):
    """At a second a pair, in 30 seconds: the smallest whole group in any case, then what fits, groups whole."""
    counting = Counting(monkeypatch)
    sizes = {"big-0": 20, "big-1": 20, "mid-0": 8, "small-0": 2, "other-0": 9, "other-1": 9, "last-0": 3}
    units = [unit_of(name, size) for name, size in sizes.items()]
    found = score_units(units, counting, tmp_path, {}, pace=Pace(lambda: 30 - counting.now, 1))
    assert counting.scored == ["small-0", "mid-0", "other-0", "other-1"]
    assert [unit.name for unit in found] == ["mid-0", "small-0", "other-0", "other-1"]
    counting.scored.clear()
    again = score_units(units, counting, tmp_path, {}, pace=Pace(lambda: 0.0, 1))
    assert ([unit.name for unit in again], counting.scored) == ([unit.name for unit in found], [])


def test_what_another_split_took_says_how_long_the_first_unit_takes(tmp_path, monkeypatch):
    """At a second a pair: the test split's first user would take twice the time that is left to measure with."""
    counting, pace = Counting(monkeypatch), Pace()
    score_units([unit_of("train-0", 5)], counting, tmp_path / "train", {}, pace=pace)
    ends, units = counting.now + 10, [unit_of("long-0", 20), unit_of("short-0", 4)]
    pace.left = lambda: ends - counting.now
    score_units(units, counting, tmp_path / "test", {}, pace=pace)
    assert counting.scored == ["train-0", "short-0"]
    assert (pace.pairs, pace.seconds) == (9, 9.0)


def test_however_little_time_is_left_the_smallest_unit_is_scored(tmp_path, monkeypatch):
    counting = Counting(monkeypatch)
    units = [unit_of("a-0", 32), unit_of("a-1", 3), unit_of("b-0", 7)]
    score_units(units, counting, tmp_path, {}, pace=Pace(lambda: 0.0, 1))
    assert counting.scored == ["b-0"]  # whole, which a part of the other group is not


def document(number: int, text: str | None = None) -> Document:
    return Document(f"d{number:02d}", text or f"text {number}", float(number), "say it")


def ids(documents: object) -> list[str]:
    return [each.id for each in documents]  # type: ignore[attr-defined]


def test_a_sample_holds_the_best_the_latest_and_others():
    candidates = [document(number, "spoke wheel" if number == 3 else None) for number in range(30)]

    found = sample_candidates("the spoke of a wheel", candidates, 9, seed="a")

    assert len(found) == 9
    assert {"d03", "d27", "d28", "d29"} <= set(ids(found))
    assert ids(found) == sorted(ids(found))
    assert found == sample_candidates("the spoke of a wheel", candidates, 9, seed="a")


def test_few_candidates_are_all_taken():
    candidates = [document(number) for number in range(5)]

    assert sample_candidates("x", candidates, 9, seed="a") == candidates
    assert sample_candidates("x", candidates * 4, None, seed="a") == candidates * 4
