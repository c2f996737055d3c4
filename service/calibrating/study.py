"""A person's past texts, drafted again from 1, 2, ... documents, to choose margin and k.

A margin and a k always show the first documents of a ranking, so the drafts from the 1, 2, ... best documents are
enough to measure every pair of margin and k.

Dimensions in comments: N texts, O options.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import chain, pairwise

import numpy as np

from pearl.models.asking.ask import EMPTY_ANSWER
from pearl.models.asking.patience import Failed
from pearl.models.asking.write import UNREADABLE, WrittenText, draft_of, prompt_or_none, read_revision
from pearl.models.chat.base import Decoding, Reply
from pearl.models.prompts import Prompt, PromptInputs, draft_prompt, revision_decoding, revision_prompt
from pearl.records import Document, Request, ScoredDocument
from pearl.stats.bootstrap import Floats
from pearl.style.likeness.likeness import LEAST_HISTORY_WORDS, LEAST_TEXTS, LEAST_WORDS, Likeness, nearest_register
from pearl.text.answers.marks import CLOSING
from pearl.text.templates import Template
from pearl.text.words import rouge_words
from retriever.base import Calibration, Retriever, choose, ranked
from retriever.models.bertscore import BertScore
from service.calibrating.writer import CalibrationWriter
from service.drafting.reading import read_text
from service.drafting.repetition import Repetitions

# why a text is left out
NO_REQUEST, NOTHING_BEFORE, DRAFTED, SET_APART = "no_request", "nothing_before", "drafted", "set_apart"


@dataclass(frozen=True, slots=True)
class PastText:
    """A text of the person, the request that it answered, and the documents before it, ranked for the request."""

    target: str  # the text
    request: str
    ranking: tuple[ScoredDocument, ...]  # of the documents before it, without copies of it; best first

    @property
    def top_score(self) -> float:
        """The score of the best document, s1."""
        return self.ranking[0].score

    @property
    def texts_before(self) -> tuple[str, ...]:
        """The texts that the person had written before this one."""
        return tuple(scored.document.text for scored in self.ranking)


def past_texts(
    documents: Sequence[Document],
    retriever: Retriever,
    most: int,
    drafted: Set[str] = frozenset(),
    apart: Set[str] = frozenset(),
) -> tuple[list[PastText], Counter[str]]:
    """Choose at most ``most`` texts to draft again, latest first; return them, and the number of texts left out by
    reason. ``documents``: the history, oldest first. ``drafted``: ids of documents sent from a draft, which are left
    out. ``apart``: ids of quarantined documents, which are left out of the rankings, too."""
    past: list[PastText] = []
    left_out: Counter[str] = Counter()
    for index in reversed(range(len(documents))):
        if len(past) == most:
            break
        document = documents[index]
        reasons = {
            DRAFTED: document.id in drafted,
            SET_APART: document.id in apart,
            NO_REQUEST: not (document.request or "").strip(),
        }
        why = next((reason for reason, holds in reasons.items() if holds), None)
        earlier = () if why else documents[:index]
        before = [each for each in earlier if each.text != document.text and each.id not in apart]
        if not before:
            left_out[why or NOTHING_BEFORE] += 1
            continue
        request = Request(document.request or "", document.timestamp)
        ranking = ranked(before, retriever.index(before), request)
        past.append(PastText(document.text, request.text, tuple(ranking)))
    return past, left_out


GAPS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of the distances from the best score that are tried as margins


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """The limits on the documents to show: at most k, and none that scores more than the margin below the best."""

    margin: float | None  # None: no margin
    k: int  # documents at most


@dataclass(frozen=True, slots=True)
class Study:
    """The past texts of a calibration, and how the service would draft them."""

    past: tuple[PastText, ...]  # latest first
    template: Template
    instructions: str
    trained: Calibration  # the retriever's
    k: int  # the default
    exactly: bool  # the voice names k, so neither margin nor k is chosen
    max_tokens: int  # of a draft

    @property
    def default(self) -> SelectionRule:
        return SelectionRule(self.trained.margin, self.k)

    @property
    def drafting(self) -> Decoding:
        return Decoding(self.max_tokens, stop=(CLOSING,))

    @property
    def revising(self) -> Decoding:
        return revision_decoding(self.drafting)

    def number_shown(self, text: PastText, showing: SelectionRule) -> int:
        """The number of documents that the service would show for the text with this margin and k."""
        calibration = replace(self.trained, margin=showing.margin)
        return len(choose(text.ranking, showing.k, calibration, exactly=self.exactly))

    def numbers(self, text: PastText) -> list[int]:
        """Return the numbers of documents to draft the text with: 1 to the most, or the most alone if the voice sets
        k."""
        most = self.number_shown(text, SelectionRule(None, self.k))
        return [most] if self.exactly or not most else list(range(1, most + 1))

    def inputs(self, text: PastText, number: int) -> PromptInputs:
        """Make the inputs of the prompt that drafts the text from its ``number`` best documents."""
        best = choose(text.ranking, self.k, replace(self.trained, margin=None), exactly=self.exactly)
        shown = tuple(scored.document for scored in best[:number])
        return PromptInputs(self.template, text.request, shown, self.instructions)

    def draft_prompts(self, writer: CalibrationWriter) -> list[list[Prompt | None]]:
        """Make for each text one prompt per number of documents; None for a prompt that does not fit the model."""
        make = partial(self._draft_prompt, writer)
        return [[make(text, number) for number in self.numbers(text)] for text in self.past]

    def _draft_prompt(self, writer: CalibrationWriter, text: PastText, number: int) -> Prompt | None:
        inputs = self.inputs(text, number)
        return prompt_or_none(partial(draft_prompt, inputs, writer.model, self.max_tokens))

    def revision_prompt(self, writer: CalibrationWriter, text: PastText, number: int, draft: str) -> Prompt | None:
        """Make the prompt that revises a draft of the text; None if it does not fit the model's context."""
        inputs, max_tokens = self.inputs(text, number), self.revising.max_tokens
        return prompt_or_none(partial(revision_prompt, inputs, draft, writer.model, max_tokens))

    def draft(self, text: PastText, number: int, answer: Reply | Failed) -> WrittenText:
        """Read the draft in a reply as the service does, without sentences that repeat the voice's instructions."""
        return self._read(text, number, draft_of(answer), EMPTY_ANSWER)

    def revision(self, text: PastText, number: int, answer: Reply | Failed, prompt: Prompt | None) -> WrittenText:
        """Read the edited draft in a reply to ``prompt``, as :meth:`draft` reads a draft."""
        return self._read(text, number, read_revision(answer, "" if prompt is None else prompt.begun), UNREADABLE)

    def _read(self, text: PastText, number: int, written: WrittenText, nothing: str) -> WrittenText:
        if written.text is None:
            return written
        read, _ = read_text(written.text, Repetitions(self.inputs(text, number)), ())
        return replace(written, text=read or None, failure=None if read else nothing)

    def showings(self) -> list[SelectionRule]:
        """List all pairs of margin and k to try, the default first."""
        gaps = [
            text.top_score - scored.score
            for text in self.past
            for scored in choose(text.ranking, self.k, replace(self.trained, margin=None))[1:]
        ]
        margins = [self.trained.margin, None, *(np.quantile(gaps, GAPS).tolist() if gaps else ())]
        tried = [SelectionRule(margin, k) for k in range(self.k, 0, -1) for margin in dict.fromkeys(margins)]
        return list(dict.fromkeys((self.default, *tried)))


def flat(prompts: Sequence[Sequence[Prompt | None]]) -> list[Prompt | None]:
    """Join the lists of prompts to one list."""
    return list(chain.from_iterable(prompts))


ROUGE_2, BERTSCORE, LIKENESS = "rouge2", "bertscore", "likeness"
LEAST_SHARE = 0.5  # of the past texts; if likeness can score fewer, it is no metric
FOLDS = 5  # a text is scored by a model that has not learned from it


@dataclass(frozen=True, slots=True)
class HeldOutLikeness:
    """Cross-validated likeness models of the person: the model for a past text was fitted without that text."""

    models: Mapping[str, Likeness]  # by past text, without those that likeness cannot score

    @classmethod
    def of(cls, past: Sequence[PastText]) -> HeldOutLikeness:
        """Fit five models to the person's texts, each without a fifth of the past texts and without copies of these."""
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
        """Return the probability that the person wrote each draft, (N,). If it is unknown for one draft of a text, all
        drafts of that text get the mean over the other texts, so that none of them is preferred."""
        scores = np.array([self._score(target, draft) for target, draft in zip(targets, drafts, strict=True)])
        unknown = {target for target, score in zip(targets, scores, strict=True) if np.isnan(score)}
        known = np.array([target not in unknown for target in targets])
        return np.where(known, scores, scores[known].mean() if known.any() else 0.0)

    def _score(self, target: str, draft: str) -> float:
        probability = self.models[target].score(draft).probability if target in self.models else None
        return np.nan if probability is None else probability


def rouge2(target: str, draft: str) -> float:
    """Compute ROUGE-2 F1 as the library ``rouge-score`` does without stemming; base installations lack the library."""
    of_target, of_draft = (Counter(pairwise(words)) for words in map(rouge_words, (target, draft)))
    shared = sum((of_target & of_draft).values())
    if not shared:
        return 0.0
    precision, recall = shared / sum(of_draft.values()), shared / sum(of_target.values())
    return 2 * precision * recall / (precision + recall)


class DraftMeasures:
    """Measures drafts of past texts by ROUGE-2, by BERTScore if the extra ``eval`` is installed, and by likeness if the
    person has enough text."""

    def __init__(self, past: Sequence[PastText], *, bertscore: bool | None = None) -> None:
        """``past``: all texts to draft. ``bertscore``: whether to use BERTScore; None: if it is installed."""
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
        """Return by metric the scores of the drafts, (N,), each draft compared with its past text."""
        targets = [text.target for text in past]
        measured: dict[str, Floats] = {
            ROUGE_2: np.array([rouge2(target, draft) for target, draft in zip(targets, drafts, strict=True)])
        }
        if LIKENESS not in self.left_out:
            measured[LIKENESS] = self._likeness.measure(targets, drafts)
        if self._bertscore is not None:
            measured[BERTSCORE] = np.asarray(self._bertscore.scores(targets, drafts), np.float64)
        return {name: measured[name] for name in self.names}


def combined(values: Mapping[str, Floats]) -> Floats:
    """Return the mean of the metrics, (N, O), each divided by its standard deviation; a constant metric adds
    nothing."""
    scaled = [scores / scores.std() if scores.std() > 0 else np.zeros_like(scores) for scores in values.values()]
    return np.asarray(np.mean(scaled, axis=0))
