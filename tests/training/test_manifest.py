"""What an artifact says of itself: the relatedness below which the user is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pearl.clock import Budget
from pearl.text.history.partition import DEV
from retriever.history.word_weights import WordWeights
from training.data.histories import Corpus
from training.manifest import question_floors
from training.run import Run

WORDS = WordWeights.count(["the wheel"])


@pytest.fixture
def run_of(writings, users_in, write_lines, make_run, word_encoder, tmp_path) -> Callable[..., Run]:
    """A run on a history of so many users to choose by, the first of whom asks for something else at last."""

    def make(users: int) -> Run:
        lines = writings(users_in(DEV, users), documents=12)
        lines[11]["request"] = "nothing of the kind"
        history = write_lines(lines, "mine.jsonl")
        run: Run = make_run(Corpus.read(history), histories=(history,), work=tmp_path / "work")
        return replace(run, loaded=word_encoder())

    return make


def test_one_in_twenty_users_is_asked(run_of):
    (floor,) = question_floors(run_of(20), WORDS).values()
    assert question_floors(run_of(20), WORDS) == {"mine.jsonl": floor}
    assert floor > 0.5  # the others' requests are of what they write about
    assert question_floors(run_of(40), WORDS) == {"mine.jsonl": floor}


def test_fewer_users_do_not_say_it(run_of):
    assert question_floors(run_of(19), WORDS) == {}


def test_what_is_not_embedded_in_time_does_not_say_it(run_of):
    assert question_floors(replace(run_of(20), budget=Budget(0.0)), WORDS) == {}
