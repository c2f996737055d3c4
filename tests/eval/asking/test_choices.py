from __future__ import annotations

import pytest

from eval.asking.choices import PaperChoice, Preset, Presets
from pearl.errors import InputError

ORDER = PaperChoice("order", {"both": "asks in both", "random": "draws one"}, "Judges favour a position.")
UNREAD = PaperChoice("unread", {"counted": "counts it", "dropped": "leaves it out"}, "The paper does not say.")
PRESETS = Presets(
    (ORDER, UNREAD),
    (
        Preset("corrected", "All of it.", {"order": "both", "unread": "counted"}),
        Preset("as_published", "As printed.", {"order": "random", "unread": "counted"}),
    ),
)


def test_a_preset_with_its_overrides():
    assert PRESETS.default == "corrected"
    assert PRESETS.chosen("as_published") == {"order": "random", "unread": "counted"}
    assert PRESETS.chosen("as_published", ["order=both", "unread = dropped"]) == {"order": "both", "unread": "dropped"}


@pytest.mark.parametrize(
    ("preset", "overrides", "complaint"),
    [
        ("best", [], "--preset best: there are corrected, as_published"),
        ("corrected", ["order"], "--choose order: must be NAME=VALUE"),
        ("corrected", ["orders=both"], "--choose orders=both: there are order, unread"),
        ("corrected", ["order=none"], "--choose order=none: there are both, random"),
        ("corrected", ["order=both", "order=random"], "--choose order=random: --choose order=both is given too"),
    ],
)
def test_unknown_ones_are_named(preset, overrides, complaint):
    with pytest.raises(InputError, match=complaint):
        PRESETS.chosen(preset, overrides)


def test_help_gives_the_values_and_the_reasons():
    text = PRESETS.help()
    assert "--choose order=VALUE. Judges favour a position." in text
    assert "  both (corrected): asks in both" in text
    assert "  counted (corrected, as_published): counts it" in text
    assert "  dropped: leaves it out" in text


@pytest.mark.parametrize("values", [{"order": "both"}, {"order": "both", "unread": "kept"}])
def test_a_preset_that_leaves_a_choice_open_is_refused_when_declared(values):
    with pytest.raises(ValueError, match="The preset odd"):
        Presets((ORDER, UNREAD), (Preset("odd", "", values),))
