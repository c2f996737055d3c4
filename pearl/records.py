"""The small frozen records that pass between the stages."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Document:
    """One text a person wrote, with the request it answered where that is known.

    ``timestamp`` is in Unix seconds, UTC. ``voice`` names the register it was written in.
    """

    id: str
    text: str
    timestamp: float | None = None
    request: str | None = None
    voice: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request: the text asked for, and when (Unix seconds, UTC; None means now)."""

    text: str
    timestamp: float | None = None


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A candidate and its score; scores of one ranking are comparable with each other, higher is better.

    ``relatedness`` says how much the document has to do with the request; None: not known.
    """

    document: Document
    score: float
    relatedness: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a generation as the chat model counts them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens)


@dataclass(frozen=True, slots=True)
class Note:
    """Something about a draft that its reader should know: a stable code and a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class DecidedBy:
    """The source of theta, margin and k: a stable code, the calibration's id if it is one, and a sentence."""

    code: str
    id: str | None
    message: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The documents found for a request. ``documents`` are those that went into the prompt, best first.

    ``top_score`` is s1, None when there was nothing to rank. ``threshold`` is theta, None until one is
    trained; ``below_threshold`` is False without it. ``form`` is how the model was shown them (pearl/prompts.py), None
    where no prompt was made.
    """

    documents: tuple[ScoredDocument, ...] = ()
    top_score: float | None = None
    threshold: float | None = None
    below_threshold: bool = False
    notes: tuple[Note, ...] = ()
    form: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """The decision to revise a draft or not, and why."""

    applied: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """An edit that was executed: ``span`` stood at ``start`` of the draft, and ``rewrite`` took its place."""

    start: int
    span: str
    rewrite: str
    category: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.span)


@dataclass(frozen=True, slots=True)
class TextScores:
    """``quality`` is from 1 to 10. ``likeness`` is None where it is not measured, or the text is too short to say."""

    quality: float
    likeness: float | None = None


@dataclass(frozen=True, slots=True)
class Editing:
    """The choice among edits of a draft: how many were asked for, and how many failed or were dropped, by reason.

    ``refused`` counts proposed edits that could not be executed. Where one was ``chosen``, its ``edits`` in
    ``first_text`` make the draft's text and its scores are those of the ``choice``; else they are the draft's. Both are
    None without a reward model.
    """

    candidates: int
    failed: dict[str, int]
    dropped: dict[str, int]
    refused: dict[str, int]
    chosen: bool
    draft: TextScores | None
    choice: TextScores | None
    first_text: str
    edits: tuple[PlacedEdit, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """A result of the drafting pipeline. ``timings`` are milliseconds by stage; ``decided_by`` is None where no history
    was asked, ``quality`` without a reward model, ``editing`` where no candidates were asked for,
    ``likeness`` where it is not told or cannot be said."""

    id: str
    text: str
    stage: str  # "draft", "revised" or "needs_input"
    retrieval: Retrieval
    revision: Revision
    questions: tuple[str, ...] = ()
    usage: Usage = Usage()
    timings: dict[str, float] = field(default_factory=dict)
    finish_reason: str = "stop"
    decided_by: DecidedBy | None = None
    quality: float | None = None
    editing: Editing | None = None
    likeness: float | None = None
