"""The real SDK against a real HTTP server, the replies in a real SQLite file."""

from __future__ import annotations

import asyncio

import pytest

from pearl.errors import ChatError, ChatRefused, PearlError
from pearl.models.asking.ask import AskedModel, CallLimits, ask_all, replies, survey
from pearl.models.asking.cost import NO_PRICES, SpendingCap
from pearl.models.asking.kept import Question, open_replies
from pearl.models.asking.patience import Failed, asking
from pearl.models.chat.base import Decoding, Message, Reply
from pearl.models.chat.endpoint import EndpointChatModel
from pearl.models.prompts import MESSAGE_OVERHEAD
from pearl.records import Prices, Usage
from tests.fake_chat import FakeChatModel

DECODING = Decoding(max_tokens=50, temperature=0.7)


def questions(size, samples=1):
    return [Question((Message("user", f"question {n}"),), sample) for n in range(size) for sample in range(samples)]


class ProgressReporter:
    def __init__(self):
        self.done, self.failed, self.waited = 0, 0, []

    def advance(self, failed):
        self.done, self.failed = self.done + 1, self.failed + failed

    def waits(self, seconds):
        self.waited.append(seconds)


@pytest.fixture
def judging(judge_endpoint, tmp_path):
    """Ask these questions through the SDK: what came of it, and the replies."""

    def run(asked, watch=None, **limits):
        async def work(kept):
            model = EndpointChatModel(model="mock", base_url=judge_endpoint.address, max_retries=0)
            judge = AskedModel(asking(model), "mock", DECODING, model.count_tokens)
            try:
                done = await ask_all(judge, asked, kept, CallLimits(**limits), watch or ProgressReporter())
                return done, list(replies(judge, asked, kept, done))
            finally:
                await model.close()

        with open_replies(tmp_path / "replies.sqlite") as kept:
            return asyncio.run(asyncio.wait_for(work(kept), 120))

    return run


def fake_judge(model):
    return AskedModel(asking(model), model.name, DECODING, model.count_tokens)


def ask_fake(model, asked, path, **limits):
    with open_replies(path) as kept:
        return asyncio.run(ask_all(fake_judge(model), asked, kept, CallLimits(**limits), ProgressReporter()))


def test_only_what_is_not_kept_is_asked(judging, judge_endpoint):
    judge_endpoint.says = lambda body: f"reply to {body['messages'][0]['content']}"
    watch = ProgressReporter()
    done, found = judging(questions(5), watch)
    assert (done.calls, done.usage, watch.done) == (5, Usage(500, 50), 5)
    assert found == [Reply(f"reply to question {n}", "stop", Usage(100, 10)) for n in range(5)]
    again, same = judging(questions(8))
    assert (again.calls, len(judge_endpoint.bodies)) == (3, 8)
    assert same[:5] == found


def test_what_is_sent(judging, judge_endpoint):
    judging(questions(1))
    assert judge_endpoint.bodies == [
        {
            "model": "mock",
            "messages": [{"role": "user", "content": "question 0"}],
            "max_tokens": 50,
            "temperature": 0.7,
            "top_p": 1.0,
        }
    ]


def test_samples_are_calls_of_their_own_and_repetitions_are_not(judging, judge_endpoint):
    done, found = judging([*questions(2, samples=3), *questions(2, samples=3)])
    assert (done.calls, len(found), len(judge_endpoint.bodies)) == (6, 12, 6)


def test_so_many_in_flight_and_no_more(judging, judge_endpoint):
    judge_endpoint.gathers, judge_endpoint.seconds = 7, 0.05
    judging(questions(40), in_flight=7)
    assert judge_endpoint.most_in_flight == 7


def test_a_rate_limit_is_waited_out_with_the_request_unchanged(judging, judge_endpoint):
    judge_endpoint.refuses = lambda n: (429, {"retry-after": "1"}) if n <= 11 else None
    watch = ProgressReporter()
    done, found = judging(questions(10), watch, in_flight=10)
    assert all(isinstance(each, Reply) for each in found)
    assert 2 <= len(watch.waited) < 10  # told once for all calls
    assert done.repeated == len(judge_endpoint.bodies) - 10
    assert {body["messages"][0]["content"] for body in judge_endpoint.bodies} == {f"question {n}" for n in range(10)}


def test_a_key_that_is_refused_ends_the_run_and_what_came_is_kept(judging, judge_endpoint):
    judge_endpoint.refuses = lambda n: (401, {}) if n > 3 else None
    with pytest.raises(ChatError, match="PEARL_LLM_API_KEY"):
        judging(questions(10), in_flight=1)
    judge_endpoint.refuses = lambda n: None
    assert judging(questions(10))[0].calls == 7


def test_a_failure_is_counted_and_asked_again_by_the_next_run(tmp_path):
    path = tmp_path / "replies.sqlite"
    done = ask_fake(FakeChatModel(["BOTH", ChatRefused("no"), "BOTH"]), questions(3), path, in_flight=1)
    assert (done.calls, list(done.failed.values())) == (3, [Failed("llm_refused")])
    model = FakeChatModel(["POST ONE"])
    assert ask_fake(model, questions(3), path).calls == 1
    assert [messages[0].content for messages, _ in model.calls] == ["question 1"]


def test_samples_differ_in_the_seed_of_a_model_on_this_machine(tmp_path):
    model = FakeChatModel()
    ask_fake(model, questions(1, samples=3), tmp_path / "replies.sqlite", in_flight=1)
    assert [decoding.seed for _, decoding in model.calls] == [0, 1, 2]


def test_before_asking(tmp_path):
    judge = fake_judge(FakeChatModel())
    with open_replies(tmp_path / "replies.sqlite") as kept:
        kept.add(judge.key(questions(1)[0]), Reply("BOTH", "stop", Usage()))
        found = survey(judge, [*questions(3), *questions(3)], kept)
        assert (found.questions, found.kept, found.missing) == (3, 1, 2)
        assert found.most == Usage(2 * (2 + 8), 2 * 50)  # two words and the message's overhead
        assert found.to_json(Prices(1.0, 10.0))["cost_at_most"] == pytest.approx((20 * 1 + 100 * 10) / 1e6)
        assert found.to_json(NO_PRICES)["cost_at_most"] is None


def test_a_cap_is_never_passed(judging, judge_endpoint):
    """A call costs 100 + 10 tokens of 1.0 each, but may cost 50 for its answer and about 12 for its prompt."""
    judge_endpoint.usage = {"prompt_tokens": 10, "completion_tokens": 10}
    watch = ProgressReporter()
    prices = Prices(1e6, 1e6)
    with pytest.raises(PearlError, match="--max-cost 200: stopped after") as caught:
        judging(questions(50), watch, in_flight=8, prices=prices, cap=200.0)
    assert caught.value.code == "spending_cap"
    # each is 20; the next may be 62, which no longer fits once 140 are spent
    assert watch.done == len(judge_endpoint.bodies) == 7
    done, found = judging(questions(50), prices=prices, cap=5000.0)
    assert (done.calls, done.cost) == (43, 43 * 20)
    assert all(isinstance(each, Reply) for each in found)


def test_nobody_waits_for_a_call_that_the_cap_has_stopped(tmp_path):
    """The first call costs nothing in the end, the fourth is beyond the cap, and those that wait fit it one by one."""
    asked = [Question((Message("user", "x" * (cost - MESSAGE_OVERHEAD)),)) for cost in (90, 60, 61, 110)]
    made = []

    async def ask(messages, decoding):
        made.append(len(messages[0].content) + MESSAGE_OVERHEAD)
        await asyncio.sleep(0.05)
        if made == [90]:
            raise ChatRefused("no")
        return Reply("BOTH", "stop", Usage(1))

    judge, limits = (
        AskedModel(ask, "mock", Decoding(max_tokens=0), len),
        CallLimits(3, prices=Prices(1e6, 1e6), cap=100.0),
    )
    with open_replies(tmp_path / "replies.sqlite") as kept, pytest.raises(PearlError, match="stopped after 3 calls"):
        asyncio.run(asyncio.wait_for(ask_all(judge, asked, kept, limits, ProgressReporter()), 120))
    assert made == [90, 60, 61]


def test_an_endpoint_that_does_not_say_what_it_used(judging, judge_endpoint):
    judge_endpoint.usage = None
    done, _ = judging(questions(2), prices=Prices(1e6, 1e6))
    assert done.usage == Usage(2 * 12, 2 * 50)
    assert done.cost == 124


def test_who_was_not_asked_when_the_time_ran_out_is_no_call(tmp_path):
    model, left = FakeChatModel(), iter([True, True])
    done = ask_fake(model, questions(5), tmp_path / "replies.sqlite", in_flight=1, go_on=lambda: next(left, False))
    assert (done.calls, len(model.calls), len(done.failed)) == (2, 2, 3)


def test_what_rounding_leaves_is_not_waited_for():
    """In a currency of large numbers: the sum of what was set aside, less each of it, is not 0."""
    purse = SpendingCap(Prices(1e12 / 9, 1e12 / 9), 2e6)
    most = [Usage(1), Usage(3), Usage(7)]

    async def spend():
        for usage in most:
            assert await purse.set_aside(usage)
        for usage in most:
            purse.settle(usage, usage)
        assert purse.spent == pytest.approx(11e6 / 9)
        return await asyncio.wait_for(purse.set_aside(Usage(10)), 120)

    assert asyncio.run(spend()) is False
