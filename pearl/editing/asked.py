"""Candidates whose replies are kept: for the command line and for measuring, where a run may be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pearl.asking.ask import AskedModel, AskingOutcome, Terms, elicit, replies
from pearl.asking.kept import Question, ReplyStore
from pearl.asking.patience import UNWATCHED, Failed, Watch, asking
from pearl.chat.base import ChatModel, Decoding, Message, Reply
from pearl.editing.candidates import Candidate, candidate_of
from pearl.editing.prompt import prompt_for
from pearl.editing.steps import candidate_in_steps
from pearl.errors import ContextExceeded


@dataclass(frozen=True, slots=True)
class EditingContext:
    """The model that edits drafts, and the limits it edits in."""

    model: ChatModel
    identity: str  # of the model, in the keys of its replies
    kept: ReplyStore
    terms: Terms

    async def candidates(
        self, draft: str, count: int, watch: Watch, instructions: str = ""
    ) -> tuple[list[Candidate], AskingOutcome]:
        """Ask for ``count`` candidates; return them, and the outcome of asking for those without a kept reply. Raises
        ChatError when the model is down, PearlError at the cap on cost."""
        if self.model.continues:
            return await self._in_steps(draft, count, watch, instructions)
        try:
            messages, decoding = prompt_for(self.model, draft, instructions)
        except ContextExceeded as error:
            return [Candidate(None, error.code)] * count, AskingOutcome()
        editor, questions = self._editor(decoding), [Question(messages, sample) for sample in range(count)]
        outcome = await elicit(editor, questions, self.kept, self.terms, watch)
        return [candidate_of(draft, reply) for reply in replies(editor, questions, self.kept, outcome)], outcome

    async def _in_steps(
        self, draft: str, count: int, watch: Watch, instructions: str
    ) -> tuple[list[Candidate], AskingOutcome]:
        """Ask for one candidate after the other, since such a model runs on this machine."""
        total, candidates = AskingOutcome(), []

        async def say(messages: Sequence[Message], decoding: Decoding) -> Reply | Failed:
            editor, question = self._editor(decoding), Question(tuple(messages), decoding.seed)
            outcome = await elicit(editor, [question], self.kept, self.terms, UNWATCHED)
            total.calls, total.seconds = total.calls + outcome.calls, total.seconds + outcome.seconds
            total.repeated, total.usage = total.repeated + outcome.repeated, total.usage + outcome.usage
            total.failed |= outcome.failed
            return next(replies(editor, [question], self.kept, outcome))

        for sample in range(count):
            candidates.append(await candidate_in_steps(say, draft, instructions, sample))
            watch.advance(candidates[-1].text is None)
        return candidates, total

    def _editor(self, decoding: Decoding) -> AskedModel:
        return AskedModel(asking(self.model), self.identity, decoding, self.model.count_tokens, self.model.name)
