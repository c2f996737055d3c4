"""Ask the person's chat model for drafts: use kept replies again, and spend no more than allowed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pearl.clock import Budget
from pearl.errors import ContextExceeded
from pearl.models.asking.ask import AskedModel, AskingOutcome, CallLimits, ask_all, replies, survey
from pearl.models.asking.cost import NO_PRICES, CallEstimate
from pearl.models.asking.kept import Question, ReplyStore
from pearl.models.asking.patience import UNREPORTED, Failed, ProgressReporter, asking
from pearl.models.chat.base import ChatModel, Decoding, Message, Reply
from pearl.models.prompts import Prompt
from pearl.records import Prices
from service.process.threads import in_thread


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """The limits of a calibration: cost, time, and the number of calls at once."""

    prices: Prices = NO_PRICES
    max_cost: float | None = None
    budget: Budget = field(default_factory=lambda: Budget(None))  # of time
    in_flight: int = 8  # calls at once


class CalibrationWriter:
    """Gets the chat model's replies to prompts. ``identity``: the model's name in the keys of kept replies; ``check``:
    called before each request, and raises an error to stop."""

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
        self.watch: Callable[[str, int], ProgressReporter] = lambda label, total: UNREPORTED
        self.runs: list[AskingOutcome] = []

    def survey(self, prompts: Sequence[Prompt | None], decoding: Decoding) -> CallEstimate:
        """Estimate how many calls and tokens the prompts take at most, and count the replies that are kept already."""
        return survey(self._checked_model(decoding), _questions(prompts), self._kept)

    def kept(self, prompts: Sequence[Prompt | None], decoding: Decoding) -> list[Reply | Failed]:
        """Return the kept reply to each prompt, or a failure if none is kept."""
        return self._answers(prompts, decoding, AskingOutcome())

    async def write(
        self, label: str, prompts: Sequence[Prompt | None], decoding: Decoding, share: float
    ) -> list[Reply | Failed]:
        """Get a reply to each prompt, until ``share`` (0 to 1) of the allowed time is used up. Raises ChatError if the
        endpoint is down, PearlError at the spending cap, and what ``check`` raises."""
        model, questions = self._checked_model(decoding), _questions(prompts)
        given = self._limits
        spent = sum(run.cost or 0.0 for run in self.runs)
        limits = CallLimits(
            given.in_flight,
            given.prices,
            None if given.max_cost is None else max(given.max_cost - spent, 0.0),
            go_on=given.budget.until(share),
            refuse_empty=True,
        )
        watch = self.watch(label, survey(model, questions, self._kept).missing)
        done = await ask_all(model, questions, self._kept, limits, watch)
        self.runs.append(done)
        return self._answers(prompts, decoding, done)

    def _answers(
        self, prompts: Sequence[Prompt | None], decoding: Decoding, done: AskingOutcome
    ) -> list[Reply | Failed]:
        """Return the reply to each prompt after a run, or a failure, also for a prompt that does not fit the model."""
        answers = iter(replies(self._checked_model(decoding), _questions(prompts), self._kept, done))
        return [Failed(ContextExceeded.default_code) if prompt is None else next(answers) for prompt in prompts]

    def _checked_model(self, decoding: Decoding) -> AskedModel:
        ask = asking(self.model)

        async def checked(messages: Sequence[Message], decoding: Decoding) -> Reply:
            await in_thread(self._check)
            return await ask(messages, decoding)

        return AskedModel(checked, self._identity, decoding, self.model.count_tokens, self.model.name)


def _questions(prompts: Sequence[Prompt | None]) -> list[Question]:
    return [Question(prompt.messages) for prompt in prompts if prompt is not None]
