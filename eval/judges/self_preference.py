"""A judge's preference for its own texts, or its family's, if the items say which models wrote them.

Dimensions in comments: N judgements, R resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from eval.report.tables import Columns, Json, Table
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats

Generators = tuple[str | None, str | None]  # of the first text and the second, None where the item does not say
OWN = {"own": "the judge's own", "family": "its family's"}
Ability = Annotated[
    Path | None,
    typer.Option(
        "--ability", metavar="A.json", help="Families of models, to report on texts by the judge's own family."
    ),
]
AGAINST = {
    "gold": "how often its own is right",
    "others": "how often that side is taken where both are its own, or neither",
}


def families_of(path: Path | None) -> dict[str, str]:
    """The families of models by name, from a file of abilities as `pearl eval style` reads it. Raises InputError."""
    if path is None:
        return {}
    from eval.recorded.style.ability import read_abilities

    return {name: ability.family for name, ability in read_abilities(path).items() if ability.family}


def self_preference(
    names: Set[str],
    families: Mapping[str, str],
    generators: Sequence[Generators],
    taken: Floats,
    right: Floats | None,
    bootstrap: Bootstrap,
) -> dict[str, Any]:
    """Measure how often the judge takes its own text when one of two is its own; with ``families`` of models by name,
    its family's too. An unknown family may be the judge's or not.

    ``taken`` and ``right`` are 1 for the first text of an item, -1 for the second, 0 for neither, (N,); ``right`` is
    None where no answer is.
    """
    family = next((families[name] for name in sorted(names) if name in families), None)
    writers = {name for pair in generators for name in pair if name is not None}
    parts: dict[str, dict[str | None, bool]] = {"own": {name: name in names for name in writers}}
    if families:
        parts["family"] = {name: families[name] == family for name in writers & families.keys() if family}
    preferences = {}
    for part, is_own in parts.items():
        owned = np.array([[is_own.get(name, np.nan) for name in pair] for pair in generators], float).reshape(-1, 2)
        preferences[part] = _preference(owned[:, 0] - owned[:, 1], taken, right, bootstrap)
    return preferences


def _preference(own: Floats, taken: Floats, right: Floats | None, bootstrap: Bootstrap) -> dict[str, Any]:
    """Compare how often the judge takes its own text with how often that one is right, if one of two is right; else
    with how often it takes the same side when both texts or neither are its own. ``own`` is 1 where only the first text
    is its own, -1 where only the second, else 0; NaN where it is not known."""
    one_is_own = np.nan_to_num(own) != 0
    decided = one_is_own & (taken != 0) & (True if right is None else right != 0)
    takes = bootstrap.share(taken == own, decided)
    if right is not None:
        expected = bootstrap.share(right == own, decided)
    else:
        expected = _elsewhere(own, taken, decided, bootstrap)
    why = None
    if not np.isfinite(own).any():
        why = "no item says which models, or which families, wrote both of its texts"
    elif not one_is_own.any():
        why = "of no item only one text is its own"
    elif not decided.any():
        why = "no answer takes one of two texts of which one is its own, and one is right"
    elif not expected.interval:
        why = "there is no judgement of texts both of which are its own, or neither"
    return {
        "known": int(np.isfinite(own).sum()),
        "one_is_own": int(one_is_own.sum()),
        "n": int(decided.sum()),
        "takes_own": takes.to_json(),
        "against": "others" if right is None else "gold",
        "expected": expected.to_json(),
        "difference": (takes - expected).to_json(),
        **({"undefined": why} if why else {}),
    }


def _elsewhere(own: Floats, taken: Floats, decided: Floats, bootstrap: Bootstrap) -> Estimate:
    """The first and the second each count as often as they are its own."""
    sides = [decided & (own == side) for side in (1, -1)] + [(own == 0) & (taken == side) for side in (1, -1)]

    def fold(sums: Floats) -> Floats:  # (R, 4)
        mine, others = sums[:, :2], sums[:, 2:]
        return np.asarray((mine * others).sum(axis=1) / (mine.sum(axis=1) * others.sum(axis=1)))

    return bootstrap.sums(np.column_stack(sides), fold)


def self_preference_tables(parts: Json) -> Iterator[Table]:
    """A table of self-preference for a judge of two texts; none when no generators are known."""
    if not any(part["known"] for part in parts.values()):
        return
    columns: Columns = {"text": "text", "judgements": "n", "taken": "takes_own", "expected": "expected"}
    columns |= {"difference": "difference", "": lambda part: part.get("undefined", "")}
    caption = f"How often the judge takes its own of two texts, against {AGAINST[parts['own']['against']]}."
    yield Table.of(caption, ({"text": OWN[name], **part} for name, part in parts.items()), columns)
