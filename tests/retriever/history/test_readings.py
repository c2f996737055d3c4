from __future__ import annotations

import pytest

from retriever.history.readings import area, area_hashes


@pytest.mark.parametrize(
    ("request_text", "found"),
    [("Wheel : true", "wheel"), ("no colon", ""), ("", ""), (":", ""), ("x" * 60 + ": y", ""), ("a: b: c", "a")],
)
def test_the_area_stands_before_the_colon(request_text, found):
    assert area(request_text) == found
    assert (area_hashes([request_text])[0] == 0) == (found == "")


def test_areas_are_the_same_whatever_their_case():
    one, other, third = area_hashes(["Wheel: true", "wheel : mind", "tide: wheel"])
    assert one == other != third
