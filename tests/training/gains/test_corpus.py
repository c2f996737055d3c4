from __future__ import annotations

import gzip
import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pearl.errors import InputError
from pearl.records import Document, Request
from pearl.text.history.partition import DEV, ROLLING, TEST, TRAIN
from training.data.histories import Corpus
from training.data.records import Example
from training.data.split import BY_TIME, BY_USERS
from training.gains.corpus import check_scored, examples_of, histories_of, left_unscored, origins_of
from training.gains.labels import SplitScoring, write_gains_of
from training.gains.scores import read_scores
from training.gains.units import TARGETS_PER_PIECE, GainOptions
from training.run import gains_file

DOCUMENTS = [Document(str(place), f"it is fine, item {place}", 60.0 * place, f"item {place}") for place in range(9)]
OPTIONS = GainOptions("post", TRAIN, ROLLING, 2, 3, 4, None, target_tokens=16, document_tokens=16)


@pytest.fixture
def corpus(writings, users_in, write_lines) -> Corpus:
    return Corpus.read(write_lines(writings(users_in(TRAIN, 2), documents=8), "mine.jsonl.gz"))


@pytest.fixture
def score(make_run, causal_folder) -> Callable[..., list[Example]]:
    """Score a split of a corpus in a folder within the seconds that are left."""

    def scored(
        corpus: Corpus, options: GainOptions, work: Path, left: Any = lambda: math.inf, least: int = 0, **more: Any
    ) -> list[Example]:
        run = make_run(corpus, work=work, **{"aux": str(causal_folder)} | more)
        return SplitScoring(run).scored(corpus, options, left, least)

    return scored


def test_a_corpus_is_named_by_its_file(corpus):
    assert corpus.name == "mine"
    assert len(corpus.fingerprint) == 64
    assert {len(documents) for documents in corpus.histories.values()} == {8}


def test_a_history_through_a_pipe_is_refused(piped):
    with pytest.raises(InputError, match="is a pipe, which can be read only once; write it to a file"):
        Corpus.read(piped(b'{"user_id": "u", "id": "1", "text": "It is fine."}'))


def test_users_of_files_with_like_names_stay_apart(write_lines, make_run, tmp_path):
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
        Example(user, "1", Request("So?"), tuple(DOCUMENTS[:2]), gains, "Yes.", domain=corpus.name)
        for corpus, user in zip(corpora, users, strict=True)
    ]
    write_gains_of(make_run(*corpora, work=tmp_path), TRAIN, examples)
    for corpus, user in zip(corpora, users, strict=True):
        (written,) = gzip.decompress(gains_file(tmp_path, TRAIN, corpus.name).read_bytes()).splitlines()
        assert json.loads(written)["user_id"] == user


def test_examples_are_scored_once(corpus, score, tmp_path):
    found = score(corpus, OPTIONS, tmp_path / "w")
    assert len(found) == 2 * 2
    for example in found:
        assert example.user_id.startswith("mine:user")
        assert len(example.documents) == len(example.gains) == 3
        assert [each.timestamp for each in example.documents] == sorted(each.timestamp for each in example.documents)  # type: ignore[type-var]

    # nothing is left to compute, however little time there is
    again = score(corpus, OPTIONS, tmp_path / "w", lambda: 0.0)
    before = examples_of(corpus, TRAIN, tmp_path / "w", "mean")
    for one, two, mean in zip(found, again, before, strict=True):
        assert one.request_id == two.request_id == mean.request_id
        assert one.gains.tolist() == two.gains.tolist()
        assert (mean.gains * 16).tolist() == pytest.approx(one.gains.tolist(), rel=1e-4)


def test_scores_of_another_history_are_not_taken(corpus, score, tmp_path):
    score(corpus, OPTIONS, tmp_path)
    changed = replace(corpus, fingerprint="0" * 64)
    with pytest.raises(InputError, match="was made of another history file than this 'mine'"):
        examples_of(changed, TRAIN, tmp_path, "sum")


def test_a_user_of_whom_some_is_missing_is_left_out(corpus, score, tmp_path):
    answers = iter([math.inf, 0.0, 0.0, 0.0])
    found = score(corpus, OPTIONS, tmp_path, lambda: next(answers))
    assert len({example.user_id for example in found}) == 1
    none = score(corpus, OPTIONS, tmp_path / "none", lambda: 0.0)
    assert none == []


def test_the_smallest_units_are_scored_in_any_case(corpus, score, tmp_path):
    for least, users in ((0, 0), (1, 1), (2, 2), (3, 2)):
        found = score(corpus, OPTIONS, tmp_path / str(least), lambda: 0.0, least=least)
        assert len({example.user_id for example in found}) == users


def test_of_one_unit_alone_requests_have_some_of_their_candidates(writings, write_lines, score, tmp_path):
    """The whole requests of a user of many documents take several units; what a later run adds makes them whole."""
    corpus = Corpus.read(write_lines(writings(["ann"], documents=90), "ann.jsonl"))
    options = replace(OPTIONS, targets=2 * TARGETS_PER_PIECE, candidates=30, way=BY_TIME)
    some, every, at_once = (
        {
            example.request_id: example.gains.tolist()
            for example in score(corpus, options, tmp_path / folder, lambda left=left: left, least=1)
        }
        for folder, left in (("work", 0.0), ("work", math.inf), ("other", math.inf))
    )
    assert 0 < len(some) <= TARGETS_PER_PIECE
    assert any(len(gains) < len(every[request]) for request, gains in some.items())
    assert len(every) == 2 * TARGETS_PER_PIECE
    assert every.keys() == at_once.keys()
    for request, gains in every.items():
        assert gains == pytest.approx(at_once[request], abs=1e-5)  # float32 rounds as the batches fall


@pytest.mark.parametrize("split", [DEV, TEST, TRAIN])
def test_where_no_user_has_enough_there_are_none(corpus, score, tmp_path, split):
    options = GainOptions("post", split, ROLLING, 2, 3, 100)
    assert score(corpus, options, tmp_path / "w", aux="no model is loaded") == []
    assert examples_of(corpus, split, tmp_path / "w", "sum") == []
    assert read_scores(tmp_path / "w" / f"mine-{split}.parquet")[0].num_rows == 0


def test_what_was_not_scored_before(corpus, tmp_path):
    with pytest.raises(InputError, match=r"mine-train\.parquet: there is no such file"):
        examples_of(corpus, TRAIN, tmp_path, "sum")


def test_scores_of_another_template_are_refused(corpus, score, tmp_path):
    score(corpus, OPTIONS, tmp_path, lambda: 0.0)
    with pytest.raises(InputError, match="made with another"):
        score(corpus, GainOptions("commit", TRAIN, ROLLING, 2, 3, 4), tmp_path, lambda: 0.0)


def test_whether_the_budget_ended_or_nobody_has_enough(corpus, score, tmp_path):
    score(corpus, OPTIONS, tmp_path, lambda: 0.0)
    score(corpus, replace(OPTIONS, split=DEV), tmp_path, lambda: 0.0, aux="no model is loaded")
    assert left_unscored([corpus], (TRAIN, DEV), tmp_path) == {TRAIN}
    score(corpus, OPTIONS, tmp_path)
    assert left_unscored([corpus], (TRAIN, DEV), tmp_path) == set()


def test_a_folder_without_scores(corpus, score, tmp_path):
    with pytest.raises(InputError, match=r"holds no scores of 'mine' and its split 'train'; run 'pearl train"):
        check_scored([corpus], (TRAIN,), tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()
    score(corpus, OPTIONS, tmp_path, lambda: 0.0)
    check_scored([corpus], (TRAIN,), tmp_path)
    with pytest.raises(InputError, match="holds no scores of 'mine' and its split 'dev'"):
        check_scored([corpus], (TRAIN, DEV), tmp_path)


def test_scores_of_other_weights_by_one_name_are_not_taken_together(corpus, score, causal_folder, tmp_path):
    folder = shutil.copytree(causal_folder, tmp_path / "model")
    corpora = [corpus, replace(corpus, name="other")]
    for each in corpora:
        score(each, OPTIONS, tmp_path, aux=str(folder))
        origin = origins_of([each], (TRAIN,), tmp_path)[each.name]
        assert (origin.aux, origin.template, origin.way) == (str(folder), "post", BY_USERS)
        assert origin.extents[TRAIN]["candidates"] == OPTIONS.candidates
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(InputError, match=r"not all scored in the same way \('mine' and 'other': another model version"):
        origins_of(corpora, (TRAIN,), tmp_path)


def test_each_corpus_may_have_its_template_but_not_each_split(corpus, score, tmp_path, users_in):
    other = replace(corpus, name="other", histories=corpus.histories | dict.fromkeys(users_in(DEV, 1), DOCUMENTS))
    for each, split, template in ((corpus, TRAIN, "commit"), (other, TRAIN, "comment"), (other, DEV, "commit")):
        options = replace(OPTIONS, split=split, template=template)
        score(each, options, tmp_path)
    found = origins_of([corpus, other], (TRAIN,), tmp_path)
    assert {name: origin.template for name, origin in found.items()} == {"mine": "commit", "other": "comment"}
    with pytest.raises(InputError, match=r"\('other': another template in each split\)"):
        origins_of([other], (TRAIN, DEV), tmp_path)


def test_a_corpus_split_by_time_is_not_taken_with_one_split_by_users(corpus, score, tmp_path):
    few = replace(corpus, name="few")
    score(corpus, OPTIONS, tmp_path)
    score(few, replace(OPTIONS, way=BY_TIME), tmp_path)
    assert origins_of([few], (TRAIN,), tmp_path)["few"].way == BY_TIME
    with pytest.raises(InputError, match=r"'few' has too few users \(2\) for a split by users.* leave it out\."):
        origins_of([corpus, few], (TRAIN,), tmp_path)
