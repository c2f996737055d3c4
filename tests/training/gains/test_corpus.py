from __future__ import annotations

import gzip
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from pearl.errors import InputError
from pearl.history.partition import ROLLING
from pearl.history.split import DEV, TEST, TRAIN
from pearl.records import Document, Request
from retriever.models.load_auxiliary import load_auxiliary
from training.data.records import Example
from training.data.split import BY_TIME, BY_USERS
from training.gains.corpus import Corpus, check_scored, histories_of, left_unscored, origins_of
from training.gains.labels import write_gains_of
from training.gains.scores import read_scores
from training.gains.units import TARGETS_PER_PIECE, GainOptions
from training.options import TrainingOptions, gains_file

SILENT = Console(file=StringIO())
DOCUMENTS = [Document(str(place), f"it is fine, item {place}", 60.0 * place, f"item {place}") for place in range(9)]
OPTIONS = GainOptions("post", TRAIN, ROLLING, 2, 3, 4, None, target_tokens=16, document_tokens=16)


@pytest.fixture
def corpus(writings: Any, users_in: Any, write_lines: Any) -> Corpus:
    return Corpus.read(write_lines(writings(users_in(TRAIN, 2), documents=8), "mine.jsonl.gz"))


def never() -> Any:
    pytest.fail("nothing is to be computed")


def test_a_corpus_is_named_by_its_file(corpus: Corpus) -> None:
    assert corpus.name == "mine"
    assert len(corpus.fingerprint) == 64
    assert {len(documents) for documents in corpus.histories.values()} == {8}


def test_a_history_through_a_pipe_is_refused(piped: Any) -> None:
    with pytest.raises(InputError, match="is a pipe, which can be read only once; write it to a file"):
        Corpus.read(piped(b'{"user_id": "u", "id": "1", "text": "It is fine."}'))


def test_users_of_files_with_like_names_stay_apart(write_lines: Any, tmp_path: Path) -> None:
    """'b:x' of a.jsonl and 'x' of a:b.jsonl are two people; a file of gains holds its own history's."""
    line = {"timestamp": 1, "id": "1", "text": "It is fine."}
    corpora = [
        Corpus.read(write_lines([{**line, "user_id": user}], file))
        for file, user in (("a.jsonl", "b:x"), ("a:b.jsonl", "x"))
    ]
    users = [user for corpus in corpora for user in histories_of([corpus], TRAIN, BY_TIME, 0)]
    assert len(set(users)) == 2
    gains = np.array([1.0, 2.0])
    examples = [
        Example(user, "1", Request("So?"), "Yes.", tuple(DOCUMENTS[:2]), gains, domain=corpus.name)
        for corpus, user in zip(corpora, users, strict=True)
    ]
    write_gains_of(examples, TRAIN, corpora, TrainingOptions((), tmp_path / "out", tmp_path))
    for corpus, user in zip(corpora, users, strict=True):
        (written,) = gzip.decompress(gains_file(tmp_path, TRAIN, corpus.name).read_bytes()).splitlines()
        assert json.loads(written)["user_id"] == user


def test_examples_are_scored_once(corpus: Corpus, causal_folder: Path, tmp_path: Path) -> None:
    model = load_auxiliary(str(causal_folder))
    found = corpus.scored(OPTIONS, lambda: model, tmp_path / "w", lambda: math.inf, SILENT, "sum")
    assert len(found) == 2 * 2
    for example in found:
        assert example.user_id.startswith("mine:user")
        assert len(example.documents) == len(example.gains) == 3
        assert [each.timestamp for each in example.documents] == sorted(each.timestamp for each in example.documents)  # type: ignore[type-var]

    # nothing is left to compute, however little time there is
    again = corpus.scored(OPTIONS, lambda: model, tmp_path / "w", lambda: 0.0, SILENT, "sum")
    before = corpus.scored_before(TRAIN, tmp_path / "w", "mean")
    for one, two, mean in zip(found, again, before, strict=True):
        assert one.request_id == two.request_id == mean.request_id
        assert one.gains.tolist() == two.gains.tolist()
        assert (mean.gains * 16).tolist() == pytest.approx(one.gains.tolist(), rel=1e-4)


def test_scores_of_another_history_are_not_taken(corpus: Corpus, causal_folder: Path, tmp_path: Path) -> None:
    model = load_auxiliary(str(causal_folder))
    corpus.scored(OPTIONS, lambda: model, tmp_path, lambda: math.inf, SILENT, "sum")
    changed = replace(corpus, fingerprint="0" * 64)
    with pytest.raises(InputError, match="was made of another history file than this 'mine'"):
        changed.scored_before(TRAIN, tmp_path, "sum")


def test_a_user_of_whom_some_is_missing_is_left_out(corpus: Corpus, causal_folder: Path, tmp_path: Path) -> None:
    model = load_auxiliary(str(causal_folder))
    answers = iter([math.inf, 0.0, 0.0, 0.0])
    found = corpus.scored(OPTIONS, lambda: model, tmp_path, lambda: next(answers), SILENT, "sum")
    assert len({example.user_id for example in found}) == 1
    none = corpus.scored(OPTIONS, lambda: model, tmp_path / "none", lambda: 0.0, SILENT, "sum")
    assert none == []


def test_the_smallest_units_are_scored_in_any_case(corpus: Corpus, causal_folder: Path, tmp_path: Path) -> None:
    model = load_auxiliary(str(causal_folder))
    for least, users in ((0, 0), (1, 1), (2, 2), (3, 2)):
        found = corpus.scored(OPTIONS, lambda: model, tmp_path / str(least), lambda: 0.0, SILENT, "sum", least=least)
        assert len({example.user_id for example in found}) == users


def test_of_one_unit_alone_requests_have_some_of_their_candidates(
    writings: Any, write_lines: Any, causal_folder: Path, tmp_path: Path
) -> None:
    """The whole requests of a user of many documents take several units; what a later run adds makes them whole."""
    corpus = Corpus.read(write_lines(writings(["ann"], documents=90), "ann.jsonl"))
    model = load_auxiliary(str(causal_folder))
    options = replace(OPTIONS, targets=2 * TARGETS_PER_PIECE, candidates=30, way=BY_TIME)
    some, every, at_once = (
        {
            example.request_id: example.gains.tolist()
            for example in corpus.scored(
                options, lambda: model, tmp_path / folder, lambda left=left: left, SILENT, "sum", least=1
            )
        }
        for folder, left in (("work", 0.0), ("work", math.inf), ("other", math.inf))
    )
    assert 0 < len(some) <= TARGETS_PER_PIECE
    assert all(set(gains) <= set(every[request]) for request, gains in some.items())
    assert any(len(gains) < len(every[request]) for request, gains in some.items())
    assert len(every) == 2 * TARGETS_PER_PIECE
    assert every.keys() == at_once.keys()
    for request, gains in every.items():
        assert gains == pytest.approx(at_once[request], abs=1e-5)  # float32 rounds as the batches fall


@pytest.mark.parametrize("split", [DEV, TEST, TRAIN])
def test_where_no_user_has_enough_there_are_none(corpus: Corpus, tmp_path: Path, split: str) -> None:
    options = GainOptions("post", split, ROLLING, 2, 3, 100)
    assert corpus.scored(options, never, tmp_path / "w", lambda: math.inf, SILENT, "sum") == []
    assert corpus.scored_before(split, tmp_path / "w", "sum") == []
    assert read_scores(tmp_path / "w" / f"mine-{split}.parquet")[0].num_rows == 0


def test_what_was_not_scored_before(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"mine-train\.parquet: there is no such file"):
        corpus.scored_before(TRAIN, tmp_path, "sum")


def test_scores_of_another_template_are_refused(corpus: Corpus, causal_folder: Path, tmp_path: Path) -> None:
    model = load_auxiliary(str(causal_folder))
    run: Callable[[GainOptions], Any] = lambda options: corpus.scored(  # noqa: E731
        options, lambda: model, tmp_path, lambda: 0.0, SILENT, "sum"
    )
    run(OPTIONS)
    with pytest.raises(InputError, match="made with another"):
        run(GainOptions("commit", TRAIN, ROLLING, 2, 3, 4))


def test_whether_the_budget_ended_or_nobody_has_enough(corpus: Corpus, causal_folder: Path, tmp_path: Path) -> None:
    model = load_auxiliary(str(causal_folder))
    corpus.scored(OPTIONS, lambda: model, tmp_path, lambda: 0.0, SILENT, "sum")
    corpus.scored(replace(OPTIONS, split=DEV), never, tmp_path, lambda: 0.0, SILENT, "sum")
    assert left_unscored([corpus], (TRAIN, DEV), tmp_path) == {TRAIN}
    corpus.scored(OPTIONS, lambda: model, tmp_path, lambda: math.inf, SILENT, "sum")
    assert left_unscored([corpus], (TRAIN, DEV), tmp_path) == set()


def test_a_folder_without_scores(corpus: Corpus, causal_folder: Path, tmp_path: Path) -> None:
    model = load_auxiliary(str(causal_folder))
    with pytest.raises(InputError, match=r"holds no scores of 'mine' and its split 'train'; run 'pearl train"):
        check_scored([corpus], (TRAIN,), tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()
    corpus.scored(OPTIONS, lambda: model, tmp_path, lambda: 0.0, SILENT, "sum")
    check_scored([corpus], (TRAIN,), tmp_path)
    with pytest.raises(InputError, match="holds no scores of 'mine' and its split 'dev'"):
        check_scored([corpus], (TRAIN, DEV), tmp_path)


def test_scores_of_other_weights_by_one_name_are_not_taken_together(
    corpus: Corpus, causal_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(causal_folder, tmp_path / "model")
    corpora = [corpus, replace(corpus, name="other")]
    for each in corpora:
        model = load_auxiliary(str(folder))
        each.scored(OPTIONS, lambda model=model: model, tmp_path, lambda: math.inf, SILENT, "sum")  # type: ignore[misc]
        origin = origins_of([each], (TRAIN,), tmp_path)[each.name]
        assert (origin.aux, origin.template, origin.way) == (str(folder), "post", BY_USERS)
        assert origin.extents[TRAIN]["candidates"] == OPTIONS.candidates
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(InputError, match=r"not all scored in the same way \('mine' and 'other': another model version"):
        origins_of(corpora, (TRAIN,), tmp_path)


def test_each_corpus_may_have_its_template_but_not_each_split(
    corpus: Corpus, causal_folder: Path, tmp_path: Path, users_in: Any
) -> None:
    model = load_auxiliary(str(causal_folder))
    other = replace(corpus, name="other", histories=corpus.histories | dict.fromkeys(users_in(DEV, 1), DOCUMENTS))
    for each, split, template in ((corpus, TRAIN, "commit"), (other, TRAIN, "comment"), (other, DEV, "commit")):
        options = replace(OPTIONS, split=split, template=template)
        each.scored(options, lambda: model, tmp_path, lambda: math.inf, SILENT, "sum")
    found = origins_of([corpus, other], (TRAIN,), tmp_path)
    assert {name: origin.template for name, origin in found.items()} == {"mine": "commit", "other": "comment"}
    with pytest.raises(InputError, match=r"\('other': another template in each split\)"):
        origins_of([other], (TRAIN, DEV), tmp_path)


def test_a_corpus_split_by_time_is_not_taken_with_one_split_by_users(
    corpus: Corpus, causal_folder: Path, tmp_path: Path
) -> None:
    model = load_auxiliary(str(causal_folder))
    few = replace(corpus, name="few")
    corpus.scored(OPTIONS, lambda: model, tmp_path, lambda: math.inf, SILENT, "sum")
    few.scored(replace(OPTIONS, way=BY_TIME), lambda: model, tmp_path, lambda: math.inf, SILENT, "sum")
    assert origins_of([few], (TRAIN,), tmp_path)["few"].way == BY_TIME
    with pytest.raises(InputError, match=r"'few' has too few users \(2\) for a split by users.* leave it out\."):
        origins_of([corpus, few], (TRAIN,), tmp_path)
