from __future__ import annotations

from starlette.testclient import TestClient

from benchmarks.mock_judge import VERDICTS, VOTING, MockJudge
from eval.asking.verdict import Votes
from eval.asking.votes import read_votes
from eval.judges.traits import WORDS


def test_the_same_question_has_the_same_answer_and_calls_are_counted() -> None:
    client = TestClient(MockJudge())
    asked = [{"model": "mock", "messages": [{"role": "user", "content": str(number)}]} for number in range(40)]
    said = [client.post("/v1/chat/completions", json=body).json() for body in asked]
    replies = [each["choices"][0]["message"]["content"] for each in said]
    assert {reply.splitlines()[-1] for reply in replies} == set(VERDICTS)
    assert client.post("/v1/chat/completions", json=asked[0]).json() == said[0]
    assert client.get("/calls").json() == {"calls": 41}
    assert client.get("/calls").json() == {"calls": 0}


def test_questions_by_traits_are_answered_with_votes_on_forty_rules() -> None:
    assert VOTING.decode() in WORDS
    body = {"messages": [{"role": "user", "content": WORDS.format(count=40)}]}
    said = TestClient(MockJudge()).post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
    found = read_votes(said, 40)
    assert isinstance(found, Votes)
    assert (len(found.by_rule), found.other_keys) == (40, 0)
