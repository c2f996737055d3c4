"""The person's own model at work: what is kept is not asked again, and no more is spent than allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pearl.asking.ask import AskedModel, AskingOutcome, Terms, elicit, replies, survey
from pearl.asking.cost import NO_PRICES, Prices, Survey
from pearl.asking.kept import Question, ReplyStore
from pearl.asking.patience import UNWATCHED, Failed, Watch, asking
from pearl.budget import Budget
from pearl.chat.base import ChatModel, Decoding, Message, Reply
from pearl.errors import ContextExceeded
from pearl.prompts import Prompt
from service.process.threads import in_thread


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """The limits of a calibration: prices, the highest cost, time, and calls under way at once."""

    prices: Prices = NO_PRICES
    max_cost: float | None = None
    budget: Budget = field(default_factory=lambda: Budget(None))
    in_flight: int = 8


class CalibrationWriter:
    """Writes what prompts ask for. ``identity`` is what the keys of kept replies call the model; ``check`` is called
    before each request, and raises where none is to be made any more."""

    def __init__(
        self,
        model: ChatModel,
        identity: str,
        store: ReplyStore,
        limits: SpendingLimits,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self.model = model
        self._identity = identity
        self._kept = store
        self._limits = limits
        self._check = check
        self.watch: Callable[[str, int], Watch] = lambda label, total: UNWATCHED
        self.asked: list[AskingOutcome] = []

    def survey(self, prompts: Sequence[Prompt | None], decoding: Decoding) -> Survey:
        """The calls that the prompts take, at most."""
        return survey(self._asked(decoding), _questions(prompts), self._kept)

    def kept(self, prompts: Sequence[Prompt | None], decoding: Decoding) -> list[Reply | Failed]:
        """The kept reply to each prompt, or a failure where none is."""
        return self._answers(prompts, decoding, AskingOutcome())

    async def write(
        self, label: str, prompts: Sequence[Prompt | None], decoding: Decoding, share: float
    ) -> list[Reply | Failed]:
        """The reply to each prompt, until ``share`` of the time has passed. Raises ChatError when the endpoint is down,
        PearlError at the highest cost and from ``check``."""
        asked, questions = self._asked(decoding), _questions(prompts)
        limits = self._limits
        spent = sum(run.cost or 0.0 for run in self.asked)
        terms = Terms(
            limits.in_flight,
            limits.prices,
            None if limits.max_cost is None else max(limits.max_cost - spent, 0.0),
            limits.budget.until(share),
            refuse_empty=True,
        )
        watch = self.watch(label, survey(asked, questions, self._kept).missing)
        done = await elicit(asked, questions, self._kept, terms, watch)
        self.asked.append(done)
        return self._answers(prompts, decoding, done)

    def _answers(
        self, prompts: Sequence[Prompt | None], decoding: Decoding, done: AskingOutcome
    ) -> list[Reply | Failed]:
        """The answer to each prompt after a run; a prompt that does not fit the model fails."""
        answers = iter(replies(self._asked(decoding), _questions(prompts), self._kept, done))
        return [Failed(ContextExceeded.default_code) if prompt is None else next(answers) for prompt in prompts]

    def _asked(self, decoding: Decoding) -> AskedModel:
        ask = asking(self.model)

        async def checked(messages: Sequence[Message], decoding: Decoding) -> Reply:
            await in_thread(self._check)
            return await ask(messages, decoding)

        return AskedModel(checked, self._identity, decoding, self.model.count_tokens, self.model.name)


def _questions(prompts: Sequence[Prompt | None]) -> list[Question]:
    return [Question(prompt.messages) for prompt in prompts if prompt is not None]
