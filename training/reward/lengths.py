"""Pairs whose texts are about equally long, so that length does not say which one is the better."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pearl.editing.steps import SENTENCE_END
from training.reward.choices import CUT, WHOLE

Pair = tuple[str, str]


def of_lengths(pairs: Sequence[Pair], lengths: str) -> list[Pair]:
    """The pairs whole, cut to one length, or both; without those that the cut leaves with the same text twice."""
    whole = [] if lengths == CUT else list(pairs)
    cut = [] if lengths == WHOLE else [evened(*pair) for pair in pairs]
    return list(dict.fromkeys((*whole, *(pair for pair in cut if pair[0] != pair[1]))))


def evened(one: str, other: str, sentence_end: re.Pattern[str] = SENTENCE_END) -> Pair:
    """The texts, the longer one cut behind the sentence that brings it nearest to the other's length."""
    short, long = sorted((one.strip(), other.strip()), key=len)
    ends = [*(match.start() for match in sentence_end.finditer(long)), len(long)]
    cut = long[: min(ends, key=lambda end: abs(end - len(short)))]
    return (cut, short) if one.strip() == long else (short, cut)
