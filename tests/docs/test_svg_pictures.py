"""Pictures as SVG: what a reader sees stands in them as text."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from svg_pictures import Bar, intervals_picture

SVG = "{http://www.w3.org/2000/svg}"
GAIN = {"value": 5.0, "low": 2.5, "high": 10.0}
LOSS = {"value": -1.0, "low": -2.0, "high": 0.5}


def drawn(*bars: Bar) -> ElementTree.Element:
    return ElementTree.fromstring(intervals_picture("gain, nats", bars, 1, sign=True))


def test_names_figures_and_axis_are_text() -> None:
    texts = [element.text for element in drawn(Bar("ours & theirs", GAIN, own=True)).iter(f"{SVG}text")]
    assert texts == ["0", "2", "4", "6", "8", "10", "ours & theirs", "+5.0 [+2.5, +10.0]", "gain, nats"]


@pytest.mark.parametrize(("interval", "sides"), [(GAIN, (1, 1)), (LOSS, (-1, 1))])
def test_the_line_runs_from_low_to_high_on_both_sides_of_zero(
    interval: dict[str, float], sides: tuple[int, int]
) -> None:
    root = drawn(Bar("a", interval), Bar("b", GAIN))
    zero = next(float(text.get("x", "")) for text in root.iter(f"{SVG}text") if text.text == "0")
    line = next(line for line in root.iter(f"{SVG}line") if line.get("class") == "line")
    ends = float(line.get("x1", "")), float(line.get("x2", ""))
    assert tuple(1 if end > zero else -1 for end in ends) == sides


def test_what_is_ours_stands_out_in_both_modes() -> None:
    text = intervals_picture("a", [Bar("ours", GAIN, own=True), Bar("other", LOSS)], 1)
    assert text.count('class="own"') == 1
    assert "prefers-color-scheme: dark" in text
