"""Candidates whose replies are kept: for the command line and for measuring, where a run may be repeated."""

from __future__ import annotations

from dataclasses import dataclass

from pearl.asking.ask import Asked, AskedModel, Terms, elicit, replies
from pearl.asking.kept import Question, ReplyStore
from pearl.asking.patience import Watch, asking
from pearl.chat.base import ChatModel
from pearl.editing.candidates import Candidate, candidate_of
from pearl.editing.prompt import prompt_for
from pearl.errors import ContextExceeded


@dataclass(frozen=True, slots=True)
class EditorDesk:
    """A place to edit drafts: the model, its identity in the keys of its replies, the kept replies, and the limits."""

    model: ChatModel
    identity: str
    kept: ReplyStore
    terms: Terms

    async def candidates(
        self, draft: str, count: int, watch: Watch, instructions: str = ""
    ) -> tuple[list[Candidate], Asked]:
        """``count`` candidates, and what asking for those without a kept reply came to. Raises ChatError when the model
        is down, PearlError at the cap on cost."""
        try:
            messages, decoding = prompt_for(self.model, draft, instructions)
        except ContextExceeded as error:
            return [Candidate(None, error.code)] * count, Asked()
        editor = AskedModel(asking(self.model), self.identity, decoding, self.model.count_tokens, self.model.name)
        questions = [Question(messages, sample) for sample in range(count)]
        asked = await elicit(editor, questions, self.kept, self.terms, watch)
        found = replies(editor, questions, self.kept, asked)
        return [candidate_of(draft, reply, begun=self.model.continues) for reply in found], asked
