from __future__ import annotations

import pytest

from pearl.models.prompts import Exchange
from pearl.records import Document, ScoredDocument
from retriever.base import UNCALIBRATED, Calibration
from service.drafting.turns import FOLLOW_UPS, NEW_SUBJECT, Conversation, conversation, in_context

CALIBRATED = Calibration(threshold=0.0)


class Ranks:
    """Scores by text, 1 where none is given."""

    def __init__(self, scores: dict[str, float], *, empty: bool = False) -> None:
        self.scores = scores
        self.asked: list[str] = []
        self.empty = empty

    def __call__(self, text: str) -> list[ScoredDocument]:
        self.asked.append(text)
        return [] if self.empty else [ScoredDocument(Document(text, "a text"), self.scores.get(text, 1.0))]


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ([], Conversation()),
        ([("user", "a"), ("assistant", "b")], Conversation(("a",), (Exchange("a", "b"),))),
        ([("assistant", "b")], Conversation((), (Exchange(None, "b"),))),
        ([("user", "a"), ("user", "c"), ("assistant", "b")], Conversation(("a", "c"), (Exchange("a\n\nc", "b"),))),
        (
            [("user", "a"), ("assistant", "b"), ("assistant", "d")],
            Conversation(("a",), (Exchange("a", "b"), Exchange(None, "d"))),
        ),
        ([("user", " \n"), ("assistant", ""), ("user", "a")], Conversation(("a",))),
    ],
)
def test_turns_become_exchanges(turns: list[tuple[str, str]], found: Conversation) -> None:
    assert conversation(turns) == found


def test_a_single_message_is_ranked_once() -> None:
    ranks = Ranks({})
    request, ranking = in_context((), "write", ranks, CALIBRATED)
    assert (request, ranking[0].document.id, ranks.asked) == ("write", "write", ["write"])


def test_a_follow_up_is_ranked_with_what_was_asked_before() -> None:
    request, ranking = in_context(("write",), "shorter", Ranks({"shorter": 1.2}), CALIBRATED)
    assert request == ranking[0].document.id == "write\n\nshorter"


def test_a_message_that_scores_far_better_alone_is_a_new_subject() -> None:
    ranks = Ranks({"brakes": 1.0 + NEW_SUBJECT})
    request, ranking = in_context(("write",), "brakes", ranks, CALIBRATED)
    assert request == ranking[0].document.id == "brakes"


def test_what_follows_a_new_subject_follows_up_on_that() -> None:
    request, _ = in_context(("write", "shorter", "brakes", "warmer"), "again", Ranks({"brakes": 2.0}), CALIBRATED)
    assert request == "brakes\n\nwarmer\n\nagain"


def test_scores_of_an_untrained_retriever_say_nothing_of_the_subject() -> None:
    request, _ = in_context(("write",), "brakes", Ranks({"brakes": 9.0}), UNCALIBRATED)
    assert request == "write\n\nbrakes"


def test_without_documents_every_message_follows_up() -> None:
    assert in_context(("write",), "shorter", Ranks({}, empty=True), CALIBRATED) == ("write\n\nshorter", [])


def test_of_many_messages_the_first_and_the_last_are_looked_at() -> None:
    ranks = Ranks({})
    request, _ = in_context([f"turn {number}" for number in range(2000)], "again", ranks, CALIBRATED)
    assert request.split("\n\n") == [
        "turn 0", *(f"turn {number}" for number in range(2001 - FOLLOW_UPS, 2000)), "again"
    ]  # fmt: skip
    assert len(ranks.asked) == 2 * FOLLOW_UPS
