from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pearl.records import Document, Request
from retriever.history.word_weights import WordWeights
from retriever.models.cross_encoder import CrossEncoderModel
from training.data.records import Example
from training.data.selection import SelectionOptions
from training.fit import second_stage
from training.fit.cross_encoder import CrossEncoderOptions, logits_of, new_cross_encoder
from training.fit.first_stage import Anchor, Data, Signals, compute_signals, fit_first_stage
from training.fit.head import HeadOptions
from training.fit.second_stage import (
    RELEVANCE_GAIN,
    SURE,
    fit_relevance,
    fit_second_stage,
    relevance_groups,
    save_cross_encoder,
    text_groups,
)

SELECTION = SelectionOptions()
SILENT = Console(file=StringIO())
OPTIONS = CrossEncoderOptions(max_tokens=64, batch=4, rate=1e-3, evaluations=1)
HISTORIES = {
    user: [Document(f"{user}{n}", f"text {n} of {user}", float(n), f"request {n}") for n in range(5)]
    for user in ("ann", "ben")
}


@pytest.fixture
def material(make_examples: Callable[..., list[Example]], word_encoder: Any) -> tuple[Data, Signals, Any]:
    data = Data(make_examples(6), make_examples(3, user="c:ben"), make_examples(3, user="c:cid"), [])
    signals = compute_signals(data, word_encoder(), WordWeights.count(["the wheel"]), SILENT)
    head, *_ = fit_first_stage(data, signals, "kl", SELECTION, SILENT, HeadOptions(members=1, hidden=4, epochs=3))
    return data, signals, head


def test_a_request_with_the_text_that_answered_it_and_others() -> None:
    found = relevance_groups(HISTORIES, seed=1)
    assert len(found) == 10
    for group in found:
        first, *others = group.documents
        assert first.text.split()[1] == group.request.text.split()[1]
        assert {other.text.split()[-1] for other in others} == {first.text.split()[-1]}  # of the same user
        assert all(document.request is None for document in group.documents)  # which would give it away
        assert group.gains.tolist() == [RELEVANCE_GAIN, 0, 0, 0]
    assert [group.request for group in found] == [group.request for group in relevance_groups(HISTORIES, seed=1)]
    assert relevance_groups({"ann": HISTORIES["ann"][:1], "ben": [Document("a", "no request")]}, seed=1) == []


def test_the_groups_of_algorithm_1_with_their_texts(material: Any) -> None:
    data, *_ = material
    found = text_groups(data.train, SELECTION)
    assert len(found) == 4 * 2  # two thirds of six requests, two positives each
    for group in found:
        assert len(group.documents) == 4
        assert group.gains[0] == 10.0
        example = next(each for each in data.train if each.request == group.request)
        gains = {document.id: gain for document, gain in zip(example.documents, example.gains, strict=True)}
        assert group.gains.tolist() == [gains[document.id] for document in group.documents]
    assert text_groups([], SELECTION) == []


def test_relevance_is_kept_and_found_again(bert_folder: Path, tmp_path: Path) -> None:
    def fit(base: Path, histories: Any = HISTORIES) -> tuple[Any, Any]:
        return fit_relevance(str(base), histories, OPTIONS, tmp_path / "relevance", 30.0, "cpu")

    model, report = fit(bert_folder)
    assert report["steps"] >= 1
    logits = logits_of(model, Request("request 1"), HISTORIES["ann"])
    again, found = fit(bert_folder)
    assert found == report
    assert logits_of(again, Request("request 1"), HISTORIES["ann"]) == pytest.approx(logits, abs=0.1)  # in bfloat16
    # with another base or other texts it is another model
    other = shutil.copytree(bert_folder, tmp_path / "other")
    assert fit(other)[1]["made_of"] != report["made_of"]
    assert fit(other, {"ann": HISTORIES["ann"]})[1]["groups"] == 4


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders of the checkpoints of trainings that take ten seconds and end before they are whole."""
    found: list[Path] = []

    def train(model: Any, groups: Any, dev: Any, loss: Any, options: Any, folder: Path, seconds: Any) -> dict[str, Any]:
        found.append(folder)
        return {"groups": len(groups), "steps": 1, "whole": False, "seconds": 10.0}

    monkeypatch.setattr(second_stage, "fit_cross_encoder", train)
    return found


def test_what_a_budget_cut_short_is_trained_again_where_there_is_more_time(
    bert_folder: Path, tmp_path: Path, trainings: list[Path]
) -> None:
    def fit(seconds: float | None) -> int:
        fit_relevance(str(bert_folder), HISTORIES, OPTIONS, tmp_path / "relevance", seconds, "cpu")
        return len(trainings)

    assert [fit(10.0), fit(14.0), fit(1.0), fit(16.0), fit(None)] == [1, 1, 1, 2, 3]
    report = tmp_path / "relevance" / "report.json"
    report.write_text(report.read_text().replace("false", "true"))
    assert fit(None) == 3


def test_only_the_same_training_is_gone_on_with(
    material: Any, bert_folder: Path, tmp_path: Path, trainings: list[Path]
) -> None:
    data, signals, head = material
    for loss, y0 in (("calibrated", 10.0), ("kl", 10.0), ("distill", 10.0), ("calibrated", 9.0)):
        model = new_cross_encoder(str(bert_folder), OPTIONS)
        fit_second_stage(model, head, data, signals, loss, SELECTION, Anchor(y0, 5.0), OPTIONS, tmp_path, 30.0)
    assert len(set(trainings)) == 4
    other = shutil.copytree(bert_folder, tmp_path / "other")
    for base in (bert_folder, other):
        fit_relevance(str(base), HISTORIES, OPTIONS, tmp_path / "relevance", 30.0, "cpu")
    assert len(set(trainings)) == 6
    for path in other.glob("*.safetensors"):  # other weights by the same name
        path.write_bytes(path.read_bytes()[:-4] + b"\0\0\x80?")
    fit_relevance(str(other), HISTORIES, OPTIONS, tmp_path / "relevance", 30.0, "cpu")
    assert len(set(trainings)) == 7


def test_distillation_selects_no_requests(
    material: Any, bert_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, signals, head = material
    fitted: list[int] = []

    def fit(model: Any, groups: list[Any], *_: Any, **__: Any) -> dict[str, Any]:
        fitted.append(len(groups))
        return {"seconds": 1.0, "whole": True}

    monkeypatch.setattr(second_stage, "fit_cross_encoder", fit)
    few = replace(SELECTION, share=0.5, positives=1)
    for loss in ("calibrated", "distill"):
        model = new_cross_encoder(str(bert_folder), OPTIONS)
        fit_second_stage(model, head, data, signals, loss, few, Anchor(10.0, 5.0), OPTIONS, tmp_path / loss, 30.0)
    warm, train = len(data.warm), len(data.train)
    assert fitted == [-(-warm // 2) + 2 * -(-train // 2), warm + 2 * train]


def test_distillation_learns_from_all_requests(material: Any) -> None:
    data, *_ = material
    assert len(text_groups(data.train, SelectionOptions(share=1.0))) == 6 * 2


def test_too_little_for_a_warm_start(bert_folder: Path, tmp_path: Path) -> None:
    _, report = fit_relevance(str(bert_folder), {"ann": HISTORIES["ann"][:1]}, OPTIONS, tmp_path / "r", None, "cpu")
    assert report == {"groups": 0, "steps": 0}
    assert not (tmp_path / "r").exists()


def test_the_logit_is_weighed_on_dev(material: Any, bert_folder: Path, tmp_path: Path) -> None:
    data, signals, head = material
    model = new_cross_encoder(str(bert_folder), OPTIONS)
    found = fit_second_stage(
        model, head, data, signals, "calibrated", SELECTION, Anchor(10.0, 5.0), OPTIONS, tmp_path, 30.0
    )
    tried, weight = found.report["weights"], found.cascade.weight
    assert [each["weight"] for each in tried] == [0.0, 0.25, 0.5]
    assert tried[0]["better_in"] == 0
    sure = [each for each in tried if each["better_in"] >= SURE] or tried[:1]
    assert weight == max(sure, key=lambda each: each["share"] + each["pearson_r"] / 4)["weight"]
    for example, own, scores in zip(data.dev, signals.dev, found.dev_scores, strict=True):
        logits = logits_of(model, example.request, example.documents)
        expected = (1 - weight) * head.logits(own.signals) + weight * logits
        assert scores == pytest.approx(expected, abs=1e-3)


def test_what_was_fitted_is_kept_and_found_again(material: Any, bert_folder: Path, tmp_path: Path) -> None:
    data, signals, head = material

    def fit(loss: str, anchor: Anchor) -> Any:
        model = new_cross_encoder(str(bert_folder), OPTIONS)
        return fit_second_stage(model, head, data, signals, loss, SELECTION, anchor, OPTIONS, tmp_path, 30.0)

    one, again = fit("calibrated", Anchor(10.0, 5.0)), fit("calibrated", Anchor(10.0, 5.0))
    assert again.report == one.report
    assert again.report["steps"] >= 1
    for first, second in zip(one.dev_scores, again.dev_scores, strict=True):
        assert second == pytest.approx(first, abs=0.1)  # in bfloat16
    assert fit("kl", Anchor(10.0, 5.0)).report["made_of"] != one.report["made_of"]
    assert fit("calibrated", Anchor(9.0, 5.0)).report["made_of"] != one.report["made_of"]


def test_under_relevance_the_model_stays_as_it_is(material: Any, bert_folder: Path, tmp_path: Path) -> None:
    data, signals, head = material
    model = new_cross_encoder(str(bert_folder), OPTIONS)
    before = logits_of(model, data.dev[0].request, data.dev[0].documents)
    found = fit_second_stage(
        model, head, data, signals, "relevance", SELECTION, Anchor(10.0, 5.0), OPTIONS, tmp_path, None
    )
    assert found.cascade.weight == 1.0
    assert found.dev_scores[0] == pytest.approx(before, abs=1e-5)
    assert found.cascade.most > 10_000  # nothing comes before it that could choose for it


def test_saved_it_is_what_an_artifact_loads(bert_folder: Path, tmp_path: Path) -> None:
    model = new_cross_encoder(str(bert_folder), OPTIONS)
    request, documents = Request("request 1"), HISTORIES["ann"]
    logits = logits_of(model, request, documents)
    save_cross_encoder(model, tmp_path / "cross")
    loaded = CrossEncoderModel(tmp_path / "cross", OPTIONS.max_tokens).logits(request, documents)
    assert loaded == pytest.approx(logits, abs=0.1 + 0.1 * float(np.abs(logits).max()))
