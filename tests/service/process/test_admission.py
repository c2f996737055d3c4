from __future__ import annotations

import pytest

from pearl.errors import Overloaded
from service.process.admission import Admission


def test_a_place_is_held_and_given_back() -> None:
    admission = Admission(most=2)
    with admission.slot(), admission.slot():
        with pytest.raises(Overloaded) as refused, admission.slot():
            raise AssertionError("there is no third place")
        assert (refused.value.http_status, refused.value.code) == (503, "overloaded")
        assert refused.value.retry_after is not None
        assert refused.value.retry_after >= 1
        assert admission.inside == 2
    assert admission.inside == 0


def test_a_failure_gives_its_place_back() -> None:
    admission = Admission(most=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), admission.slot():
            raise ZeroDivisionError
    with admission.slot():
        pass
