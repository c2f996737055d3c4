"""The likelihood that a person wrote a text, by models that are fitted once to the person's texts.

The person's models, of masked words and of characters, start from the impostors' models and learn from the person's
texts. The evidence is the mean log ratio of both models' probabilities (after LambdaG, Nini et al. 2025, which draws
samples of impostors and fits again for every text). ``pearl.style.likeness.calibration`` turns it into a probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from pearl.style.likeness.calibration import LikenessCalibration, LikenessEvidence, calibration_for
from pearl.style.likeness.impostors import Impostors, ReadText, Stream, shipped_references
from pearl.style.likeness.masking import Tokens, characters, distinct
from pearl.style.likeness.ngrams import Grams, NgramModel
from pearl.text.words import count_words

LEAST_WORDS = 30  # of a text
LEAST_TEXTS, LEAST_HISTORY_WORDS = 5, 300
SAMPLE = 200  # texts, to choose a register by
YOURS, UNLIKE = 0.8, 0.2
MINE, NOT_MINE, UNCLEAR = "yours", "unlike", "unclear"
TOO_SHORT, SMALL_HISTORY, OTHER_LANGUAGE = "too_short", "history_too_small", "other_language"


@dataclass(frozen=True, slots=True)
class LikenessScore:
    """The likelihood that the person wrote a text, with a verdict and its evidence."""

    probability: float | None  # at even odds before; None if it cannot be said, for the reason that the verdict gives
    verdict: str
    words: int
    log_ratio: float | None = None  # nats a token by which the person's model of masked words beats the impostors'


@dataclass(frozen=True, slots=True)
class Likeness:
    """One person's models and the impostors they are compared with, to score texts."""

    reference: Impostors
    words_model: NgramModel | None
    characters_model: NgramModel | None
    texts: int  # fitted
    words: int  # fitted
    left_out: int  # texts in a language that the impostors do not write
    calibrated: LikenessCalibration

    @classmethod
    def fit(cls, texts: Sequence[str], reference: Impostors | None = None) -> Likeness:
        """Fit models to a person's texts, without duplicates. ``reference``: the impostors; by default the shipped
        register that predicts the texts best."""
        different = distinct(texts)
        if reference is None:
            reference = nearest_register(different)
        known = [text for text in different if reference.reads_language(text)]
        words, left_out = sum(map(count_words, known)), len(different) - len(known)
        if len(known) < LEAST_TEXTS or words < LEAST_HISTORY_WORDS:
            return cls(reference, None, None, len(known), words, left_out, calibration_for(reference.calibrated_by))
        return cls(
            reference,
            _model(reference.words, [reference.masking.tokens(text) for text in known]),
            _model(reference.characters, [characters(text) for text in known]),
            len(known),
            words,
            left_out,
            calibration_for(reference.calibrated_by),
        )

    def score(self, text: str) -> LikenessScore:
        words = count_words(text)
        if words < LEAST_WORDS:
            return LikenessScore(None, TOO_SHORT, words)
        if not self.reference.reads_language(text):
            return LikenessScore(None, OTHER_LANGUAGE, words)
        evidence = self.evidence(text)
        if evidence is None:
            return LikenessScore(None, SMALL_HISTORY, words)
        probability = self.calibrated.probability(evidence)
        verdict = MINE if probability >= YOURS else NOT_MINE if probability <= UNLIKE else UNCLEAR
        return LikenessScore(probability, verdict, words, evidence.words_ratio)

    def evidence(self, text: str | ReadText) -> LikenessEvidence | None:
        """Return the evidence that the person wrote the text; None if the person's history is too small for a model."""
        if self.words_model is None or self.characters_model is None:
            return None
        read = self.reference.read(text) if isinstance(text, str) else text
        return LikenessEvidence(
            read.words.ratio(self.words_model),
            read.characters.ratio(self.characters_model),
            read.words.surprise,
            read.length,
            self.words,
        )


def _model(stream: Stream, texts: Sequence[Tokens]) -> NgramModel:
    return NgramModel.fit(Grams.of(texts, stream.order), stream.discount)


def nearest_register(texts: Sequence[str]) -> Impostors:
    """Return the shipped register that predicts the texts best; texts in another language are left out."""
    registers = shipped_references()
    read = (text for text in texts if any(one.reads_language(text) for one in registers))
    sample = [characters(text) for text in islice(read, SAMPLE)] or [characters(" ")]
    return min(registers, key=lambda register: register.characters.read(sample).surprise)
