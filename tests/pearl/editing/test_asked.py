"""Candidates whose replies are kept: a model asked step by step is asked for nothing twice either."""

from __future__ import annotations

import asyncio

from pearl.asking.ask import Terms
from pearl.asking.kept import open_replies
from pearl.asking.patience import UNWATCHED
from pearl.editing.asked import EditingContext
from pearl.editing.candidates import failures
from tests.fake_chat import FakeChatModel


class SmallModel(FakeChatModel):
    continues = True


def test_every_step_of_every_candidate_is_kept(tmp_path):
    small = SmallModel(["1: Cliche", "The sea was loud.", "1: Punctuation", "The sea was grey and loud."])
    with open_replies(tmp_path / "replies.sqlite") as kept:
        context = EditingContext(small, "small", kept, Terms())
        candidates, asked = asyncio.run(context.candidates("The sea was grey and loud.", 2, UNWATCHED))
        assert [candidate.text for candidate in candidates] == ["The sea was loud.", None]
        assert failures(candidates) == {"not_executed": 1}
        assert (asked.calls, len(small.calls)) == (4, 4)
        again, asked = asyncio.run(context.candidates("The sea was grey and loud.", 2, UNWATCHED))
    assert again == candidates
    assert (asked.calls, len(small.calls)) == (0, 4)
