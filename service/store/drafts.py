"""The stored drafts, with the texts of their variants. Of its evidence documents a draft keeps only ids and scores."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as dataclass_fields
from types import SimpleNamespace
from typing import Any

from sqlalchemy import JSON, Column, Connection, Float, String, Table, func, insert, select

from pearl.errors import InputError, NotFound
from pearl.records import (
    Claim,
    DecidedBy,
    Document,
    Draft,
    Edge,
    Edges,
    Editing,
    Note,
    PlacedEdit,
    Retrieval,
    Revision,
    ScoredDocument,
    TextScores,
    Usage,
    Variant,
)
from pearl.stats.proportions import Interval
from pearl.style.manner.edits import Edit, edit_between
from pearl.text.usable import check_characters, json_type
from service.store import users
from service.store.ids import digest
from service.store.paging import PageQuery, page_of
from service.store.tables import documents, drafts

MOST = sys.float_info.max


def column_values(table: Table, line: dict[str, Any]) -> dict[str, Any]:
    """Convert an exported line to the table's values, without nulls. Raises InputError if one is missing or unfit."""
    values = {}
    for column in table.columns:
        value = line.get(column.name)
        if value is not None:
            values[column.name] = _checked(column, value)
        elif not column.nullable:
            raise InputError(f"'{column.name}' is missing.", param=column.name, code="missing_field")
    return values


def _checked(column: Column[Any], value: Any) -> Any:
    kind, name = column.type, column.name
    if isinstance(kind, JSON):
        if not isinstance(value, (dict, list)):
            raise InputError(f"'{name}' must be an object or an array, not {json_type(value)}.", param=name)
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except ValueError as error:  # PostgreSQL takes no NaN, and no answer can hold half of a surrogate pair
            raise InputError(
                f"'{name}' holds what is not JSON: NaN, Infinity or invalid Unicode.", param=name
            ) from error
        return value
    if isinstance(kind, String):
        if not isinstance(value, str):
            raise InputError(f"'{name}' must be a string, not {json_type(value)}.", param=name)
        if kind.length is not None and len(value) > kind.length:
            raise InputError(f"'{name}' has more than {kind.length} characters.", param=name)
        return check_characters(value, param=name)
    # -MOST <= NaN is false, and an integer of hundreds of digits is compared without becoming a float
    if isinstance(kind, Float) and not (type(value) in (int, float) and -MOST <= value <= MOST):
        raise InputError(f"'{name}' must be a number, not {json_type(value)}.", param=name)
    return value


ADD = insert(drafts)
NOT_KEPT = Revision(False, "not_kept", "This draft was made by a version that did not keep the reason.")


@dataclass(frozen=True, slots=True)
class StoredDraft:
    """A draft as the store keeps it."""

    id: str
    voice: str | None
    request: str
    instructions: str
    text: str
    stage: str
    model: str
    retrieval: dict[str, Any]
    created_at: float
    revision: dict[str, Any] | None = None  # None, as `usage`: of a version that did not keep it
    questions: tuple[str, ...] = ()
    usage: dict[str, int] | None = None
    timings: dict[str, float] | None = None
    quality: float | None = None
    editing: dict[str, Any] | None = None
    likeness: float | None = None
    recipient: str | None = None
    thread: str | None = None

    @property
    def evidence(self) -> list[str]:
        """The ids of the documents that the draft was written from."""
        return [document["id"] for document in self.retrieval["documents"]]

    def draft(self, texts: Mapping[str, str]) -> Draft:
        """Convert to the draft of the pipeline. ``texts``: its documents' texts by id; a missing text is empty."""
        evidence = self.retrieval
        scored = (
            ScoredDocument(Document(shown["id"], texts.get(shown["id"], "")), shown["score"])
            for shown in evidence["documents"]
        )
        notes = tuple(Note(**note) for note in evidence.get("notes", ()))
        return Draft(
            self.id,
            self.text,
            self.stage,
            Retrieval(
                tuple(scored),
                evidence["top_score"],
                evidence["threshold"],
                evidence["below_threshold"],
                notes,
                evidence.get("form"),
            ),
            NOT_KEPT if self.revision is None else Revision(**self.revision),
            self.questions,
            Usage(**(self.usage or {})),
            self.timings or {},
            decided_by=DecidedBy(**evidence["calibration"]) if evidence.get("calibration") else None,
            quality=self.quality,
            editing=None if self.editing is None else _editing(self.editing),
            likeness=self.likeness,
            claims=_claims(evidence, self.text),
            edges=_edges(evidence.get("edges")),
            variants=tuple(
                _variant(kept, text) for kept, text in zip(evidence.get("variants", ()), self.texts, strict=False)
            ),
        )

    @property
    def texts(self) -> list[str]:
        """The texts of the draft and of its further variants."""
        return texts_of(self.text, self.retrieval)


@dataclass(frozen=True, slots=True)
class DraftPage:
    """A page of a user's drafts, in order of time."""

    drafts: list[StoredDraft]
    has_more: bool


def add(
    connection: Connection,
    user_id: int,
    draft: Draft,
    *,
    request: str,
    instructions: str,
    voice: str | None,
    model: str,
    recipient: str | None = None,
    thread: str | None = None,
) -> None:
    """Record a draft. Raises NotFound if the user is gone."""
    if not users.lock(connection, {user_id}):
        raise NotFound("This user was deleted while the draft was written; nothing is kept.", code="user_not_found")
    evidence = draft.retrieval
    connection.execute(
        ADD,
        {
            **{name: getattr(draft, name) for name in ("id", "text", "stage", "timings", "quality", "likeness")},
            "user_id": user_id,
            "voice": voice,
            "request": request,
            "instructions": instructions,
            "model": model,
            "retrieval": {
                "documents": [{"id": scored.document.id, "score": scored.score} for scored in evidence.documents],
                "top_score": evidence.top_score,
                "threshold": evidence.threshold,
                "below_threshold": evidence.below_threshold,
                "notes": [asdict(note) for note in evidence.notes],
                "form": evidence.form,
                "claims": [_kept_claim(claim) for claim in draft.claims],
                **({} if draft.edges is None else {"edges": asdict(draft.edges)}),
                **({"variants": list(map(_kept_variant, draft.variants))} if draft.variants else {}),
                **({} if draft.decided_by is None else {"calibration": asdict(draft.decided_by)}),
            },
            "revision": asdict(draft.revision),
            "questions": list(draft.questions),
            "usage": asdict(draft.usage),
            "editing": None if draft.editing is None else asdict(draft.editing),
            "recipient": recipient,
            "thread": thread,
            "created_at": time.time(),
        },
    )


def _kept_claim(claim: Claim) -> dict[str, Any]:
    """Convert a claim to JSON, without its text if the draft contains that."""
    return asdict(claim) | {"text": claim.text if claim.start is None else None}


def _claims(kept: Mapping[str, Any], text: str) -> tuple[Claim, ...]:
    listed = (Claim(**claim) for claim in kept.get("claims", ()))
    return tuple(replace(each, text=text[each.start : each.end]) if each.text is None else each for each in listed)


def _edges(kept: Mapping[str, Any] | None) -> Edges | None:
    if kept is None:
        return None
    found = {name: edge for name, edge in kept.items() if edge is not None}
    return Edges(
        **{name: Edge(edge["text"], Interval(**edge["share"]), tuple(edge["sources"])) for name, edge in found.items()}
    )


def edges_in(retrieval: Mapping[str, Any]) -> Edges:
    """Return the edges of a draft (its greeting and sign-off set by rule) from its column ``retrieval``."""
    return _edges(retrieval.get("edges")) or Edges()


def _kept_variant(variant: Variant) -> dict[str, Any]:
    return asdict(variant) | {"claims": [_kept_claim(claim) for claim in variant.claims]}


def _variant(kept: dict[str, Any], text: str) -> Variant:
    notes = tuple(Note(**note) for note in kept["notes"])
    shown = tuple(kept["documents"])
    return Variant(**kept | {"text": text, "documents": shown, "notes": notes, "claims": _claims(kept, text)})


def texts_of(text: str, retrieval: Mapping[str, Any]) -> list[str]:
    """Return the texts of a draft and of its further variants from its columns ``text`` and ``retrieval``."""
    return [text, *(str(variant["text"]) for variant in retrieval.get("variants", ())[1:])]


def measured(
    text: str, retrieval: Mapping[str, Any], sent: str, variant: int | None = None
) -> tuple[Edit, dict[str, Any]]:
    """Measure the edit that made the ``sent`` text from a draft, given by its columns ``text`` and ``retrieval``;
    return the edit, and values for the feedback's columns. ``variant``: the index of the edited text; None: the nearest
    one. Edges that were set by rule do not count as the machine's words."""
    edges = edges_in(retrieval)
    edits = [edit_between(edges.without(each), edges.without(sent)) for each in texts_of(text, retrieval)]
    taken = min(range(len(edits)), key=lambda index: edits[index].distance) if variant is None else variant
    named = {"variant": taken} if len(edits) > 1 else {}
    edit = edits[taken]
    return edit, {"edit": edit.to_json() | named, "machine_share": edit.machine_share}


def get(connection: Connection, user_id: int, draft_id: str, *, param: str = "draft_id") -> StoredDraft:
    """Return a draft of the user. Raises NotFound if there is none; ``param``: the field named in the error."""
    row = connection.execute(select(drafts).where(drafts.c.user_id == user_id, drafts.c.id == draft_id)).first()
    if row is None:
        raise _not_there(draft_id, param)
    return _stored(row)


def texts(connection: Connection, user_id: int) -> Iterator[tuple[float, str]]:
    """Yield the time and the text of each draft of the user, and of each variant."""
    columns = drafts.c.created_at, drafts.c.text, drafts.c.retrieval
    for row in connection.execute(select(*columns).where(drafts.c.user_id == user_id)):
        for text in texts_of(row.text, row.retrieval):
            yield row.created_at, text


def owner(connection: Connection, draft_id: str) -> int:
    """The row id of the user who owns the draft. Raises NotFound."""
    user_id = connection.scalar(select(drafts.c.user_id).where(drafts.c.id == draft_id))
    if user_id is None:
        raise _not_there(draft_id, "draft_id")
    return int(user_id)


def _not_there(draft_id: str, param: str) -> NotFound:
    return NotFound(f"There is no draft '{draft_id}' of yours.", param=param, code="draft_not_found")


def page(connection: Connection, user_id: int, wanted: PageQuery) -> DraftPage:
    """Return a page of drafts in order of time; words are searched in their requests and texts.

    Raises InputError if ``after`` is no draft of the user.
    """
    rows, has_more = page_of(
        connection,
        select(drafts).where(drafts.c.user_id == user_id),
        wanted,
        noun="draft",
        id=drafts.c.id,
        order=(drafts.c.created_at, drafts.c.id),
        searched=("request", "text"),
    )
    return DraftPage([_stored(row) for row in rows], has_more)


def evidence_texts(
    connection: Connection, user_id: int, shown: Iterable[StoredDraft], characters: int
) -> dict[str, str]:
    """Return by id the first ``characters`` of the documents that these drafts were written from, as they are now."""
    wanted = {document_id for draft in shown for document_id in draft.evidence}
    beginning = func.substr(documents.c.text, 1, characters)
    rows = connection.execute(
        select(documents.c.document_id, beginning).where(
            documents.c.user_id == user_id, documents.c.document_id.in_(wanted)
        )
    )
    return {row[0]: row[1] for row in rows}


def lines_of_user(connection: Connection, user_id: int) -> Iterator[dict[str, Any]]:
    """Yield every stored field of each draft, oldest first: the lines that :func:`restore` takes."""
    columns = [column for column in drafts.columns if column.name != "user_id"]
    rows = select(*columns).where(drafts.c.user_id == user_id).order_by(drafts.c.created_at, drafts.c.id)
    for row in connection.execute(rows):
        yield {str(name): value for name, value in row._mapping.items()}


def of_line(line: dict[str, Any]) -> StoredDraft:
    """Convert an exported line to a draft. Raises InputError if the line is not one of :func:`lines_of_user`."""
    return _stored(SimpleNamespace(**dict.fromkeys(drafts.columns.keys()) | _line_values(line, 0)))


def restore(connection: Connection, user_id: int, line: dict[str, Any]) -> bool:
    """Store a draft that was exported, under the id of :func:`restored_id`; return False if it is stored already.

    Raises InputError if the line is not one of :func:`lines_of_user`.
    """
    values = _line_values(line, user_id)
    values["id"] = restored_id(connection, user_id, values["id"])
    if connection.scalar(select(drafts.c.id).where(drafts.c.id == values["id"])) is not None:
        return False
    connection.execute(insert(drafts).values(**values))
    return True


def restored_id(connection: Connection, user_id: int, draft_id: str) -> str:
    """Return the id for an imported draft: its own, or one made from that if another user has a draft with its id.

    A draft must not be left out: what was sent from it would then count as the user's own words.
    """
    owner = connection.scalar(select(drafts.c.user_id).where(drafts.c.id == draft_id))
    return draft_id if owner in (None, user_id) else f"draft_{digest(str(user_id), draft_id).hex()}"


def _line_values(line: dict[str, Any], user_id: int) -> dict[str, Any]:
    return column_values(drafts, {"timings": {}, **line, "user_id": user_id})


def _stored(row: Any) -> StoredDraft:
    fields = {field.name: getattr(row, field.name) for field in dataclass_fields(StoredDraft)}
    return StoredDraft(**fields | {"questions": tuple(row.questions or ())})


def _editing(fields: dict[str, Any]) -> Editing:
    return Editing(
        **fields
        | {
            "draft": TextScores(**fields["draft"]),
            "choice": TextScores(**fields["choice"]),
            "edits": tuple(PlacedEdit(**edit) for edit in fields["edits"]),
        }
    )
