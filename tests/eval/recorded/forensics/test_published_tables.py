"""The tables printed in papers/feedback-forensics.txt against our functions, where the shared papers are at hand."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from eval.recorded.forensics.measures import closed_form, kappa_randomized, relevance, strength

NUMBER = r"(-?\d\.\d\d)"
WITH_INTERVAL = rf"{NUMBER} \({NUMBER}, {NUMBER}\)"
HALF = 0.005  # of the last digit that is printed
# the sections with strength, relevance and kappa, and the pairs behind each column
DATASETS = ("F.3.1 ACROSS", "Figure 13:", "Figure 14: **", "Figure 15: **"), (10_000, 7_500, 8_000)
MODELS = ("F.5.1 GENERAL", "Figure 21:", "Figure 22: **", "Figure 23: **"), (500,) * 6


def printed(text, start, end, pattern, columns):
    """The cells of each trait's row between two marks."""
    rows = {}
    for line in text[text.index(start) : text.index(end, text.index(start))].splitlines():
        cells = re.findall(pattern, line)
        if len(cells) >= columns:
            name = re.sub(r"\b\d{3,4}\b\s*", "", re.split(rf"\t?{NUMBER}", line)[0]).strip()
            rows[name] = [np.array(cell, float) for cell in cells[:columns]]
    return rows


@pytest.mark.parametrize(("marks", "sizes"), [DATASETS, MODELS], ids=["data sets", "models"])
def test_the_printed_tables_hold_our_identities(shared, marks, sizes):
    text = (shared / "papers" / "feedback-forensics.txt").read_text(encoding="utf-8")
    text = text[text.index("F.3.1 ACROSS") :]
    start, second, third, fourth = marks
    strengths = printed(text, start, third if marks is DATASETS[0] else second, WITH_INTERVAL, len(sizes))
    plain = rf"(?<![\d.(]){NUMBER}(?!\d)"
    relevances = printed(text, second, third, plain, len(sizes))
    kappas = printed(text, third, fourth, plain, len(sizes))
    assert len(strengths) == 40
    assert strengths.keys() == relevances.keys() == kappas.keys()
    outside = 0
    for name, place in product(strengths, range(len(sizes))):
        measured, low, high = strengths[name][place]
        share, prime, n = float(relevances[name][place]), float(kappas[name][place]), sizes[place]
        # the counts that such a cell comes from: agreeing, disagreeing, neither
        counts = n * np.array([[share * (1 + prime) / 2, 0, share * (1 - prime) / 2, 0, 1 - share]])
        assert relevance(counts)[0] == pytest.approx(share)
        assert kappa_randomized(counts)[0] == pytest.approx(prime if share else 0)
        # strength is their product, as far as three rounded numbers say
        assert strength(counts)[0] == pytest.approx(measured, abs=HALF * (1 + abs(prime) + share + HALF))
        (closed,) = closed_form(counts)
        reach = (closed.high - closed.low) / 2
        outside += max(abs(measured - reach - low), abs(measured + reach - high)) > 3 * HALF
    assert outside <= 1
