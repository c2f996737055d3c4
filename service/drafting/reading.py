"""Read a model's answer as a draft while it streams: drop what is not its text, and end it where it should end."""

from __future__ import annotations

from collections.abc import Sequence

from pearl.errors import ChatRefused
from pearl.models.chat.base import Chunk
from pearl.models.prompts import Prompt, PromptInputs, edited_draft
from pearl.records import Note
from pearl.text.answers.assistant import AssistantFilter, answers_as_assistant
from pearl.text.answers.loops import LoopFilter
from pearl.text.answers.marks import MarkFilter
from pearl.text.usable import counted, storable
from service.drafting.edged import UNFRAMED, Frame, FrameFilter
from service.drafting.repetition import RepetitionFilter, Repetitions
from service.drafting.stops import StopFilter
from service.process.threads import in_reading_thread

LONG = 2000  # characters; a longer piece is read off the event loop, since reading it takes milliseconds
UNMARKED_REASONING = "The model began with reasoning that it did not mark; ask again, and it will be left out."
ASKED_AGAIN = Note(
    "asked_again", "The model first answered as an assistant, to somebody else, or nothing; this is a later answer."
)
AS_ASSISTANT = Note(
    "as_assistant", "The model answered as an assistant, when asked again as well: say more in the request."
)
IN_CIRCLES = Note("in_circles", "The model began to repeat itself; the draft ends before that: check its end.")


class Reading:
    """Takes a model's answer in pieces of any size, and returns the draft in it."""

    def __init__(
        self,
        repetitions: Repetitions,
        stop: Sequence[str] = (),
        frame: Frame = UNFRAMED,
        begun: str = "",
        *,
        hold_reasoning: bool = False,
    ) -> None:
        """``begun``: the beginning of the answer, which the prompt already has; ``frame``: the edges of the draft."""
        self.thinks_unmarked = hold_reasoning  # the model marks only where its reasoning ends
        self._frame, self._begun = frame, begun
        self._repetitions = repetitions
        self._stop_texts = stop
        self._answer: list[str] = []
        self._given: list[str] = []
        self.second: Prompt | None = None  # of the second answer, if the first was an assistant's
        self._last = False  # this answer is taken as it is
        self._begin(hold_reasoning=hold_reasoning)

    def _begin(self, *, hold_reasoning: bool) -> None:
        self._marks = MarkFilter(hold_reasoning=hold_reasoning)
        self._assistant = AssistantFilter()
        self._repetition = RepetitionFilter(self._repetitions)
        self._loops = LoopFilter()
        self._stops = StopFilter(self._stop_texts)
        self._framed = FrameFilter(self._frame, checked=not self._last)
        self._marks.feed(self._begun)

    @property
    def text(self) -> str:
        """The draft so far."""
        return self._frame.edges.before + "".join(self._given)

    @property
    def written(self) -> bool:
        """True if the model wrote a part of the draft."""
        return any(self._given)

    @property
    def notes(self) -> list[Note]:
        """Notes on what was wrong with the answer."""
        found = [*notes_on(self._repetition, self._loops), *self._framed.notes]
        if self.second is None:
            return found
        as_before = answers_as_assistant("".join(self._given))
        return [AS_ASSISTANT if as_before else ASKED_AGAIN, *found]

    @property
    def ended(self) -> bool:
        """True when no more is read: after a stop text or a sign-off, in a loop, or in an answer as an assistant."""
        return self._stops.ended or self._loops.ended or self._assistant.found or self._framed.ended

    @property
    def missed(self) -> bool:
        """True if the text speaks about its addressee instead of to them; it is not returned."""
        return self._framed.missed

    def begin_again(self, prompt: Prompt, *, last: bool) -> None:
        """Read another answer, to ``prompt``, in place of the first; the ``last`` one need not speak to its
        addressee."""
        self.second, self._answer, self._begun, self._last = prompt, [], prompt.begun, last
        self._begin(hold_reasoning=self.thinks_unmarked)

    async def read(self, chunk: Chunk) -> str:
        """Read a chunk as :meth:`feed` does, and finish after the last one; a long piece is read in another thread."""
        long = len(chunk.text) > LONG
        text = await in_reading_thread(self.feed, chunk.text) if long else self.feed(chunk.text)
        if not chunk.finish_reason:
            return text + (self.close() if self.ended else "")
        cut_off = chunk.finish_reason == "length"
        return text + (await in_reading_thread(self.finish, cut_off) if len(self.text) > LONG else self.finish(cut_off))

    def feed(self, piece: str) -> str:
        """Read a piece; return the part of the draft that is now final. Raises ChatRefused for unmarked reasoning."""
        piece = storable(piece)
        self._answer.append(piece)
        text = self._marks.feed(piece)
        if self._marks.leaked and not self.thinks_unmarked:
            self.thinks_unmarked = True
            if self.written:
                raise ChatRefused(UNMARKED_REASONING)
            self._begin(hold_reasoning=True)  # the other filters hold reasoning back, too
            text = self._marks.feed("".join(self._answer))
        return self._give(self._stops.feed(self._loops.feed(self._repetition.feed(self._checked(text)))))

    def close(self) -> str:
        """End a draft before its answer ends; return its rest, without the person's sign-off after a stop text."""
        if self._assistant.found or self.missed:
            return ""
        rest = self._framed.finish(cut_off=self._stops.ended)
        self._given.append(rest)
        return rest

    def finish(self, cut_off: bool = False) -> str:
        """End the draft with its answer; return its rest, with the person's sign-off unless it was ``cut_off``."""
        rest = self._checked(self._marks.finish()) + ("" if self.second else self._assistant.finish())
        text = self._loops.feed(self._repetition.feed(rest) + self._repetition.finish())
        given = self._give(self._stops.feed(text + self._loops.finish()) + self._stops.finish())
        rest = self._framed.finish(cut_off=cut_off or self._stops.ended)
        self._given.append(rest)
        return given + rest

    def _checked(self, text: str) -> str:
        return text if self.second else self._assistant.feed(text)

    def _give(self, text: str) -> str:
        text = self._framed.feed(text)
        self._given.append(text)
        return text


def read_text(text: str, repetitions: Repetitions, stop: Sequence[str]) -> tuple[str, list[Note]]:
    """Cut repetitions and loops from the draft in an answer, and end the draft at a stop text; return it, and notes on
    what was cut."""
    repetition, loops, stops = RepetitionFilter(repetitions), LoopFilter(), StopFilter(stop)
    read = loops.feed(repetition.feed(text) + repetition.finish()) + loops.finish()
    return (stops.feed(read) + stops.finish()).strip(), notes_on(repetition, loops)


def read_revision(
    answer: str, inputs: PromptInputs, stop: Sequence[str], frame: Frame = UNFRAMED
) -> tuple[str, list[Note]]:
    """Read the edited draft in a whole answer as :func:`read_text` does; return it with its edges, or empty."""
    text, notes = read_text(edited_draft(answer) or "", Repetitions(inputs), stop)
    framed = FrameFilter(frame)
    between = framed.feed(text) + framed.finish()
    return (frame.edges.before + between if between else ""), [*notes, *framed.notes]


def notes_on(repetition: RepetitionFilter, loops: LoopFilter) -> list[Note]:
    """Make notes on the sentences that were cut from a draft."""
    notes = []
    if repetition.cut:
        message = f"Left out {counted(repetition.cut, 'sentence')} that repeated the instructions."
        notes.append(Note("instructions_repeated", message))
    if loops.cut:
        notes.append(Note("lines_repeated", f"Left out {counted(loops.cut, 'sentence')} that repeated the one before."))
    if loops.ended:
        notes.append(IN_CIRCLES)
    return notes
