from __future__ import annotations

from eval.asking.verdict import ABSTAIN, KINDS, Answer, Failed, Given, Invalid, is_correct, kind


def test_every_kind_has_its_own_name():
    verdicts = [*map(Given, Answer), Invalid("no_verdict"), Failed("timeout")]
    assert tuple(map(kind, verdicts)) == tuple(name for name in KINDS if name != ABSTAIN)
    assert len(set(KINDS)) == 9


def test_no_verdict_is_another():
    assert Answer.A != "A"
    assert not is_correct(Given(Answer.BOTH), Answer.TIE)
    assert not any(is_correct(verdict, Answer.A) for verdict in (Invalid("empty"), Failed("timeout")))
    assert is_correct(Given(Answer.TIE), Answer.TIE)
