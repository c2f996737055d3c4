"""The drafting pipeline: retrieve, prompt, generate, decide on revision, revise, polish, record."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

from sqlalchemy import Connection

from pearl.clock import Clock
from pearl.errors import ChatError, ChatRefused, ContextExceeded, InputError
from pearl.models.chat.base import ChatModel, Chunk, Decoding, PromptRead, complete, joined
from pearl.models.prompts import (
    InTime,
    Prompt,
    PromptInputs,
    draft_prompt,
    language_to_name,
    listed_questions,
    questions_prompt,
    revision_decoding,
    revision_prompt,
    second_prompt,
)
from pearl.records import Claim, Document, Draft, Note, Request, Retrieval, Revision, ScoredDocument, Usage, Variant
from pearl.style.claims.claims import CARRIED_OVER, Sample, claims
from pearl.style.editing.best_of import Likenesses
from pearl.style.manner.edges import LOOKED_AT, NOTED, request_role
from pearl.style.manner.ends import body_end
from pearl.style.manner.subjects import MessageForm
from pearl.text.answers.marks import CLOSING
from pearl.text.templates import Template, change_template, load_template
from pearl.text.usable import counted, storable
from retriever.base import Calibration, choose
from service.drafting.deciding import DecisionPoint, decision_point
from service.drafting.edged import UNFRAMED, Frame, frame_of
from service.drafting.evidence import Shortlist, evidence
from service.drafting.polishing import CandidateOrder, Polisher, check_wish, likeness_scores
from service.drafting.reading import Reading, read_revision
from service.drafting.repetition import Repetitions
from service.drafting.turns import NOTHING_BEFORE, Conversation, in_context
from service.drafting.variants import NewText, Variation, failed, same_text
from service.histories.history_cache import HistoryCache
from service.histories.likeness import LikenessCache
from service.process.threads import FairThreads, in_reading_thread, in_thread, in_writing_thread
from service.store import calibrations, drafts, profiles, voices
from service.store.calibrations import CalibrationKey
from service.store.database import Database
from service.store.ids import new_id
from service.store.users import User
from service.store.voices import Voice

AUTO, NEVER, ALWAYS = "auto", "never", "always"
NEEDS_INPUT = "needs_input"
SHOWN_IN_TIME = 1  # documents; four are no better for a model that PEARL runs, and take twice as long to read
ATTEMPTS = 3  # at an answer that is a draft
BELOW_THRESHOLD = "The best document scored below the threshold."


@dataclass(frozen=True, slots=True)
class DraftJob:
    """A job for the drafting pipeline: a request, and how to write its draft."""

    request: str
    voice: str | None = None  # None: the whole history
    instructions: str = ""
    k: int | None = None  # documents shown; None: as the voice, the calibration or the template says
    revise: str = AUTO  # or NEVER, ALWAYS
    candidates: int = 0  # edits of the draft, the best of which replaces it
    variants: int = 1  # different texts to write
    before: Conversation = NOTHING_BEFORE
    stop: tuple[str, ...] = ()  # the draft ends before the first of these texts
    decoding: Decoding = field(default_factory=lambda: Decoding(stop=(CLOSING,)))
    limit: str = "max_tokens"  # the request's field for the most tokens, named in errors
    template: Template | None = None  # in place of the voice's
    shown_as: Callable[[Document], Document] = lambda document: document  # the form of a document in the prompt
    recipient: str | None = None  # whom the text is for, as documents name theirs
    thread: str | None = None  # the conversation it belongs to
    length: str | int | None = None  # one of LENGTHS, or words; the instructions say it, too
    edges: bool | None = None  # begin and end as the person does, by rule; None: as the voice says
    instead_of: Document | None = None  # draft as if this text were not there yet; ask nothing, and record nothing
    elsewhere: bool = False  # a model outside this machine will see the documents, whichever writes


@dataclass(frozen=True, slots=True)
class Embedding:
    """An event before a command's draft: the progress, ``embedded`` of ``texts``, of embedding the user's texts."""

    embedded: int
    texts: int


@dataclass(frozen=True, slots=True)
class Retrieved:
    """An event: the documents are chosen; the text comes next."""

    draft_id: str
    retrieval: Retrieval


@dataclass(frozen=True, slots=True)
class Delta:
    """An event: the next piece of the draft's final text."""

    text: str
    variant: int = 0  # index of the text


@dataclass(frozen=True, slots=True)
class Ended:
    """An event: one of several variants is written."""

    index: int
    variant: Variant


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event: the draft is complete, and has been recorded if its job allows that."""

    draft: Draft


Event = Retrieved | PromptRead | Delta | Ended | Finished
OnRecord = Callable[[Connection, Draft], None]


@dataclass(frozen=True, slots=True)
class _Writing:
    """A text to write: its documents are chosen, its prompt is made."""

    job: DraftJob
    shortlist: Shortlist
    inputs: PromptInputs
    prompt: Prompt
    frame: Frame
    draft: Draft  # with the decision on its revision, without a text


class Drafter:
    """Writes drafts for users from what they wrote before."""

    def __init__(
        self,
        database: Database,
        histories: HistoryCache,
        model: ChatModel,
        threads: FairThreads,
        *,
        retrieval_budget_ms: float | None = None,
        revise_below: str | None = None,
        polisher: Polisher | None = None,
        likenesses: LikenessCache | None = None,
        tells_likeness: bool = False,
        reads: Callable[[str], bool] | None = None,
        here: bool = True,
        in_time: InTime | None = None,
    ) -> None:
        """``threads`` run the retrieval, which may take ``retrieval_budget_ms`` with the wait for a thread.
        ``revise_below``: theta in words, in place of the retriever's. ``polisher``: scores drafts and chooses among
        edits of them, also by likeness if there are ``likenesses``. ``tells_likeness``: every draft gets its likeness.
        ``reads``: tells whether the retriever's encoder knows a word of a request. ``here``: the model runs on this
        machine; otherwise texts of local-only voices are not shown to it. ``in_time``: tells how long a prompt may be,
        for a model that reads slowly."""
        self._database = database
        self._histories = histories
        self._threads = threads
        self._budget_ms = retrieval_budget_ms
        self._revise_below = revise_below
        self._polisher = polisher
        self._likenesses = likenesses
        self._tells_likeness = tells_likeness
        self._reads = reads
        self._in_time = in_time
        self._thinks_unmarked = False  # the model does not mark where its reasoning begins
        self.model = model
        self.here = here

    def check(self, user: User, job: DraftJob) -> None:
        """Check, before any work, that a job does not fail with every history: for an unknown or a local-only voice,
        candidates without a reward model, or a request too long for a prompt. Raises what :meth:`draft` raises."""
        check_wish(job.candidates, self._polisher)
        with self._database.read() as connection:
            voice, _ = self._voice(connection, user, replace(job, elsewhere=job.elsewhere or not self.here))
        self._prompt(voice, job.request, (), job)

    async def draft(
        self, user: User, job: DraftJob, on_record: OnRecord = lambda connection, draft: None
    ) -> AsyncGenerator[Event, None]:
        """Write and record a draft. Yield Retrieved, then Deltas of the final text as it is written, and last Finished;
        also PromptRead while a model of this machine reads, and Ended after each of several variants. ``on_record`` is
        called in the transaction that records the draft.

        Raises NotFound (voice, user), Overloaded, InputError, ChatError, StoreError. Closing the iterator stops the
        generation.
        """
        check_wish(job.candidates, self._polisher)
        clock, draft_id = Clock(), new_id("draft")
        decoding = replace(job.decoding, began=time.monotonic())
        job = replace(job, decoding=decoding, elsewhere=job.elsewhere or not self.here)
        writing = await self._prepare(user, job, draft_id, clock)
        draft = writing.draft
        yield Retrieved(draft_id, draft.retrieval)

        if draft.revision.reason == NEEDS_INPUT:
            draft = await self._ask(writing.inputs, draft, job, clock)
        if not draft.questions:
            writing = replace(writing, draft=draft)
            async with aclosing(self._write_variants(user, writing, clock)) as events:
                async for item in events:
                    if isinstance(item, Draft):
                        draft = item
                    else:
                        yield item
        with clock.stage("record_ms"):
            if job.instead_of is None:
                job = replace(job, request=writing.inputs.request)
                await in_writing_thread(self._record, user, job, draft, clock, on_record)
        yield Finished(replace(draft, timings=clock.read()))

    async def _write_variants(
        self, user: User, writing: _Writing, clock: Clock
    ) -> AsyncGenerator[PromptRead | Delta | Ended | Draft, None]:
        """Yield each text's Deltas and, if several are wanted, Ended; at last the draft with all of them.

        If the model fails to write a later text, that text and all after it are left out. A text that equals an earlier
        one in both attempts is left out, too.
        """
        wanted = writing.job.variants
        written: list[Draft] = []
        usage, same = Usage(), 0
        notes: tuple[Note, ...] = ()
        for number in range(wanted):
            index, made = len(written), writing.draft
            try:
                for attempt in (0, 1):
                    text = NewText(earlier.text for earlier in written)
                    varied = await self._varied(writing, Variation(number, attempt), clock)
                    async with aclosing(self._write_text(user, varied, clock)) as pieces:
                        async for piece in pieces:
                            if isinstance(piece, Draft):
                                made = piece
                            elif isinstance(piece, PromptRead):
                                yield piece
                            elif given := text.feed(piece.text):
                                yield Delta(given, index)
                    usage += made.usage
                    if text.is_new:
                        break
            except (ChatError, InputError) as error:
                if not written:
                    raise
                notes = (failed(wanted - number, error),)
                break
            if not text.is_new:
                same += 1
                continue
            if rest := text.finish():
                yield Delta(rest, index)
            written.append(made)
            if wanted > 1:
                yield Ended(index, _variant(made))
        notes = (*((same_text(same),) if same else ()), *notes)
        variants = tuple(map(_variant, written)) if wanted > 1 else ()
        yield replace(_with_notes(written[0], *notes), usage=usage, variants=variants)

    async def _varied(self, writing: _Writing, variation: Variation, clock: Clock) -> _Writing:
        """Prepare a variant: other documents next to the request, and other decoding; the first text stays as it is."""
        if not variation.number:
            return writing
        job = replace(writing.job, decoding=variation.decoding(writing.job.decoding))
        shortlist = variation.shortlist(writing.shortlist)
        shown = tuple(job.shown_as(scored.document) for scored in shortlist.chosen)
        inputs = replace(writing.inputs, documents=shown)
        with clock.stage("prompt_ms"):
            prompt = await in_thread(draft_prompt, inputs, self.model, job.decoding.max_tokens)
        draft = replace(writing.draft, retrieval=evidence(shortlist, job.voice, prompt), usage=Usage())
        return _Writing(job, shortlist, inputs, prompt, writing.frame, draft)

    async def _write_text(
        self, user: User, writing: _Writing, clock: Clock
    ) -> AsyncGenerator[PromptRead | Delta | Draft, None]:
        """Yield Deltas of the text, revised and polished if that is wanted, and the draft with its claims."""
        job, inputs, draft, decision = writing.job, writing.inputs, writing.draft, writing.draft.revision
        wanted = CandidateOrder(job.candidates, inputs.instructions, job.decoding.began)
        # without instructions there is nothing to look for
        repetitions = await in_reading_thread(Repetitions, inputs) if inputs.instructions else Repetitions(inputs)
        reading = Reading(
            repetitions, job.stop, writing.frame, writing.prompt.begun, hold_reasoning=self._thinks_unmarked
        )
        if reading.text and not decision.applied and not wanted.candidates:
            yield Delta(reading.text)  # what is known by rule stands there before the model has read anything
        async with aclosing(self._write(inputs, writing.prompt, job, reading, clock)) as pieces:
            async for piece in pieces:
                if piece.prompt_read:
                    yield piece.prompt_read
                if piece.usage or piece.finish_reason:
                    usage = draft.usage + (piece.usage or Usage())
                    draft = replace(draft, usage=usage, finish_reason=piece.finish_reason or draft.finish_reason)
                if piece.text and not decision.applied and not wanted.candidates:
                    yield Delta(piece.text)
        draft = replace(draft, text=reading.text)
        if reading.second:
            draft = replace(draft, retrieval=evidence(writing.shortlist, job.voice, reading.second))
        likenesses = self._likenesses_of(user, job.voice)
        if decision.applied:
            revised = draft
            async with aclosing(self._revise(writing, draft, clock)) as events:
                async for event in events:
                    if isinstance(event, PromptRead):
                        yield event
                    else:
                        revised = event
            draft = await self._better(draft, revised, likenesses, clock)
        if draft.stage == "draft":
            draft = _with_notes(draft, *reading.notes)
        draft = await self._polish(draft, wanted, likenesses, clock)
        if decision.applied or wanted.candidates:
            yield Delta(draft.text)
        with clock.stage("claims_ms"):
            said = (
                inputs.instructions,
                job.recipient or "",
                *(part for turn in inputs.prior for part in (turn.request or "", turn.text)),
            )
            edges = (writing.frame.edges.before, writing.frame.edges.after)
            found = await in_reading_thread(_claims, draft.text, inputs.request, draft.retrieval, said, (), edges)
            draft = replace(draft, claims=tuple(found))
        if draft.finish_reason == "length":
            message = f"raise PEARL_MAX_DRAFT_TOKENS, or {job.limit} where a request has it."
            draft = _with_notes(draft, Note("cut_off", f"The draft was cut off before its end; {message}"))
        yield draft

    async def examples(self, user: User, job: DraftJob) -> Retrieval:
        """Retrieve the documents that a draft would be written from, without writing a draft. Raises NotFound (voice,
        user), Overloaded, StoreError."""
        return evidence(await self._select(user, job), job.voice)

    async def claims(self, user: User, job: DraftJob, text: str, samples: Sequence[Sample] = ()) -> list[Claim]:
        """Find the claims of a text (what it states beyond the request, or leaves out), checked against ``samples`` and
        the documents that a draft would be written from. Raises what :meth:`examples` raises."""
        shortlist = await self._select(user, job)
        said = (shortlist.voice.instructions, job.instructions)
        shown = evidence(shortlist, job.voice)
        return await in_reading_thread(_claims, text, shortlist.request, shown, said, samples)

    async def _select(self, user: User, job: DraftJob) -> Shortlist:
        clock = Clock(self._budget_ms)
        return await self._threads.run(user.id, self._shortlist, user, job, clock)

    def _shortlist(self, user: User, job: DraftJob, clock: Clock) -> Shortlist:
        voice, point, request, ranking, texts, kept_here = self._retrieve(user, job, clock)
        requested = job.k or voice.k
        usual = (job.template or load_template(voice.template)).k if self._in_time is None else SHOWN_IN_TIME
        k = requested or point.k or usual
        most = choose(ranking, k, point.calibration, exactly=True)
        chosen = most if requested else choose(ranking, k, point.calibration)
        with_any_score = choose(ranking, k, replace(point.calibration, floor=None), exactly=True)
        below_floor = len(with_any_score) - len(most)
        return Shortlist(voice, point, request, ranking, chosen, most, below_floor, clock, kept_here, texts)

    async def _prepare(self, user: User, job: DraftJob, draft_id: str, clock: Clock) -> _Writing:
        """Choose the documents, make the prompt, and decide on a revision, all in one thread to save hand-overs."""
        budget = Clock(self._budget_ms)

        def prepare(job: DraftJob) -> _Writing:
            with clock.stage("retrieve_ms"):
                shortlist = self._shortlist(user, job, budget)
            job = replace(job, edges=shortlist.voice.edges) if job.edges is None else job
            clock.timings |= budget.timings | {"retrieve_ms": budget.read()["total_ms"]}  # with the wait for the thread
            with clock.stage("prompt_ms"):
                frame = self._frame(shortlist, job)
                inputs, prompt = self._prompt(shortlist.voice, shortlist.request, shortlist.chosen, job, frame)
            retrieval, point = evidence(shortlist, job.voice, prompt), shortlist.point
            decision = decide(job.revise, shortlist.ranking, retrieval, point.calibration)
            edges = frame.edges.edges if job.edges else None
            draft = Draft(draft_id, "", "draft", retrieval, decision, decided_by=point.decided_by, edges=edges)
            return _Writing(job, shortlist, inputs, prompt, frame, draft)

        return await self._threads.run(user.id, prepare, job)

    def _frame(self, shortlist: Shortlist, job: DraftJob) -> Frame:
        """Return the frame of the draft (how it begins and ends) from the texts of its voice; without a voice, from
        texts of the best document's voice."""
        if job.edges and job.template == change_template():
            form = MessageForm.of([job.shown_as(text).text for text in shortlist.texts[-LOOKED_AT:]])
            return Frame(mended=partial(form.mended, request=shortlist.request))
        if not job.edges or job.template is not None:
            return UNFRAMED
        nearest = shortlist.ranking[0].document.voice if shortlist.ranking else None
        texts = [text for text in shortlist.texts if job.voice is not None or text.voice == nearest]
        return frame_of(texts, shortlist.request, job.recipient, _instructions(shortlist.voice, job))

    def _prompt(
        self, voice: Voice, request: str, chosen: Sequence[ScoredDocument], job: DraftJob, frame: Frame = UNFRAMED
    ) -> tuple[PromptInputs, Prompt]:
        template = job.template or load_template(voice.template)
        samples = tuple(job.shown_as(shown.document) for shown in chosen)
        instructions = _instructions(voice, job)
        edges, asked_alone = frame.edges.edges, not job.before.exchanges
        role = request_role(request) if template.sent and asked_alone else ""
        inputs = PromptInputs(
            template,
            request,
            samples,
            instructions,
            job.before.exchanges,
            job.request if request != job.request else "",
            language_to_name(job.request, instructions, samples),
            job.length,
            # behind an opening such as "Short answer:" a model repeats a note in place of following it
            frame.edges.greeting if role == NOTED else frame.edges.before,
            role,
            edges.name.text if edges.name else "",
            frame.edges.addressee or "",
            self._in_time,
        )
        return inputs, draft_prompt(inputs, self.model, job.decoding.max_tokens)

    def _likenesses_of(self, user: User, voice: str | None) -> Likenesses | None:
        if self._likenesses is None:
            return None
        return partial(likeness_scores, self._likenesses, user.id, voice)

    async def _better(self, draft: Draft, revised: Draft, likenesses: Likenesses | None, clock: Clock) -> Draft:
        """Return the revision, or the first draft if only the score asked for a revision that is no better."""
        by_score = revised.stage == "revised" and revised.revision.reason == "below_threshold"
        if not self._polisher or not by_score:
            return revised
        if await self._polisher.prefers(revised.text, draft.text, clock, likenesses):
            return revised
        message = "The revision scores no better than the first draft, by quality and likeness."
        return replace(draft, usage=revised.usage, revision=_not_revised("revision_not_better", message))

    async def _polish(self, draft: Draft, wanted: CandidateOrder, likenesses: Likenesses | None, clock: Clock) -> Draft:
        """Add the draft's scores and, if candidates are wanted, replace its text by the best candidate."""
        if self._polisher:
            draft = await self._polisher.polish(self.model, draft, wanted, clock, likenesses)
        if likenesses and self._tells_likeness:
            with clock.stage("likeness_ms"):
                (probability,) = await in_thread(likenesses, [draft.text])
            draft = replace(draft, likeness=probability)
        return draft

    def _voice(self, connection: Connection, user: User, job: DraftJob) -> tuple[Voice, frozenset[str]]:
        """Return the voice of a job, and the names of voices whose texts its model may not see. Raises NotFound, and
        AccessError if the job's voice is one of the latter."""
        voice = profiles.instructed_voice(connection, user.id, job.voice)
        local = voices.local_only(connection, user.id) if job.elsewhere else frozenset()
        if job.voice in local:
            model = f"'{self.model.name}' runs elsewhere"
            raise voices.kept_here(voice.name, "a model that calls tools may run elsewhere" if self.here else model)
        return voice, local

    def _retrieve(
        self, user: User, job: DraftJob, clock: Clock
    ) -> tuple[Voice, DecisionPoint, str, list[ScoredDocument], tuple[Document, ...], int]:
        """Return the voice, its decision point, the request as it follows from the conversation, the request's ranking,
        the voice's texts, and the number of documents left out as local only. Raises NotFound, and AccessError for a
        local-only voice."""
        retriever = self._histories.retriever
        key = CalibrationKey(job.voice, retriever.fingerprint, self.model.name)
        with self._database.read() as connection:
            voice, local = self._voice(connection, user, job)
            stored = calibrations.find(connection, user.id, key)
        if local:  # the card of the whole history may quote their texts
            voice = replace(voice, instructions="") if job.voice is None else voice
        # the trained values alone say what a new subject is: theta by hand does not make untrained scores mean more
        point = decision_point(retriever.calibration, user.name, key, stored, self._revise_below)
        if job.instead_of is not None:
            point = replace(point, calibration=replace(point.calibration, ask_below=None, ask_unrelated=None))
        with clock.stage("history_ms"):
            history = self._histories.get(user.id, job.voice, clock)
        past = job.instead_of
        when = None if past is None else past.timestamp

        def rank(text: str) -> list[ScoredDocument]:
            ranking = history.rank(Request(text, when, job.recipient, job.thread), clock)
            if past is not None:
                ranking = [scored for scored in ranking if _before(scored.document, past)]
            return [scored for scored in ranking if scored.document.voice not in local] if local else ranking

        request, ranking = in_context(job.before.messages, job.request, rank, retriever.calibration)
        clock.not_read = self._reads is not None and bool(ranking) and not self._reads(request)
        texts = tuple(text for text in history.documents if text.voice not in local) if local else history.documents
        kept_here = len(history.documents) - len(texts)
        if past is not None:
            texts = tuple(text for text in texts if _before(text, past))
        return voice, point, request, ranking, texts, kept_here

    async def _ask(self, inputs: PromptInputs, draft: Draft, job: DraftJob, clock: Clock) -> Draft:
        """Ask the model for questions to the user; if it has none, decide on a revision by the score."""
        with clock.stage("ask_ms"):
            # the second limit, a draft's, is for a model that used up the first on its reasoning
            for most in (120, job.decoding.max_tokens):
                decoding = Decoding(max_tokens=most, began=job.decoding.began)
                reply = await complete(self.model, questions_prompt(inputs).messages, decoding)
                draft = replace(draft, usage=draft.usage + reply.usage)
                if questions := await in_reading_thread(listed_questions, storable(reply.text)):
                    return replace(draft, stage="needs_input", questions=questions)
                if reply.finish_reason != "length":
                    break
        return replace(draft, revision=by_score(draft.retrieval))

    async def _write(
        self, inputs: PromptInputs, prompt: Prompt, job: DraftJob, reading: Reading, clock: Clock
    ) -> AsyncGenerator[Chunk, None]:
        """Yield the draft in the answer piece by piece; ask again if the model answers as an assistant, or nothing.
        Raises ChatRefused if no answer has a draft, InputError if an answer was cut off before its draft."""
        finish_reason = None
        with clock.stage("generate_ms"):
            for attempt in range(ATTEMPTS):
                if attempt == 1 and not reading.missed:  # the same prompt is read already
                    prompt = await in_thread(second_prompt, inputs, self.model, job.decoding.max_tokens)
                if attempt:  # by chance: where an author's text has begun, the likeliest answer may be nothing
                    job = replace(job, decoding=Variation(attempt).decoding(job.decoding))
                    reading.begin_again(prompt, last=attempt == ATTEMPTS - 1)
                async with aclosing(self._read(prompt, job, reading)) as chunks:
                    async for chunk in chunks:
                        finish_reason = chunk.finish_reason or finish_reason
                        yield chunk
                if reading.written or finish_reason == "length":
                    break
        if not reading.written and finish_reason == "length":
            raise InputError(
                f"The model used up {counted(job.decoding.max_tokens, 'token')} before the text began; raise "
                f"{job.limit}, or PEARL_MAX_DRAFT_TOKENS where a request names none.",
                param=job.limit,
                code="max_tokens_too_small",
            )
        if not reading.written:
            raise ChatRefused(f"The model '{self.model.name}' answered nothing; rephrase the request.")

    async def _read(self, prompt: Prompt, job: DraftJob, reading: Reading) -> AsyncGenerator[Chunk, None]:
        async with aclosing(self.model.stream(prompt.messages, job.decoding)) as chunks:
            async for chunk in chunks:
                try:
                    text = await reading.read(chunk)
                finally:
                    self._thinks_unmarked = reading.thinks_unmarked
                if reading.ended and not chunk.finish_reason:
                    yield Chunk(text, "stop", await in_thread(self._estimate, prompt, reading.text))
                    break
                yield replace(chunk, text=text)

    def _estimate(self, prompt: Prompt, written: str) -> Usage:
        """Estimate the usage of an answer that was not read to its end, where the model would report it."""
        count = self.model.count_tokens
        return Usage(sum(count(message.content) for message in prompt.messages), count(written))

    async def _revise(self, writing: _Writing, draft: Draft, clock: Clock) -> AsyncGenerator[PromptRead | Draft, None]:
        """Have the model edit the draft; yield PromptRead, and the edited draft or the first one with the failure."""
        inputs, job, chunks = writing.inputs, writing.job, list[Chunk]()
        decoding = revision_decoding(job.decoding)
        with clock.stage("revise_ms"):
            try:
                prompt = await in_thread(revision_prompt, inputs, draft.text, self.model, decoding.max_tokens)
                async with aclosing(self.model.stream(prompt.messages, decoding)) as stream:
                    async for chunk in stream:
                        chunks.append(chunk)
                        if chunk.prompt_read:
                            yield chunk.prompt_read
            except (ChatError, ContextExceeded) as error:
                yield replace(draft, revision=_not_revised("revision_failed", error.message))
                return
        reply = joined(chunks)
        draft = replace(draft, usage=draft.usage + reply.usage)
        answer = prompt.begun + storable(reply.text)
        edited, notes = await in_reading_thread(read_revision, answer, inputs, job.stop, writing.frame)
        if not edited or reply.finish_reason == "length":
            message = "The model gave no readable edited draft."
            yield replace(draft, revision=_not_revised("revision_unreadable", message))
            return
        revised = replace(draft, text=edited, stage="revised", finish_reason=reply.finish_reason)
        yield _with_notes(revised, *notes)

    def _record(self, user: User, job: DraftJob, draft: Draft, clock: Clock, on_record: OnRecord) -> None:
        with self._database.write() as connection:
            drafts.add(
                connection,
                user.id,
                replace(draft, timings=clock.read()),  # but for the end of this transaction
                request=job.request,
                instructions=job.instructions,
                voice=job.voice,
                model=self.model.name,
                recipient=job.recipient,
                thread=job.thread,
            )
            on_record(connection, draft)


def _instructions(voice: Voice, job: DraftJob) -> str:
    return "\n".join(filter(None, (voice.instructions.strip(), job.instructions.strip())))


def _before(document: Document, past: Document) -> bool:
    """True if the document is dated no later than the past text, and is neither that text nor a copy of it."""
    same = document.id == past.id or document.text.casefold().split() == past.text.casefold().split()
    return not same and (document.timestamp or 0.0) <= (past.timestamp or 0.0)


def _claims(
    text: str,
    request: str,
    retrieval: Retrieval,
    said: Sequence[str],
    samples: Sequence[Sample] = (),
    edges: Sequence[str] = (),
) -> list[Claim]:
    """Find the claims of a text between its edges, checked against its evidence and more ``samples``."""
    shown = [*samples, *(Sample(scored.document.id, scored.document.text) for scored in retrieval.documents)]
    end = body_end(text, [sample.text for sample in shown])
    signed = {sample.id: sample.text[body_end(sample.text) :] for sample in shown}
    found = (_unsigned(claim, text, end, signed) for claim in claims(text, request, shown, said, edges))
    return [claim for claim in found if claim is not None]


def _unsigned(claim: Claim, text: str, end: int, signed: Mapping[str, str]) -> Claim | None:
    """Return the part of a claim before the sign-off, which begins at ``end``; None if it is its sample's sign-off."""
    if claim.start is None or claim.end is None or claim.end <= end or claim.kind != CARRIED_OVER:
        return claim
    if claim.start >= end:
        return None if claim.text in signed.get(claim.source or "", "") else claim
    stop = len(text[:end].rstrip())
    return replace(claim, text=text[claim.start : stop], end=stop)


def _variant(draft: Draft) -> Variant:
    documents = tuple(scored.document.id for scored in draft.retrieval.documents)
    return Variant(
        draft.text,
        draft.stage,
        draft.finish_reason,
        documents,
        draft.retrieval.notes,
        draft.claims,
        draft.quality,
        draft.likeness,
    )


def _with_notes(draft: Draft, *notes: Note) -> Draft:
    return replace(draft, retrieval=replace(draft.retrieval, notes=(*draft.retrieval.notes, *notes)))


def decide(revise: str, ranking: Sequence[ScoredDocument], retrieval: Retrieval, calibration: Calibration) -> Revision:
    """Decide whether to revise the draft, from the scores alone; ``revise``: AUTO, NEVER or ALWAYS."""
    if revise == NEVER:
        return _not_revised("not_wanted", "The request says never to revise.")
    if revise == ALWAYS:
        return Revision(True, "wanted", "The request says always to revise.")
    if retrieval.top_score is None:
        return _not_revised("no_history", "There is nothing to rank, so there is no score to decide by.")
    if calibration.asks(ranking):
        return _not_revised(NEEDS_INPUT, "The history cannot supply what the request needs.")
    return by_score(retrieval)


def by_score(retrieval: Retrieval) -> Revision:
    """Decide to revise the draft if the best document's score is below the threshold (theta), and not otherwise."""
    if retrieval.threshold is None:
        return _not_revised(
            "no_threshold", "There is no threshold (theta is 'never'), so nothing is revised automatically."
        )
    if retrieval.below_threshold:
        return Revision(True, "below_threshold", BELOW_THRESHOLD)
    return _not_revised("above_threshold", "The best document scored above the threshold.")


def _not_revised(reason: str, message: str) -> Revision:
    return Revision(False, reason, message)
