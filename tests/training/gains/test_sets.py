"""What documents gain together, measured with a tiny model, and the file that eval reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from eval.retrieval.gains import read_gains
from pearl.records import Document, Request
from retriever.baselines.bm25 import BM25Retriever
from retriever.models.auxiliary import Group, load_auxiliary
from training.data.histories import fingerprint
from training.gains.scoring import Scorer
from training.gains.sets import SetScorer, SetUnit, plan_sets
from training.gains.units import ScoringOptions, Unit
from training.templates import auxiliary_template

OPTIONS = ScoringOptions("commit", partition="rolling", targets=1, candidates=None, document_tokens=12)
TARGET = Document("t", "The wheel turns again.", 9.0, "wheel: turn it")
DOCUMENTS = tuple(
    Document(name, f"Text {name} says that the {thing} is fine, and more of it.", time, f"about {thing}")
    for name, thing, time in (("a", "tide", 1.0), ("b", "wheel", 2.0), ("c", "kettle", 3.0), ("d", "wheel", 4.0))
)

SCORES = (4.0, 3.0, 2.0, 1.0)


def scorer_of(folder: Path) -> Scorer:
    return Scorer(load_auxiliary(str(folder), dtype="float32"), auxiliary_template("commit"), ("Some text.",), OPTIONS)


def test_each_alone_and_every_two_and_three_with_the_best() -> None:
    unit = SetUnit("0", "ann", TARGET, DOCUMENTS, SCORES)
    assert unit.sets() == [(0,), (1,), (2,), (3,), (0, 1), (0, 2), (0, 3), (0, 1, 2), (0, 1, 3), (0, 2, 3)]
    assert unit.size == 10


def test_a_set_stands_in_one_prompt_its_best_last(causal_folder: Path) -> None:
    scorer = scorer_of(causal_folder)
    unit = SetUnit("0", "ann", TARGET, DOCUMENTS, SCORES)
    rows = {tuple(row["document_ids"]): row for row in SetScorer(scorer).score(unit).to_pylist()}
    assert list(map(len, rows)).count(1) == 4
    assert len(rows) == unit.size
    model, template = scorer.model, auxiliary_template("commit")
    cut = {each.id: model.decode(model.encode(each.text, 12)) for each in DOCUMENTS}
    target = tuple(model.encode(TARGET.text))
    for ids in (("a", "c"), ("a", "b", "d")):
        shown = "\n\n".join(cut[id] for id in reversed(ids))
        prompt = tuple(model.encode(template.prompt_with(shown, "wheel: turn it")))
        ((expected,),) = model.likelihoods([Group((prompt,), (target,))])
        assert rows[ids]["log_p_with"] == pytest.approx(expected.total, rel=1e-4)
    # a set of one is what score measures
    alone = Unit("0", "ann", DOCUMENTS, ((TARGET, frozenset(each.id for each in DOCUMENTS)),))
    for row in scorer.score(alone).to_pylist():
        mine = rows[row["document_id"],]
        assert mine["log_p_with"] == pytest.approx(row["log_p_with"], rel=1e-4)
        assert mine["log_p_without"] == pytest.approx(row["log_p_without"], rel=1e-4)


def test_the_best_documents_by_the_retriever_best_first() -> None:
    own = [*DOCUMENTS, *(Document(f"z{n}", f"Something else {n}.", 5.0 + n, f"else {n}") for n in range(4))]
    (unit,) = plan_sets({"ann": [*own, TARGET]}, OPTIONS, BM25Retriever(), 3)
    assert unit.target in [*own, TARGET]
    assert len(unit.documents) == 3
    assert unit.target not in unit.documents
    (again,) = plan_sets({"ann": [TARGET, *reversed(own)]}, OPTIONS, BM25Retriever(), 3)
    assert again == unit
    before = [each for each in own if (each.timestamp or 0) < (unit.target.timestamp or 0)]
    best = BM25Retriever().rank(Request(unit.target.request or ""), before)
    assert [each.document for each in best[:3]] == list(unit.documents)
    assert [each.score for each in best[:3]] == list(unit.scores)


@pytest.fixture
def measure(
    train: Callable[..., Any], writings: Any, users_in: Any, write_lines: Any, tmp_path: Path, causal_folder: Path
) -> Callable[..., Any]:
    """`pearl train sets` of three users with the tiny model and BM25."""
    history = write_lines(writings(users_in("dev", 3)), "history.jsonl")
    given = ("--aux", causal_folder, "--dtype", "float32", "--template", "commit", "--split", "dev")

    def run(*more: object, retriever: str = "bm25", documents: int = 4, out: Path = tmp_path / "sets.jsonl.gz") -> Any:
        chosen = ("--retriever", retriever, "--documents", documents)
        return train("sets", "--history", history, *given, *chosen, "--out", out, *more)

    return run


def test_the_file_is_what_eval_reads_and_what_is_done_stays(measure: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "sets.jsonl.gz"
    run = measure()
    assert run.status == 0
    assert f"18 sets of 3 requests in {out}" in run.err
    records = read_gains(out)
    assert [len(record.documents) for record in records] == [4, 4, 4]
    for record in records:
        assert sorted(map(len, record.sets)) == [2, 2, 2, 3, 3, 3]
        assert [each.timestamp for each in record.documents] == sorted(each.timestamp for each in record.documents)
        (best,) = frozenset.intersection(*record.sets)
        assert best in range(4)
        assert record.target
        assert record.scores is not None
        assert max(record.scores) == record.scores[best]
        assert record.retriever == "bm25"
    before, parts = fingerprint(out), sorted((tmp_path / "sets.jsonl.parts").glob("*.parquet"))
    rows = pq.read_table(parts[0]).to_pylist()
    line = records[0]
    ids = [document.id for document in line.documents]
    gains = {frozenset(row["document_ids"]): row["log_p_with"] - row["log_p_without"] for row in rows}
    assert {frozenset(ids[place] for place in places): gain for places, gain in line.sets.items()} == {
        members: pytest.approx(gain, abs=1e-4) for members, gain in gains.items() if len(members) > 1
    }
    # as after a kill: the part that lacks is computed, and no other
    stamps = {part: part.stat().st_mtime_ns for part in parts}
    parts[1].unlink()
    assert measure().status == 0
    assert fingerprint(out) == before
    assert [part for part in parts if part.stat().st_mtime_ns != stamps[part]] == [parts[1]]


def test_bad_input_is_named(measure: Callable[..., Any], tmp_path: Path) -> None:
    assert measure().status == 0
    other = measure(retriever="recent")
    assert (other.status, "made with another --retriever" in other.err) == (2, True)
    assert "no model 'nonsense'" in measure(retriever="nonsense").err
    read = tmp_path / "history.jsonl"
    assert f"--out {read}: is a file that is read" in measure(out=read).err
    few = measure(documents=40)
    assert (few.status, "40 before it" in few.err) == (2, True)
    assert measure(documents=2).status == 2
    assert measure("--split", "nonsense").status == 2
