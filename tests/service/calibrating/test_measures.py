from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pearl.style.likeness.likeness import Likeness
from retriever.baselines.dense import DenseRetriever
from service.calibrating.study import DraftMeasures, HeldOutLikeness, PastText, past_texts, rouge2

TEXTS = ("", "One.", "One two three", "two three, ONE two!", "Ünïcode is-not  a_word 3.14", "a a a a", "a a", "\n\t")


@pytest.mark.parametrize("target", TEXTS)
def test_rouge_2_is_the_librarys(target: str) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rouge2"])
    for draft in TEXTS:
        assert rouge2(target, draft) == pytest.approx(scorer.score(target, draft)["rouge2"].fmeasure)


def test_rouge_2_counts_words_of_other_scripts() -> None:
    assert rouge2("Я приду в четверг.", "я приду в среду") == pytest.approx(2 / 3)
    assert rouge2("我星期四来", "我星期五来") == pytest.approx(2 / 4)


@pytest.fixture
def texts(past: Any, word_encoder: Any) -> list[PastText]:
    """What a person wrote, each text long enough for likeness, with the texts before it."""
    return past_texts(past(), DenseRetriever(word_encoder()), 60)[0]


def test_likeness_knows_the_person_but_not_the_text_that_was_drafted(texts: list[PastText]) -> None:
    targets = [text.target for text in texts]
    held_out = HeldOutLikeness.of(texts)
    mine = held_out.measure(targets, targets)
    stranger = "Quarterly revenue rose; costs fell, analysts said. " * 6
    assert mine.mean() > 0.5 > held_out.measure(targets, [stranger] * len(targets)).mean()
    own = list(dict.fromkeys(own for text in texts for own in text.texts_before))
    knowing = Likeness.fit(own, held_out.models[targets[1]].reference)
    assert all(held_out.models[text].texts < knowing.texts for text in targets)
    seen = [knowing.score(text).log_ratio for text in targets[1:]]  # the latest lies before none
    unseen = [held_out.models[text].score(text).log_ratio for text in targets[1:]]
    assert np.mean(unseen) < np.mean(seen)


def test_a_text_with_a_draft_that_likeness_cannot_score_favours_none(texts: list[PastText]) -> None:
    one, other = texts[0].target, texts[1].target
    measure = HeldOutLikeness.of(texts).measure
    german = "Das Wetter bleibt leider weiterhin unbeständig und regnerisch. " * 6
    assert measure([one, other, one, other], [one, other, "Too short.", german]).tolist() == [0.0] * 4
    found = measure([one, other, one, other], [one, other, "Too short.", one])
    assert found[0] == found[2] == pytest.approx((found[1] + found[3]) / 2)


def test_likeness_is_left_out_where_the_person_has_too_little_text(texts: list[PastText]) -> None:
    measures = DraftMeasures(texts, bertscore=False)
    assert (measures.names, measures.left_out) == (("rouge2", "likeness"), {})
    short = [replace(text, target=" ".join(text.target.split()[:29])) for text in texts]
    measures = DraftMeasures(short, bertscore=False)
    assert measures.names == tuple(measures.measure(short, ["a draft"] * len(short))) == ("rouge2",)
    assert measures.left_out["likeness"].startswith(f"0 of {len(short)} past texts can be scored, fewer than half")
    few = [replace(text, ranking=text.ranking[:4]) for text in texts[:1]] * 30
    assert DraftMeasures(few, bertscore=False).names == ("rouge2",)
