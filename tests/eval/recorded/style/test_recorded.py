"""What our own commands write is what is read here."""

from __future__ import annotations

import pytest

from eval.asking.verdict import Failed, Score
from eval.judges import style_detect as detecting
from eval.judges import style_rank
from eval.judges.judge import Judgements, read_round
from pearl.models.chat.base import Reply, Usage


def reply(text):
    return Reply(text, "stop", Usage(0, 0))


@pytest.fixture
def detection_lines(write_lines):
    def make(said, personas=()):
        items = [{"id": "t1", "task": "email", "style": "Storytelling", "text": "Once...", "persona": "1"}]
        options = detecting.DetectOptions(scheme=["likert_10"], judge_as=list(personas), draws=len(said))
        found, options = detecting.load(write_lines(items, "items.jsonl"), options)
        replies = [each for _ in personas or (None,) for each in said]
        judge = detecting.JUDGE
        first = read_round(judge, judge.trials(found.every, options), options, lambda: replies)
        trials = [judgement.trial for judgement in first.judgements if isinstance(judgement.verdict, Score)]
        again = read_round(judge, trials, options, lambda: [reply("Answer: 1") for _ in trials])
        judged = Judgements(found, (), first, again, "mock", {})
        return list(detecting.lines(judged, options))

    return make


def test_detection(read, detection_lines, corrected):
    said = [reply("Answer: 7"), reply("Answer: 3"), reply("Answer: 9"), reply("Well."), Failed("timeout")]
    units = {unit.key.scheme: unit for unit in read(detection_lines(said)).units}
    assert units["likert_10"].label(corrected) == "present"
    assert (units["likert_10"].labels, units["likert_10"].unused) == ({"present": 2, "absent": 1}, 2)
    assert units["likert_10_reflected"].labels == {"absent": 3}
    assert units["likert_10"].about.persona == "1"


def test_detection_as_somebody(read, detection_lines):
    units = read(detection_lines([reply("Answer: 7")], ("a human", "a woman"))).units
    assert {unit.key.judge_persona for unit in units} == {"a human", "a woman"}


@pytest.mark.parametrize(
    ("scheme", "said", "label"),
    [
        ("ab_style", ("Output (a)", "Output (b)"), "a"),  # text a stands second in the other order
        ("ab_style", ("Output (a)", "Output (a)"), "tie"),
        ("ab_helpfulness", ("Output (b)", "Output (a)"), "b"),
        ("rubric_style", ("Score: 2", "Score: 4"), "b"),
        ("rubric_helpfulness", ("Score: 4", "Score: 4"), "tie"),
        ("ab_style", ("Output (a)", "Who knows?"), None),
    ],
)
def test_ranking(read, write_lines, corrected, scheme, said, label):
    items = [{"task": "tweet", "style": ["storytelling"], "request": "Why?", "text_a": "One.", "text_b": "Two."}]
    judge, options = style_rank.JUDGE, style_rank.RankOptions(scheme=scheme, draws=1)
    found, options = judge.load(write_lines(items, "items.jsonl"), options)
    replies = [reply(text) for text in said]
    first = read_round(judge, judge.trials(found.every, options), options, lambda: replies)
    judgements = Judgements(found, (), first, None, "mock", {})
    (unit,) = read(judge.lines(judgements, options)).units
    assert unit.label(corrected) == label
    assert unit.key.style == ("storytelling" if scheme.endswith("style") else "")
