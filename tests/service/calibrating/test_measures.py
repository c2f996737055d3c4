from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from service.calibrating.likeness import likeness
from service.calibrating.measures import rouge2

TEXTS = ("", "One.", "One two three", "two three, ONE two!", "Ünïcode is-not  a_word 3.14", "a a a a", "a a", "\n\t")


@pytest.mark.parametrize("target", TEXTS)
def test_rouge_2_is_the_librarys(target: str) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rouge2"])
    for draft in TEXTS:
        assert rouge2(target, draft) == pytest.approx(scorer.score(target, draft)["rouge2"].fmeasure)


def test_likeness_is_the_mean_cosine_with_ones_own_texts(word_encoder: Any) -> None:
    encoder = word_encoder()
    found = likeness(encoder, ["the tide", ""], [("the tide", "a kettle"), ("the tide",)])
    one, other = encoder.encode_documents(["the tide", "a kettle"])
    assert found == pytest.approx([(1 + float(one @ other)) / 2, 0.0])
    assert likeness(encoder, ["the tide"], [()]) == np.zeros(1)
