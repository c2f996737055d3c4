"""The quality of drafts, measured against what the person really wrote.

Dimensions in comments: N texts, O options.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise

import numpy as np

from pearl.likeness.likeness import LEAST_HISTORY_WORDS, LEAST_TEXTS, LEAST_WORDS, Likeness, nearest_register
from pearl.stats.bootstrap import Floats
from pearl.text.words import rouge_words
from retriever.models.bertscore import BertScore
from service.calibrating.past import PastText

ROUGE_2, BERTSCORE, LIKENESS = "rouge2", "bertscore", "likeness"
LEAST_SHARE = 0.5  # of the past texts; if likeness can score fewer, it is no metric
FOLDS = 5  # a text is scored by a model that has not learned from it


@dataclass(frozen=True, slots=True)
class HeldOutLikeness:
    """Models of the person that have not learned from the text to score."""

    models: Mapping[str, Likeness]  # by past text, without those that likeness cannot score

    @classmethod
    def of(cls, past: Sequence[PastText]) -> HeldOutLikeness:
        """Fit models to the person's texts, with a fifth of the past texts and their copies held out in turn."""
        targets = list(dict.fromkeys(text.target for text in past))
        texts = list(dict.fromkeys(text for entry in past for text in entry.texts_before))
        register = nearest_register(texts)
        models: dict[str, Likeness] = {}
        for fold in range(FOLDS):
            held_out = set(targets[fold::FOLDS])
            fitted = Likeness.fit([text for text in texts if text not in held_out], register)
            models |= {text: fitted for text in held_out if fitted.score(text).probability is not None}
        return cls(models)

    def measure(self, targets: Sequence[str], drafts: Sequence[str]) -> Floats:
        """The probability that the person wrote each draft, (N,). If it is unknown for one draft of a text, all drafts
        of the text get the mean over the other texts, so the text favours no draft."""
        scores = np.array([self._score(target, draft) for target, draft in zip(targets, drafts, strict=True)])
        unknown = {target for target, score in zip(targets, scores, strict=True) if np.isnan(score)}
        known = np.array([target not in unknown for target in targets])
        return np.where(known, scores, scores[known].mean() if known.any() else 0.0)

    def _score(self, target: str, draft: str) -> float:
        probability = self.models[target].score(draft).probability if target in self.models else None
        return np.nan if probability is None else probability


def rouge2(target: str, draft: str) -> float:
    """ROUGE-2 F1 as the library ``rouge-score`` has it without stemming; a base installation does not have that."""
    of_target, of_draft = (Counter(pairwise(words)) for words in map(rouge_words, (target, draft)))
    shared = sum((of_target & of_draft).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(of_draft.values()), shared / sum(of_target.values())
    return 2 * precision * recall / (precision + recall)


class DraftMeasures:
    """Measures drafts for past texts: by ROUGE-2, by BERTScore if the extra ``eval`` is installed, and by likeness if
    the person has enough text."""

    def __init__(self, past: Sequence[PastText], *, bertscore: bool | None = None) -> None:
        """``past`` are all texts to draft; with ``bertscore`` None it is used if it is installed."""
        wanted = find_spec("bert_score") is not None and find_spec("torch") is not None
        self._bertscore = BertScore() if (wanted if bertscore is None else bertscore) else None
        self._likeness = HeldOutLikeness.of(past)
        scored = sum(text.target in self._likeness.models for text in past)
        self.left_out: dict[str, str] = {}  # reason by metric
        if scored < LEAST_SHARE * len(past):
            self.left_out[LIKENESS] = (
                f"{scored} of {len(past)} past texts can be scored, fewer than half: it takes texts of {LEAST_WORDS} "
                f"words and a history of {LEAST_TEXTS} other texts and {LEAST_HISTORY_WORDS} words in a "
                "language that it knows"
            )

    @property
    def names(self) -> tuple[str, ...]:
        measured = (ROUGE_2, LIKENESS) if self._bertscore is None else (ROUGE_2, BERTSCORE, LIKENESS)
        return tuple(name for name in measured if name not in self.left_out)

    def measure(self, past: Sequence[PastText], drafts: Sequence[str]) -> dict[str, Floats]:
        """Each metric of each draft, (N,)."""
        targets = [text.target for text in past]
        measured: dict[str, Floats] = {
            ROUGE_2: np.array([rouge2(target, draft) for target, draft in zip(targets, drafts, strict=True)]),
        }
        if LIKENESS not in self.left_out:
            measured[LIKENESS] = self._likeness.measure(targets, drafts)
        if self._bertscore is not None:
            measured[BERTSCORE] = np.asarray(self._bertscore.scores(targets, drafts), np.float64)
        return {name: measured[name] for name in self.names}


def combined(values: Mapping[str, Floats]) -> Floats:
    """The mean of the metrics, (N, O), each in its standard deviations over all values; a constant metric does not
    count."""
    scaled = [scores / scores.std() if scores.std() > 0 else np.zeros_like(scores) for scores in values.values()]
    return np.asarray(np.mean(scaled, axis=0))
