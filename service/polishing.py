"""The last step of a draft: its quality, and the best of several edits of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from pearl.chat.base import ChatModel
from pearl.clock import Clock
from pearl.editing.best_of import Balance, Likenesses, Rewards, Selection, select
from pearl.editing.candidates import Candidate, failures, refused_edits, write_candidates
from pearl.errors import InputError
from pearl.records import Draft, Editing
from pearl.settings import Settings
from service.threads import in_thread


@dataclass(frozen=True, slots=True)
class Wish:
    """The candidates that a draft is to have, the instructions that hold for them, and when the draft was begun."""

    candidates: int
    instructions: str = ""
    began: float | None = None


@dataclass(frozen=True, slots=True)
class Polisher:
    """``rewards`` are the scores of the reward model; ``budget_s`` is the time that a draft's candidates have."""

    rewards: Rewards
    budget_s: float
    balance: Balance

    async def polish(
        self, model: ChatModel, draft: Draft, wish: Wish, clock: Clock, likenesses: Likenesses | None = None
    ) -> Draft:
        """The draft with its quality and, where candidates are wished for, the best of them in its place."""
        if not wish.candidates:
            with clock.stage("score_ms"):
                quality = await in_thread(self.rewards, [draft.text])
            return replace(draft, quality=float(quality[0]))
        with clock.stage("edit_ms"):
            found, usage = await write_candidates(
                model, draft.text, wish.instructions, wish.candidates, self.budget_s, wish.began
            )
        texts = [candidate.text for candidate in found]
        with clock.stage("score_ms"):
            chosen = await in_thread(select, draft.text, texts, self.rewards, likenesses, self.balance)
        return _with_choice(replace(draft, usage=draft.usage + usage), found, chosen)


def _with_choice(draft: Draft, found: list[Candidate], chosen: Selection) -> Draft:
    best = None if chosen.best is None else found[chosen.best]
    scores = chosen.draft if chosen.best is None else chosen.scores[chosen.best]
    execution = None if best is None else best.execution
    assert scores is not None
    editing = Editing(
        candidates=len(found),
        failed=failures(found),
        dropped=dict(Counter(chosen.dropped.values())),
        refused=refused_edits(found),
        chosen=execution is not None,
        draft=chosen.draft,
        choice=scores,
        first_text=draft.text,
        edits=() if execution is None else execution.placed,
    )
    text = draft.text if execution is None else execution.text
    return replace(draft, text=text, quality=scores.quality, editing=editing)


def make_polisher(settings: Settings, rewards: Rewards | None = None) -> Polisher | None:
    """The polisher of the settings; None where no reward model is named. ``rewards`` take the model's place.

    Raises InputError for a reward model that cannot be used.
    """
    if rewards is None:
        if settings.reward_model is None:
            return None
        rewards = _load(settings.reward_model)
    return Polisher(rewards, settings.candidates_budget_s, Balance(settings.likeness_weight, settings.likeness_margin))


def _load(name: str) -> Rewards:
    from retriever.reward.model import RewardModel

    try:
        model = RewardModel.load(name)
    except InputError as error:
        raise InputError(f"PEARL_REWARD_MODEL={name!r}: {error.message}", code="invalid_setting") from error
    if not model.scores_paragraphs:
        raise InputError(
            f"PEARL_REWARD_MODEL={name!r}: decides pairs and gives no scores; train one with --variant R or PR.",
            code="invalid_setting",
        )
    return model.score


def check_wish(candidates: int, polisher: Polisher | None) -> None:
    """Check that something can choose among the candidates. Raises InputError if nothing can."""
    if candidates and polisher is None:
        raise InputError(
            "'candidates' needs a reward model to choose by: set PEARL_REWARD_MODEL to a folder or 'embedded'.",
            param="candidates",
            code="no_reward_model",
        )
