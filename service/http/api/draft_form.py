"""The JSON form of a draft, in every route and in ``pearl draft --json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from pearl.records import Draft, Retrieval
from pearl.text.words import character_start
from service.http.api.fields import ListedEntry, OfRecord
from service.store.drafts import StoredDraft

EXCERPT = 240  # characters of a document shown as evidence


class Evidence(BaseModel):
    """A document that the draft was written from."""

    id: str = Field(description="The document's id.", examples=["email-009"])
    score: float = Field(description="The retriever's score.", examples=[0.0325])
    excerpt: str = Field(description=f"Its first {EXCERPT} characters.", examples=["Hello Tomas, kettle's on..."])


class NoteOut(OfRecord):
    """Something to know about this draft."""

    code: str = Field(
        description="`generic`, `below_floor`, `far_behind`, `unrelated`, `no_room`, `shortened`, `time_limit`, "
        "`not_embedded`, `not_read`, `instructions_repeated`, `lines_repeated`, `in_circles`, `asked_again`, "
        "`as_assistant`, `local_only`, `cut_off`, `edges_replaced`, `courtesies`, `placeholders`, `same_variant` or "
        "`variant_failed`.",
        examples=["generic"],
    )
    message: str = Field(
        description="The same in a sentence.", examples=["There are no documents in the history: the draft is generic."]
    )


class DecidedByOut(OfRecord):
    """The source of this draft's theta (revise below it), margin and k (documents to show)."""

    code: str = Field(
        description="`calibrated`, `by_hand` (PEARL_REVISE_BELOW) or `not_calibrated`.", examples=["not_calibrated"]
    )
    id: str | None = Field(description="The calibration's id, in `GET /v1/voices/{name}`.", examples=[None])
    message: str = Field(
        description="The same in a sentence, with the command that would change it.",
        examples=[
            "Nothing is calibrated for 'llama3.2' with this retriever; `pearl calibrate --user ada` would do it, from "
            "30 past texts on that have their request and another text before them."
        ],
    )


class RetrievalOut(OfRecord):
    """The evidence found in the history."""

    documents: list[Evidence] = Field(
        description="Documents that went into the prompt, best first.",
        examples=[[{"id": "email-009", "score": 0.0325, "excerpt": "Hello Tomas, kettle's on..."}]],
    )
    top_score: float | None = Field(description="The best score, s1; null without a history.", examples=[0.0325])
    threshold: float | None = Field(description="Theta; null until one is trained.", examples=[None])
    below_threshold: bool = Field(description="True when s1 lies below theta.", examples=[False])
    notes: list[NoteOut] = Field(description="Remarks on the evidence, e.g. that there was none.", examples=[[]])
    form: str | None = Field(
        description="How the model was shown the documents: as answered `turns`; as `told_turns`, with the words that "
        "they are manner and not facts, which a model is told outside a conversation; `quoted` in one message, "
        "for a second answer. Without documents: `request_alone`. Null where no draft was asked for.",
        examples=["told_turns"],
    )

    @classmethod
    def of(cls, record: Retrieval, **more: Any) -> Self:
        documents = [
            Evidence(id=scored.document.id, score=scored.score, excerpt=excerpt(scored.document.text))
            for scored in record.documents
        ]
        return super().of(record, documents=documents, **more)


class RevisionOut(OfRecord):
    """The decision to revise a draft or not, and why."""

    applied: bool = Field(description="True when `text` is a revision.", examples=[False])
    reason: str = Field(description="A stable code.", examples=["no_threshold"])
    message: str = Field(
        description="The same in a sentence.", examples=["The best document scored below the threshold."]
    )


class TextScoresOut(OfRecord):
    """The scores of a text."""

    quality: float = Field(description="The reward model's score, from 1 to 10.", examples=[6.4])
    likeness: float | None = Field(
        description="The probability that you wrote it; null where it is not measured or cannot be said.",
        examples=[0.81],
    )


class EditOut(OfRecord):
    """A replacement of some words of the draft."""

    start: int = Field(description="Its place in `first_text`, in characters (Unicode code points).", examples=[0])
    span: str = Field(description="The words that stood there.", examples=["I hope this finds you well. "])
    rewrite: str = Field(description="The words in their place; empty where they were deleted.", examples=[""])
    category: str = Field(description="The weakness that the editor saw.", examples=["Cliche"])


class EditingOut(OfRecord):
    """The choice among several edits of the draft."""

    candidates: int = Field(description="The number asked for.", examples=[8])
    failed: dict[str, int] = Field(
        description="Candidates without a usable edit by reason: `no_parts`, `no_edit`, `not_executed`, `out_of_time`, "
        "or the chat model's error.",
        examples=[{"no_parts": 2}],
    )
    dropped: dict[str, int] = Field(
        description="Candidates that may not be chosen by reason: `below_draft`, `less_likely_theirs`.",
        examples=[{"below_draft": 3}],
    )
    refused: dict[str, int] = Field(
        description="Proposed edits, of all candidates, that were not executed by reason: `missing`, `several_times`, "
        "`overlaps`, `inside_character`, `empty_span`, `unchanged`, `repeated`, `no_rewrite`, `not_listed` or "
        "`other_words`.",
        examples=[{"missing": 4}],
    )
    chosen: bool = Field(description="True when `text` is an edited candidate.", examples=[True])
    draft: TextScoresOut = Field(description="Scores of the draft before it.")
    choice: TextScoresOut = Field(description="Scores of `text`.")
    first_text: str = Field(
        description="The draft before the edits.", examples=["I hope this finds you well. Kettle's on."]
    )
    edits: list[EditOut] = Field(
        description="The edits that made `text` from `first_text`, in their order; empty when the draft stayed.",
        examples=[[]],
    )


class ClaimOut(OfRecord):
    """Something that the draft states beyond its request, or a fact of the request that the draft leaves out."""

    model_config = ConfigDict(from_attributes=True, serialize_by_alias=True, validate_by_name=True)

    kind: Literal["carried_over", "unsupported", "dropped", "commitment", "stronger", "weaker"] = Field(
        description="A fact or sentence of a sample alone; a fact in nothing given; a fact of the request that the "
        "draft lacks; a promise that the request does not make; what is said more firmly than asked, such as without "
        "its “might”, or an apology; what is said less firmly.",
        examples=["carried_over"],
    )
    text: str = Field(description="The draft's words; the request's for `dropped`.", examples=["Skellmouth"])
    start: int | None = Field(
        description="Its place in `text` of the draft, in characters (Unicode code points); null for `dropped`.",
        examples=[41],
    )
    end: int | None = Field(description="The character behind it; null for `dropped`.", examples=[51])
    source: str | None = Field(
        alias="from",
        description="The id of the document that it comes from; null where none has it.",
        examples=["email-009"],
    )


class IntervalOut(OfRecord):
    """A figure and its 95% interval."""

    value: float = Field(description="The figure.", examples=[0.9])
    low: float = Field(description="The lower end.", examples=[0.74])
    high: float = Field(description="The upper end.", examples=[0.97])


class EdgeOut(OfRecord):
    """A usual greeting, opening, sign-off or name of yours, as it stands in the draft."""

    model_config = ConfigDict(from_attributes=True, serialize_by_alias=True, validate_by_name=True)

    text: str = Field(description="The words.", examples=["Hello Tomas, kettle's on."])
    share: IntervalOut = Field(description="The share of your latest texts that have it.")
    sources: list[str] = Field(alias="from", description="Ids of these texts.", examples=[["email-030", "email-029"]])


class EdgesOut(OfRecord):
    """Your usual words that the draft begins and ends with by rule; null for a part that you do not usually write."""

    greeting: EdgeOut | None = Field(
        description="How you greet, with the name that the request gives.", examples=[None]
    )
    opening: EdgeOut | None = Field(description="Words that always follow.", examples=[None])
    sign_off: EdgeOut | None = Field(description="How you sign off.", examples=[None])
    name: EdgeOut | None = Field(description="The name below it.", examples=[None])


class VariantOut(OfRecord):
    """One of several texts for the request."""

    index: int = Field(description="Its place; 0 is the text of the draft.", examples=[1])
    text: str = Field(description="The text.", examples=["Kettle's on. Of course, Bea takes it."])
    stage: Literal["draft", "revised"] = Field(description="The stage that it reached.", examples=["draft"])
    finish_reason: Literal["stop", "length"] = Field(
        description="`length`: cut off where its tokens were used up.", examples=["stop"]
    )
    documents: list[str] = Field(description="Ids of the documents in its prompt.", examples=[["email-009"]])
    notes: list[NoteOut] = Field(description="Remarks on this text and its documents.", examples=[[]])
    quality: float | None = Field(description="As of the draft.", examples=[6.4])
    likeness: float | None = Field(description="As of the draft.", examples=[0.81])
    claims: list[ClaimOut] = Field(description="As of the draft; places are those in this `text`.", examples=[[]])


class UsageOut(OfRecord):
    """The chat model's tokens, with revision, candidates and variants; 0 if its endpoint does not report them."""

    prompt_tokens: int = Field(examples=[745], description="Tokens read.")
    completion_tokens: int = Field(examples=[115], description="Tokens written.")
    total_tokens: int = Field(examples=[860], description="Both.")


class DraftOut(ListedEntry):
    """A draft with its evidence."""

    id: str = Field(description="Name it in feedback.", examples=["draft_0192f0c4b1aa7d0e5c2f9b1c"])
    object: Literal["draft"] = Field(description="Always `draft`.")
    text: str = Field(
        description="The draft; empty when input is needed.", examples=["Kettle's on. Yes, swap with Bea."]
    )
    stage: Literal["draft", "revised", "needs_input"] = Field(
        description="The stage that the draft reached.", examples=["draft"]
    )
    questions: list[str] = Field(description="Questions to answer first, when `stage` is `needs_input`.", examples=[[]])
    retrieval: RetrievalOut
    revision: RevisionOut
    quality: float | None = Field(
        description="The reward model's score of `text`, from 1 to 10; null without one (PEARL_REWARD_MODEL).",
        examples=[6.4],
    )
    likeness: float | None = Field(
        description="The probability that you wrote `text`, by your history (`POST /v1/likeness` says more); null "
        "without PEARL_LIKENESS, and where it cannot be said.",
        examples=[0.81],
    )
    claims: list[ClaimOut] = Field(
        description="What `text` states that neither the request, the conversation, the instructions nor two of the "
        "documents do, found by rule.",
        examples=[[]],
    )
    edges: EdgesOut | None = Field(
        description="How the draft begins and ends, by rule; null with `edges: false`.", examples=[None]
    )
    editing: EditingOut | None = Field(
        description="The choice among `candidates`; null where none were asked for.", examples=[None]
    )
    usage: UsageOut
    timings: dict[str, float] = Field(
        description="Milliseconds by stage, and in all.", examples=[{"retrieve_ms": 11.8}]
    )
    calibration: DecidedByOut | None = Field(
        description="What decided on the documents and the revision; null where nothing was retrieved.",
        examples=[{"code": "not_calibrated", "id": None, "message": "Nothing is calibrated for 'llama3.2'..."}],
    )
    variants: list[VariantOut] | None = Field(
        None,
        description="All texts, in their order, where more than one was asked for. One that equals an earlier text "
        "twice, or that the model failed to write, is left out, and `retrieval.notes` says so.",
        examples=[None],
        exclude_if=lambda variants: variants is None,
    )

    @classmethod
    def of(cls, record: Draft, **more: Any) -> Self:
        variants = [VariantOut.of(variant, index=index) for index, variant in enumerate(record.variants)] or None
        retrieval, calibration = RetrievalOut.of(record.retrieval), record.decided_by
        return super().of(record, retrieval=retrieval, calibration=calibration, variants=variants, **more)


class RecordedDraftOut(DraftOut):
    """A recorded draft. Its excerpts show the documents as they are now; the excerpt of a deleted document is empty."""

    request: str = Field(description="The request.", examples=["Tomas asks to swap his Saturday"])
    instructions: str = Field(description="The instructions for this draft.", examples=["At most five lines."])
    voice: str | None = Field(description="The voice it was written in.", examples=["email"])
    recipient: str | None = Field(description="Whom it is for, if you said so.", examples=["nan@example.org"])
    thread: str | None = Field(description="The conversation it belongs to, if you said so.", examples=[None])
    model: str = Field(description="The chat model.", examples=["llama3.2"])
    created_at: float = Field(description="Unix seconds.", examples=[1772357400.25])

    @classmethod
    def of_record(cls, stored: StoredDraft, texts: Mapping[str, str]) -> Self:
        """Convert a stored draft to its API form; ``texts``: the first characters of its evidence documents, by id."""
        names = "request", "instructions", "voice", "recipient", "thread", "model", "created_at"
        return cls.of(stored.draft(texts), **{name: getattr(stored, name) for name in names})


def check_listed(stored: StoredDraft) -> None:
    """Check that lists of drafts can show this draft. Raises ValueError, or another error, if they cannot."""
    RecordedDraftOut.of_record(stored, {})


def excerpt(text: str, longest: int = EXCERPT) -> str:
    return text if len(text) <= longest else text[: character_start(text, longest - 1)].rstrip() + "…"
