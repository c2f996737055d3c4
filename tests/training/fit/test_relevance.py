from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pearl.records import Document, Request
from retriever.models.cross_encoder import PairReading
from training.fit.cross_encoder import CrossEncoderOptions, logits_of
from training.fit.relevance import GAIN, fit_relevance, relevance_groups

OPTIONS = CrossEncoderOptions(PairReading(64), batch=4, rate=1e-3, evaluations=1)
HISTORIES = {
    user: [Document(f"{user}{n}", f"text {n} of {user}", float(n), f"request {n}") for n in range(5)]
    for user in ("ann", "ben")
}


def test_a_request_with_the_text_that_answered_it_and_others():
    found = relevance_groups(HISTORIES, seed=1)
    assert len(found) == 10
    for group in found:
        first, *others = group.documents
        assert (group.user_id, group.request_id) == (first.text.split()[-1], first.id)
        assert first.text.split()[1] == group.request.text.split()[1]
        assert {other.text.split()[-1] for other in others} == {first.text.split()[-1]}  # of the same user
        assert all(document.request is None for document in group.documents)  # which would give it away
        assert group.gains.tolist() == [GAIN, 0, 0, 0]
    assert [group.request for group in found] == [group.request for group in relevance_groups(HISTORIES, seed=1)]
    assert relevance_groups({"ann": HISTORIES["ann"][:1], "ben": [Document("a", "no request")]}, seed=1) == []


def test_it_is_kept_and_found_again(bert_folder, make_run, tmp_path):
    def fit(base: Path, histories: Any = HISTORIES) -> Any:
        return fit_relevance(make_run(base=str(base), work=tmp_path), histories, OPTIONS, 30.0)

    first = fit(bert_folder)
    assert first.report["steps"] >= 1
    logits = logits_of(first.model, Request("request 1"), HISTORIES["ann"], OPTIONS.reading)
    again = fit(bert_folder)
    assert again.report == first.report
    assert logits_of(again.model, Request("request 1"), HISTORIES["ann"], OPTIONS.reading) == pytest.approx(
        logits, abs=0.1
    )  # in bfloat16
    # with another base or other texts it is another model
    other = shutil.copytree(bert_folder, tmp_path / "other")
    assert fit(other).report["made_of"] != first.report["made_of"]
    assert fit(other, {"ann": HISTORIES["ann"]}).report["groups"] == 4


def test_only_the_same_training_is_gone_on_with(bert_folder, make_run, tmp_path, trainings):
    other = shutil.copytree(bert_folder, tmp_path / "other")
    for base in (bert_folder, other):
        fit_relevance(make_run(base=str(base), work=tmp_path), HISTORIES, OPTIONS, 30.0)
    assert len(set(trainings)) == 2
    for path in other.glob("*.safetensors"):  # other weights by the same name
        path.write_bytes(path.read_bytes()[:-4] + b"\0\0\x80?")
    fit_relevance(make_run(base=str(other), work=tmp_path), HISTORIES, OPTIONS, 30.0)
    assert len(set(trainings)) == 3


def test_what_a_budget_cut_short_is_trained_again_where_there_is_more_time(bert_folder, make_run, tmp_path, trainings):
    run = make_run(base=str(bert_folder), work=tmp_path)

    def fit(seconds: float | None) -> int:
        fit_relevance(run, HISTORIES, OPTIONS, seconds)
        return len(trainings)

    assert [fit(10.0), fit(14.0), fit(1.0), fit(16.0), fit(None)] == [1, 1, 1, 2, 3]
    report = tmp_path / "relevance" / "report.json"
    report.write_text(report.read_text().replace('"whole": false', '"whole": true'))
    assert fit(None) == 3


def test_too_little_for_a_warm_start(bert_folder, make_run, tmp_path):
    run = make_run(base=str(bert_folder), work=tmp_path / "r")
    found = fit_relevance(run, {"ann": HISTORIES["ann"][:1]}, OPTIONS, None)
    assert found.report == {"groups": 0, "steps": 0}
    assert not (tmp_path / "r").exists()
