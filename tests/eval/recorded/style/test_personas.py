from __future__ import annotations

import numpy as np
import pytest

from eval.recorded.style.breakdowns import irrelevant_attributes, sensitivity


def test_sensitivity_to_personas(columns, detected):
    """F1 of 1 for one persona, 2/3 and 0 for others; the null persona's text is set aside."""
    said = {"1": ("present", "present"), "2": ("present", "absent"), "3": ("absent", "absent"), None: ("absent",)}
    lines = [
        detected(f"{persona} {i}", verdict, persona=persona)
        for persona, every in said.items()
        for i, verdict in enumerate(every)
    ]
    overall, email = sensitivity(columns(lines, {line["item"]: "present" for line in lines}))
    each = np.array([1, 2 / 3, 0])
    assert (overall["judge"], overall["task"], overall["personas"]) == ("Ann", None, 3)
    assert overall["mean"]["value"] == pytest.approx(each.mean())
    assert overall["se"] == pytest.approx(each.std(ddof=1) / 3**0.5)
    assert overall["by_persona"] == {"1": 1.0, "2": pytest.approx(2 / 3), "3": 0.0}
    assert email["task"] == "email"
    assert email["mean"] == overall["mean"]


def test_one_persona_has_no_error(columns, detected):
    (overall, _) = sensitivity(columns([detected(persona="1")], {"text 1": "present"}))
    assert (overall["personas"], overall["se"]) == (1, None)


def test_no_persona_no_row(columns, detected):
    assert list(sensitivity(columns([detected()], {"text 1": "present"}))) == []


def test_relative_change(columns, detected):
    """As a human 2 of 4 found, as a typical person 4 of 4: together 6 of 8, F1 12 / 14; as a woman 3 of 4, F1 6 / 7."""
    found = {"a human": 2, "a typical person": 4, "a woman": 3, "a sailor": 1}
    lines = [
        detected(f"t{i}", "present" if i < number else "absent", judge_persona=persona)
        for persona, number in found.items()
        for i in range(4)
    ]
    rows = list(irrelevant_attributes(columns(lines, {f"t{i}": "present" for i in range(4)})))
    changes = {row["judge_persona"]: row["relative_change"]["value"] for row in rows}
    base = 12 / 14
    assert changes == {
        "a human": pytest.approx((2 * 2 / 6) / base - 1),
        "a typical person": pytest.approx(1 / base - 1),
        "a woman": pytest.approx(0.0),
        "a sailor": pytest.approx((2 * 1 / 5) / base - 1),
    }
    assert {row["judge_persona"]: row["attribute"] for row in rows}["a woman"] == "gender"


def test_without_a_default_there_is_no_change(columns, detected):
    (row,) = irrelevant_attributes(columns([detected(judge_persona="a woman")], {"text 1": "present"}))
    assert row["relative_change"] is None
    assert row["undefined"] == "the judge was never told to be a human or a typical person"
