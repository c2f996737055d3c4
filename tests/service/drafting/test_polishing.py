"""Drafts with their quality, and the best of several edits of them: over HTTP, in the store and in a stream."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

from pearl.clock import Clock
from pearl.errors import ChatTimeout, InputError
from pearl.models.chat.base import Chunk
from pearl.records import Draft, Retrieval, Revision, Usage
from pearl.style.editing.edits import SpanEdit
from pearl.style.editing.prompt import reply_of
from service.drafting.polishing import CandidateOrder, Polisher, make_polisher
from service.sample import sample_documents
from tests.fake_chat import FakeChatModel

DRAFT = "Kettle is on. Swap with Bea."


def rewards(texts):
    """From 1 to 10: five, and one more for each word 'please', one less for each 'now'."""
    return np.array([5.0 + text.count("please") - text.count("now") for text in texts])


def edit(span, rewrite):
    return reply_of((SpanEdit(span, rewrite, "Cliche"),), "...")


BETTER, BEST, WORSE = edit("Swap", "please swap"), edit("Swap", "please, please swap"), edit("Swap", "now swap")
BROKEN = edit("Trade", "please swap")


@pytest.fixture
def polished(house):
    """A service with a reward model."""
    return house(rewards=rewards)


def draft_with(pearl, *replies, **wanted):
    pearl.model.replies.extend([DRAFT, *replies])
    answer = pearl.as_user("ann").post("/v1/drafts", {"request": "write", **wanted})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_draft_has_its_quality(polished):
    found = draft_with(polished)
    assert (found["text"], found["quality"], found["editing"]) == (DRAFT, 5.0, None)
    assert "score_ms" in found["timings"]
    again = polished.as_user("ann").get(f"/v1/drafts/{found['id']}").json()
    assert again["quality"] == 5.0


def test_without_a_reward_model_there_is_no_quality_and_no_candidates(pearl):
    assert draft_with(pearl)["quality"] is None
    answer = pearl.as_user("ann").post("/v1/drafts", {"request": "write", "candidates": 2})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "no_reward_model")
    assert answer.json()["error"]["param"] == "candidates"
    assert len(pearl.model.calls) == 1


def test_the_best_of_the_candidates_takes_the_place_of_the_draft(polished):
    found = draft_with(polished, BETTER, BEST, WORSE, BROKEN, "No parts.", ChatTimeout("late"), candidates=6)
    assert found["text"] == "Kettle is on. please, please swap with Bea."
    assert (found["stage"], found["quality"]) == ("draft", 7.0)
    editing = found["editing"]
    assert editing["edits"] == [{"start": 14, "span": "Swap", "rewrite": "please, please swap", "category": "Cliche"}]
    assert (editing["candidates"], editing["chosen"], editing["first_text"]) == (6, True, DRAFT)
    assert editing["failed"] == {"not_executed": 1, "no_parts": 1, "llm_timeout": 1}
    assert editing["dropped"] == {"below_draft": 1}
    assert editing["refused"] == {"missing": 1}
    assert editing["draft"] == {"quality": 5.0, "likeness": None}
    assert editing["choice"] == {"quality": 7.0, "likeness": None}
    assert {"edit_ms", "score_ms"} <= set(found["timings"])


def test_it_is_recorded_listed_exported_and_imported_again(polished, house):
    found = draft_with(polished, BETTER, WORSE, candidates=2)
    ann = polished.as_user("ann")
    recorded = ann.get(f"/v1/drafts/{found['id']}").json()
    assert {name: recorded[name] for name in ("text", "quality", "editing")} == {
        name: found[name] for name in ("text", "quality", "editing")
    }
    assert ann.get("/v1/drafts").json()["data"][0]["editing"] == found["editing"]
    (line,) = ann.get("/v1/export").json()["drafts"]
    assert (line["quality"], line["editing"]) == (found["quality"], found["editing"])
    other = house()
    from service.store import drafts

    owner = other.user("ann")
    with other.database.write() as connection:
        assert drafts.restore(connection, owner.id, line)
    assert other.as_user("ann").get(f"/v1/drafts/{found['id']}").json()["editing"] == found["editing"]


def test_where_none_is_better_the_draft_stays(polished):
    found = draft_with(polished, WORSE, "Nothing.", candidates=2)
    assert (found["text"], found["quality"]) == (DRAFT, 5.0)
    editing = found["editing"]
    assert (editing["chosen"], editing["edits"]) == (False, [])
    assert editing["choice"] == editing["draft"]


def test_tokens_of_candidates_are_counted(polished):
    alone = draft_with(polished)["usage"]["completion_tokens"]
    assert draft_with(polished, BETTER, candidates=1)["usage"]["completion_tokens"] > alone


def test_instructions_hold_for_the_edits_too(polished):
    polished.voice("ann", "email", instructions="No dashes.")
    draft_with(polished, BETTER, candidates=1, voice="email", instructions="Two lines.")
    asked = polished.model.calls[-1][0][1].content
    assert "every rewrite:\nNo dashes.\nTwo lines." in asked


def test_a_revised_draft_is_edited(polished):
    polished.add("ann", "Kettle's on.")
    revision = f"- lacks\n\nEDITED DRAFT\n<document>\n{DRAFT}\n</document>"
    found = draft_with(polished, revision, BETTER, revise="always", candidates=1)
    assert (found["stage"], found["text"]) == ("revised", "Kettle is on. please swap with Bea.")


REVISED = "- lacks\n\nEDITED DRAFT\n<document>\n{text}\n</document>"


@pytest.mark.parametrize(
    ("wanted", "text", "stage", "reason"),
    [
        ("auto", "Please swap with Bea.", "draft", "revision_not_better"),
        ("auto", "Swap with Bea, please.", "revised", "below_threshold"),
        ("auto", "Swap with Bea now.", "draft", "revision_not_better"),
        ("always", "Swap with Bea now.", "revised", "wanted"),
    ],
)
def test_a_revision_that_a_score_set_off_must_be_better(house, wanted, text, stage, reason):
    pearl = house(rewards=rewards, revise_below="all")
    pearl.add("ann", "Kettle's on.")
    found = draft_with(pearl, REVISED.format(text=text), revise=wanted)
    assert (found["stage"], found["revision"]["reason"]) == (stage, reason)
    assert found["revision"]["applied"] == (stage == "revised")
    assert found["text"] == (text if stage == "revised" else DRAFT)
    assert found["quality"] == rewards([found["text"]])[0]


def test_without_a_reward_model_every_revision_is_taken(house):
    pearl = house(revise_below="all")
    pearl.add("ann", "Kettle's on.")
    assert draft_with(pearl, REVISED.format(text="Swap now."))["stage"] == "revised"


def test_a_stream_sends_only_the_text_that_was_chosen(polished):
    polished.model.replies.extend([DRAFT, BETTER])
    body = {"request": "write", "candidates": 1, "stream": True}
    answer = polished.as_user("ann").post("/v1/drafts", body)
    events = [part.split("\n") for part in answer.text.strip().split("\n\n")]
    assert [lines[0] for lines in events] == ["event: retrieval", "event: delta", "event: draft"]
    assert json.loads(events[1][1].removeprefix("data: ")) == {"text": "Kettle is on. please swap with Bea."}


@pytest.mark.parametrize("candidates", [-1, 21, "two"])
def test_numbers_of_candidates_that_are_refused(polished, candidates):
    answer = polished.as_user("ann").post("/v1/drafts", {"request": "write", "candidates": candidates})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "candidates")


def test_a_repeated_call_gets_the_same_choice(polished):
    polished.model.replies.extend([DRAFT, BETTER])
    ann = polished.as_user("ann")
    body, key = {"request": "write", "candidates": 1}, {"Idempotency-Key": "k1"}
    first = ann.post("/v1/drafts", body, headers=key).json()
    assert first["editing"]["chosen"]
    again = ann.post("/v1/drafts", body, headers=key).json()
    assert again | {"timings": {}} == first | {"timings": {}}
    assert len(polished.model.calls) == 2


def test_a_better_edit_that_is_less_likely_theirs_is_not_chosen():
    draft = Draft("d", DRAFT, "draft", Retrieval(), Revision(False, "a", "b"))
    likeness = {DRAFT: 0.8, "Kettle is on. please, please swap with Bea.": 0.5}
    polisher = Polisher(rewards)
    found = asyncio.run(
        polisher.polish(
            FakeChatModel([BEST]), draft, CandidateOrder(1), Clock(), lambda texts: [likeness[text] for text in texts]
        )
    )
    assert (found.text, found.editing.dropped) == (DRAFT, {"less_likely_theirs": 1})
    assert found.editing.draft.likeness == 0.8


def test_the_likeness_of_drafts_counts_where_the_history_can_say_it(polished):
    """The sample user's own words become somebody else's: better, but not chosen."""
    sample = [document.text for document in sample_documents()]
    polished.add("ann", *sample[:-1])
    own = max(sample, key=len)
    words = " ".join(own.split()[:80])
    first, *_ = words.split(". ")
    stranger = (
        "Pursuant to the aforementioned stipulations, please kindly note that stakeholders shall endeavour to leverage"
    )
    polished.model.replies.extend(
        [words, edit(first, stranger + " synergies, please"), edit(first, first + ", please")]
    )
    found = polished.as_user("ann").post("/v1/drafts", {"request": "write", "candidates": 2}).json()["editing"]
    assert found["draft"]["likeness"] is not None
    assert found["choice"]["likeness"] is not None
    assert found["choice"]["likeness"] >= found["draft"]["likeness"] - 0.1


class StuckModel(FakeChatModel):
    """Writes the draft, then never answers; ``all_asked`` is set when three candidates wait."""

    def __init__(self):
        super().__init__()
        self.all_asked = asyncio.Event()

    async def stream(self, messages, decoding):
        if not self.calls:
            self.calls.append((list(messages), decoding))
            yield Chunk(DRAFT)
            yield Chunk(finish_reason="stop", usage=Usage(1, 1))
            return
        self.calls.append((list(messages), decoding))
        if len(self.calls) == 4:
            self.all_asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.left_early += 1


def test_candidates_end_when_their_time_is_up(house, monkeypatch):
    monkeypatch.setattr("service.drafting.polishing.CANDIDATES_S", 0.05)
    model = StuckModel()
    found = draft_with(house(model, rewards=rewards), candidates=5)
    assert (found["text"], found["editing"]["failed"]) == (DRAFT, {"out_of_time": 5})
    assert model.left_early == len(model.calls) - 1  # all that were under way


def test_a_client_that_leaves_ends_the_candidates(house):
    model = StuckModel()
    pearl = house(model, rewards=rewards)
    ann = pearl.user("ann")

    async def leave():
        from service.drafting.drafter import DraftJob

        async def read():
            return [event async for event in pearl.services.drafter.draft(ann, DraftJob("write", candidates=3))]

        task = asyncio.ensure_future(read())
        await model.all_asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    assert model.left_early == 3
    assert pearl.rows("drafts") == []


def test_the_reward_model_that_the_settings_name(house, small_reward):
    assert 1 <= draft_with(house(reward_model=str(small_reward)))["quality"] <= 10


def test_a_reward_model_that_cannot_be_used_is_an_error_at_the_start(house, tmp_path):
    with pytest.raises(InputError, match="PEARL_REWARD_MODEL=") as told:
        house(reward_model=str(tmp_path))
    assert told.value.code == "invalid_setting"
    assert make_polisher(house().settings) is None
