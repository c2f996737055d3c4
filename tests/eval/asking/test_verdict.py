from __future__ import annotations

from eval.asking.verdict import KINDS, Abstained, Answer, Failed, Given, Invalid, is_correct, kind, tally


def test_every_kind_has_its_own_name():
    verdicts = [*map(Given, Answer), Abstained(), Invalid("no_verdict"), Failed("timeout")]
    assert tuple(map(kind, verdicts)) == KINDS
    assert len(set(KINDS)) == 9


def test_no_verdict_is_another():
    assert Answer.A != "A"
    assert not is_correct(Given(Answer.BOTH), Answer.TIE)
    assert not any(is_correct(verdict, Answer.A) for verdict in (Abstained(), Invalid("empty"), Failed("timeout")))
    assert is_correct(Given(Answer.TIE), Answer.TIE)


def test_both_accuracies():
    verdicts = [Given(Answer.A), Given(Answer.B), Invalid("empty"), Failed("timeout")]
    found = tally(verdicts, [Answer.A] * 4)
    assert (found.n, found.answered, found.correct) == (4, 2, 1)
    assert (found.invalid_wrong, found.invalid_dropped) == (1 / 4, 1 / 2)
    assert sum(found.kinds.values()) == 4


def test_of_nothing_there_is_no_accuracy():
    assert tally([], []).invalid_wrong is None
    assert tally([Invalid("empty")], [Answer.A]).invalid_dropped is None
