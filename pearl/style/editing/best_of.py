"""Chooses the best of several edited drafts by reward (papers/writing-quality-rewards.txt, sections 5.2 and 6).

Candidates with a lower reward than the draft are dropped, the best of the rest is chosen, and a random one of them is
the control. Where the draft's likeness to the writer is known, likeness counts with a weight, and a candidate whose
likeness is below the draft's by more than a margin is never chosen.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pearl.records import Editing, TextScores
from pearl.stats.bootstrap import Floats
from pearl.style.editing.candidates import Candidate, failures, refused_edits
from pearl.style.editing.edits import replaced

Rewards = Callable[[Sequence[str]], Floats]  # quality from 1 to 10, higher is better
Likenesses = Callable[[Sequence[str]], Sequence[float | None]]  # P(this person wrote it); None if unknown
LOWEST, HIGHEST = 1.0, 10.0
BELOW, LESS_LIKELY = "below_draft", "less_likely_theirs"


@dataclass(frozen=True, slots=True)
class Balance:
    """The weight of likeness against quality, both on a scale from 0 to 1, and how much likeness may be lost."""

    weight: float = 0.3  # of likeness; quality has the rest
    margin: float = 0.1  # likeness that a candidate may lose


@dataclass(frozen=True, slots=True)
class EditSelection:
    """The candidate chosen, the random control, and the scores of all."""

    draft: TextScores
    scores: tuple[TextScores | None, ...]  # None for candidates without a text
    dropped: dict[int, str]  # the reason, by the candidate's index
    best: int | None  # index of the candidate; None: the draft stays
    random: int | None  # index of the control; None: no candidate is eligible

    @property
    def scores_of_choice(self) -> TextScores:
        """The scores of the best candidate, or of the draft if it stays."""
        return self.draft if self.best is None else self.scores[self.best] or self.draft


def select(
    draft: str,
    texts: Sequence[str | None],
    rewards: Rewards,
    likenesses: Likenesses | None = None,
    balance: Balance = Balance(),
    seed: int = 0,
) -> EditSelection:
    """Score the draft and its candidates, and choose the best candidate. ``texts``: the candidates, None for one that
    failed; ``seed``: of the random control, which also depends on the draft."""
    distinct = list(dict.fromkeys([draft, *(text for text in texts if text is not None)]))
    quality = np.asarray(rewards(distinct), np.float64)
    likeness = [None] * len(distinct) if likenesses is None else likenesses(distinct)
    by_text = {
        text: TextScores(float(reward), like) for text, reward, like in zip(distinct, quality, likeness, strict=True)
    }
    before = by_text[draft]
    scores = tuple(None if text is None else by_text[text] for text in texts)
    scored = {index: candidate for index, candidate in enumerate(scores) if candidate is not None}
    reasons = {index: _drop(candidate, before, balance) for index, candidate in scored.items()}
    eligible = [index for index, reason in reasons.items() if reason is None]
    compared = before.likeness is not None
    best = max(eligible, key=lambda index: _value(scored[index], balance, compared), default=None)
    if best is not None and _value(scored[best], balance, compared) <= _value(before, balance, compared):
        best = None
    control = random.Random(f"{seed} {draft}").choice(eligible) if eligible else None
    dropped = {index: reason for index, reason in reasons.items() if reason is not None}
    return EditSelection(before, scores, dropped, best, control)


def _drop(candidate: TextScores, draft: TextScores, balance: Balance) -> str | None:
    if candidate.quality < draft.quality:
        return BELOW
    if draft.likeness is None:
        return None
    unlikely = candidate.likeness is None or candidate.likeness < draft.likeness - balance.margin
    return LESS_LIKELY if unlikely else None


def _value(scores: TextScores, balance: Balance, compared: bool) -> float:
    """Quality and likeness in one number; quality alone where the likeness of the draft is not known."""
    quality = (scores.quality - LOWEST) / (HIGHEST - LOWEST)
    if not compared or scores.likeness is None:
        return quality
    return (1 - balance.weight) * quality + balance.weight * scores.likeness


def editing_of(draft: str, candidates: Sequence[Candidate], chosen: EditSelection) -> Editing:
    """Make the record of an editing: the numbers of candidates and edits, the choice, and the chosen edits."""
    execution = None if chosen.best is None else candidates[chosen.best].execution
    return Editing(
        candidates=len(candidates),
        failed=failures(candidates),
        dropped=dict(Counter(chosen.dropped.values())),
        refused=refused_edits(candidates),
        chosen=execution is not None,
        draft=chosen.draft,
        choice=chosen.scores_of_choice,
        first_text=draft,
        edits=() if execution is None else execution.placed,
    )


def only_edit(draft: str, candidate: Candidate) -> Editing:
    """Make the record of an editing with one candidate, which is taken without a score."""
    placed = () if candidate.execution is None else candidate.execution.placed
    return Editing(1, failures([candidate]), {}, refused_edits([candidate]), bool(placed), None, None, draft, placed)


def edited_text(editing: Editing) -> str:
    """Return the draft with the chosen edits made."""
    return replaced(editing.first_text, editing.edits)
