"""The choice among candidates as a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pearl.editing.best_of import EditSelection
from pearl.editing.candidates import Candidate, failures, refused_edits
from pearl.editing.edits import replaced
from pearl.records import Editing


def editing_of(draft: str, candidates: Sequence[Candidate], chosen: EditSelection) -> Editing:
    """The record of what was asked for, dropped and chosen; its edits are those of the chosen candidate."""
    execution = None if chosen.best is None else candidates[chosen.best].execution
    return Editing(
        candidates=len(candidates),
        failed=failures(candidates),
        dropped=dict(Counter(chosen.dropped.values())),
        refused=refused_edits(candidates),
        chosen=execution is not None,
        draft=chosen.draft,
        choice=chosen.scores_of_choice,
        first_text=draft,
        edits=() if execution is None else execution.placed,
    )


def only_edit(draft: str, candidate: Candidate) -> Editing:
    """The record of one candidate that is taken unseen, without a reward model."""
    placed = () if candidate.execution is None else candidate.execution.placed
    return Editing(1, failures([candidate]), {}, refused_edits([candidate]), bool(placed), None, None, draft, placed)


def edited_text(editing: Editing) -> str:
    """The draft with the chosen edits in place."""
    return replaced(editing.first_text, editing.edits)
