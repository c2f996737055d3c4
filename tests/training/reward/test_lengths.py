"""Pairs cut to one length."""

from __future__ import annotations

import pytest

from training.reward.config import BOTH, CUT, WHOLE
from training.reward.material import of_lengths

BETTER = "The kettle sang. He put one cup back."
WORSE = "A deep longing washed over him. Golden light filled it. The kettle whispered on and on into the night."
PAIRS = [(BETTER, WORSE), (WORSE, BETTER), ("It rained.", "It rained. Nothing happened that day.")]
CUT_PAIRS = [(BETTER, "A deep longing washed over him."), ("A deep longing washed over him.", BETTER)]


@pytest.mark.parametrize(("lengths", "left"), [(WHOLE, PAIRS), (CUT, CUT_PAIRS), (BOTH, [*PAIRS, *CUT_PAIRS])])
def test_the_longer_text_ends_where_the_other_does(lengths, left):
    """The pair that only the cut sentences told apart is left out."""
    assert of_lengths(PAIRS, lengths) == left
