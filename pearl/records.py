"""Small frozen records that are passed between the stages of drafting."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from pearl.stats.proportions import Interval


@dataclass(frozen=True, slots=True)
class Document:
    """One text that a person wrote."""

    id: str
    text: str
    timestamp: float | None = None  # Unix seconds, UTC
    request: str | None = None  # that it answered, if known
    voice: str | None = None  # the register it was written in
    recipient: str | None = None  # whom it went to: an address, handle, name or channel
    thread: str | None = None  # the conversation it belongs to, by an id of its source


@dataclass(frozen=True, slots=True)
class Request:
    """A request that a text is to answer."""

    text: str
    timestamp: float | None = None  # Unix seconds, UTC; None: now
    recipient: str | None = None  # whom the text is for, if known
    thread: str | None = None  # the conversation it belongs to, if known


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A candidate document with its score for a request."""

    document: Document
    score: float  # comparable within one ranking, higher is better
    relatedness: float | None = None  # to the request, a cosine; None: not known


@dataclass(frozen=True, slots=True)
class Usage:
    """Numbers of tokens of one generation, as the chat model counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per million tokens, in any one currency; None where they are not known."""

    prompt: float | None = None
    completion: float | None = None

    @classmethod
    def read(cls, text: str | None) -> Prices:
        """Read the prices of prompt and completion tokens as "0.15,0.60". Raises ValueError."""
        if not text:
            return cls()
        try:
            prompt, completion = map(float, text.split(","))
        except ValueError:
            prompt = completion = -1.0
        if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
            raise ValueError("give the prices of a million prompt and completion tokens, such as 0.15,0.60")
        return cls(prompt, completion)

    def of(self, usage: Usage) -> float | None:
        if self.prompt is None or self.completion is None:
            return None
        return (usage.prompt_tokens * self.prompt + usage.completion_tokens * self.completion) / 1_000_000


@dataclass(frozen=True, slots=True)
class Note:
    """Something about a draft that its reader should know: a stable code and a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class DecidedBy:
    """The source of the values of theta (the score below which a draft is revised), margin and k."""

    code: str  # stable
    id: str | None  # of the calibration, if it is one
    message: str  # a sentence


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The documents found for a request and shown to the model, and the score that decided on revision."""

    documents: tuple[ScoredDocument, ...] = ()  # in the prompt, best first
    top_score: float | None = None  # s1; None if there was nothing to rank
    threshold: float | None = None  # theta; None until one is trained
    below_threshold: bool = False  # False without a threshold
    notes: tuple[Note, ...] = ()
    form: str | None = None  # how the model was shown them (pearl/models/prompts.py); None if no prompt was made


@dataclass(frozen=True, slots=True)
class Revision:
    """The decision whether to revise a draft, and why."""

    applied: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """An edit that was executed, with its place in the draft."""

    start: int  # of the span in the draft
    span: str
    rewrite: str  # took the place of the span
    category: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.span)


@dataclass(frozen=True, slots=True)
class TextScores:
    """The scores of a text: writing quality, and likeness to its writer."""

    quality: float  # from 1 to 10
    likeness: float | None = None  # None if it is not measured, or the text is too short to say


@dataclass(frozen=True, slots=True)
class Editing:
    """The record of editing a draft: its candidates, and the choice among them."""

    candidates: int  # that were asked for
    failed: dict[str, int]  # number of candidates by reason
    dropped: dict[str, int]  # number of candidates by reason
    refused: dict[str, int]  # number of edits that could not be executed, by reason
    chosen: bool  # False: the draft stays
    draft: TextScores | None  # None without a reward model
    choice: TextScores | None  # of the chosen candidate, or of the draft if it stays; None without a reward model
    first_text: str  # the draft before its edits
    edits: tuple[PlacedEdit, ...] = ()  # of the chosen candidate, in ``first_text``


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that a draft states without a basis in its request, or a point of the request that the draft drops or
    changes (``pearl.style.claims``)."""

    kind: str  # "carried_over", "unsupported", "dropped", "commitment", "stronger" or "weaker"
    text: str
    start: int | None  # characters of the draft; None where the draft lacks it
    end: int | None
    source: str | None  # id of the sample that alone has it


@dataclass(frozen=True, slots=True)
class Edge:
    """A usual greeting, opening, sign-off or name of the person, as it stands in a draft."""

    text: str
    share: Interval  # of the texts looked at, that have it
    sources: tuple[str, ...]  # ids of these texts, the latest first


@dataclass(frozen=True, slots=True)
class Edges:
    """The person's usual beginning and end of texts, as set in a draft; None for parts that they do not use."""

    greeting: Edge | None = None
    opening: Edge | None = None  # words that always follow the greeting
    sign_off: Edge | None = None
    name: Edge | None = None

    def without(self, text: str) -> str:
        """Return the text without these edges, where it begins and ends with them."""
        for edge in filter(None, (self.greeting, self.opening)):
            text = text.strip().removeprefix(edge.text)
        for edge in filter(None, (self.name, self.sign_off)):
            text = text.strip().removesuffix(edge.text)
        return text.strip()


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several texts that were written for a request."""

    text: str
    stage: str = "draft"  # or "revised"
    finish_reason: str = "stop"
    documents: tuple[str, ...] = ()  # ids of those in its prompt, the one next to the request first
    notes: tuple[Note, ...] = ()
    claims: tuple[Claim, ...] = ()
    quality: float | None = None
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """The result of the drafting pipeline, with its evidence."""

    id: str
    text: str
    stage: str  # "draft", "revised" or "needs_input"
    retrieval: Retrieval
    revision: Revision
    questions: tuple[str, ...] = ()
    usage: Usage = Usage()
    timings: dict[str, float] = field(default_factory=dict)  # milliseconds by stage
    finish_reason: str = "stop"
    decided_by: DecidedBy | None = None  # None if no history was searched
    quality: float | None = None  # None without a reward model
    editing: Editing | None = None  # None if no candidates were asked for
    likeness: float | None = None  # None if it is not measured, or cannot be said
    claims: tuple[Claim, ...] = ()
    edges: Edges | None = None  # None where they are switched off, and where no text was asked for
    variants: tuple[Variant, ...] = ()  # all texts, if several were wanted; the first is that of the draft
