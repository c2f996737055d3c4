"""The last step of a draft: score its quality, and choose the best of several edits of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pearl.clock import Clock
from pearl.errors import InputError
from pearl.models.chat.base import ChatModel
from pearl.records import Draft
from pearl.settings import Settings
from pearl.style.editing.best_of import Likenesses, Rewards, edited_text, editing_of, select
from pearl.style.editing.candidates import write_candidates
from service.histories.likeness import LikenessCache
from service.process.threads import in_thread

CANDIDATES_S = 30.0  # for writing the candidates of a draft; those not finished by then count as failed


@dataclass(frozen=True, slots=True)
class CandidateOrder:
    """Options for candidates, which are edits of a draft to choose among."""

    candidates: int  # how many
    instructions: str = ""
    began: float | None = None  # when the draft was begun, time.monotonic()


@dataclass(frozen=True, slots=True)
class Polisher:
    rewards: Rewards  # the scores of the reward model

    async def quality(self, text: str) -> float:
        """The reward model's score of a text, from 1 to 10."""
        (score,) = await in_thread(self.rewards, [text])
        return float(score)

    async def prefers(self, text: str, draft: str, clock: Clock, likenesses: Likenesses | None = None) -> bool:
        """True if the text would be chosen over the draft, as the only candidate."""
        with clock.stage("score_ms"):
            chosen = await in_thread(select, draft, [text], self.rewards, likenesses)
        return chosen.best is not None

    async def polish(
        self, model: ChatModel, draft: Draft, wanted: CandidateOrder, clock: Clock, likenesses: Likenesses | None = None
    ) -> Draft:
        """Add the draft's quality and, if candidates are wanted, replace its text by the best of them."""
        if not wanted.candidates:
            with clock.stage("score_ms"):
                return replace(draft, quality=await self.quality(draft.text))
        with clock.stage("edit_ms"):
            candidates, usage = await write_candidates(
                model, draft.text, wanted.instructions, wanted.candidates, CANDIDATES_S, wanted.began
            )
        texts = [candidate.text for candidate in candidates]
        with clock.stage("score_ms"):
            chosen = await in_thread(select, draft.text, texts, self.rewards, likenesses)
        editing = editing_of(draft.text, candidates, chosen)
        quality = chosen.scores_of_choice.quality
        return replace(draft, text=edited_text(editing), usage=draft.usage + usage, quality=quality, editing=editing)


def likeness_scores(
    likenesses: LikenessCache, user_id: int, voice: str | None, texts: Sequence[str]
) -> list[float | None]:
    """Return the probability that the user wrote each text; None if that cannot be said."""
    person = likenesses.get(user_id, voice)
    return [person.score(text).probability for text in texts]


def make_polisher(settings: Settings, rewards: Rewards | None = None) -> Polisher | None:
    """Make the polisher that the settings describe; None if they name no reward model. ``rewards`` replace that model.

    Raises InputError for a reward model that cannot be used.
    """
    if rewards is None:
        if settings.reward_model is None:
            return None
        from retriever.reward.model import load_scores

        try:
            rewards = load_scores(settings.reward_model, f"PEARL_REWARD_MODEL={settings.reward_model!r}")
        except InputError as error:
            raise InputError(error.message, code="invalid_setting") from error
    return Polisher(rewards)


def check_wish(candidates: int, polisher: Polisher | None) -> None:
    """Check that there is a reward model if candidates are asked for. Raises InputError if there is none."""
    if candidates and polisher is None:
        raise InputError(
            "'candidates' needs a reward model to choose by: set PEARL_REWARD_MODEL to a folder or 'embedded'.",
            param="candidates",
            code="no_reward_model",
        )
