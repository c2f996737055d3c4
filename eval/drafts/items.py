"""The drafts of several systems as items that judges compare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from eval.drafts.systems import Case
from pearl.asking.write import Written


def items_of(
    cases: Sequence[Case], names: Sequence[str], written: Sequence[Sequence[Written]], generator: str
) -> Iterator[dict[str, Any]]:
    """Yield an item per case: the drafts of the model ``generator`` with each system of ``names``, beside the user's
    real text."""
    own = [case.record.id for case in cases]
    usable = None not in own and len(set(own)) == len(own)  # several files may use one id
    for place, case in enumerate(cases):
        yield {
            "id": own[place] if usable else str(place),
            **({} if case.record.user_id is None else {"user_id": case.record.user_id}),
            "request": case.record.request.text,
            "reference": case.target,
            "candidates": {name: mine[place].text for name, mine in zip(names, written, strict=True)},
            "generators": dict.fromkeys(names, generator),
        }
