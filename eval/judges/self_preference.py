"""A judge's preference for its own texts, or its family's, if the items say which models wrote them.

Dimensions in comments: N judgements, R resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import numpy as np
import typer

from eval.judges.items import Item
from eval.judges.judge import Judgement
from eval.report.tables import Columns, Json, Table
from pearl.stats import Bootstrap, Estimate, Floats

Generators = tuple[str | None, str | None]  # of the first text and the second, None where the item does not say


class AuthoredItem(Item, Protocol):
    @property
    def generators(self) -> Generators: ...


AuthoredT = TypeVar("AuthoredT", bound=AuthoredItem)
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


@dataclass(frozen=True, slots=True)
class SideChoices:
    """Judgements of two texts, (N,) each: 1 is the first of the item, -1 the second, 0 neither. ``right`` is None where
    no answer is."""

    generators: Sequence[Generators]
    taken: Floats
    right: Floats | None
    bootstrap: Bootstrap


def preference_of(
    names: frozenset[str],
    ability: Path | None,
    judgements: Sequence[Judgement[AuthoredT]],
    taken: Floats,
    right: Floats | None,
    bootstrap: Bootstrap,
) -> dict[str, Any]:
    """The self-preference of the judge with these ``names``, in judgements of items that say what wrote their texts."""
    generators = [judgement.trial.item.generators for judgement in judgements]
    return self_preference(names, families_of(ability), SideChoices(generators, taken, right, bootstrap))


def self_preference(names: Set[str], families: Mapping[str, str], choices: SideChoices) -> dict[str, Any]:
    """Measure how often the judge takes its own text when one of two is its own; with ``families`` of models by name,
    its family's too. An unknown family may be the judge's or not."""
    family = next((families[name] for name in sorted(names) if name in families), None)
    generators = {name for pair in choices.generators for name in pair if name is not None}
    parts: dict[str, dict[str | None, bool]] = {"own": {name: name in names for name in generators}}
    if families:
        parts["family"] = {name: families[name] == family for name in generators & families.keys() if family}
    return {name: _preference(choices, _own(choices.generators, is_own)) for name, is_own in parts.items()}


def _own(generators: Sequence[Generators], is_own: Mapping[str | None, bool]) -> Floats:
    """1 where only the first text is its own, -1 where only the second, else 0; NaN where it is not known: (N,)"""
    owned = np.array([[is_own.get(name, np.nan) for name in pair] for pair in generators], float).reshape(-1, 2)
    return np.asarray(owned[:, 0] - owned[:, 1])


def _preference(choices: SideChoices, own: Floats) -> dict[str, Any]:
    """Compare how often the judge takes its own text with how often that one is right, if one of two is right; else
    with how often it takes the same side when both texts or neither are its own."""
    right = choices.right
    one_is_own = np.nan_to_num(own) != 0
    decided = one_is_own & (choices.taken != 0) & (True if right is None else right != 0)
    takes = choices.bootstrap.share(choices.taken == own, decided)
    expected = _elsewhere(choices, own, decided) if right is None else choices.bootstrap.share(right == own, decided)
    why = _why(np.isfinite(own), one_is_own, decided, expected)
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


def _elsewhere(choices: SideChoices, own: Floats, decided: Floats) -> Estimate:
    """The first and the second each count as often as they are its own."""
    sides = [decided & (own == side) for side in (1, -1)] + [(own == 0) & (choices.taken == side) for side in (1, -1)]

    def fold(sums: Floats) -> Floats:  # (R, 4)
        mine, others = sums[:, :2], sums[:, 2:]
        return np.asarray((mine * others).sum(axis=1) / (mine.sum(axis=1) * others.sum(axis=1)))

    return choices.bootstrap.sums(np.column_stack(sides), fold)


def _why(known: Floats, one_is_own: Floats, decided: Floats, expected: Estimate) -> str | None:
    if not known.any():
        return "no item says which models, or which families, wrote both of its texts"
    if not one_is_own.any():
        return "of no item only one text is its own"
    if not decided.any():
        return "no answer takes one of two texts of which one is its own, and one is right"
    return None if expected.interval else "there is no judgement of texts both of which are its own, or neither"


def self_preference_tables(parts: Json) -> Iterator[Table]:
    """A table of self-preference for a judge of two texts; none when no generators are known."""
    if not any(part["known"] for part in parts.values()):
        return
    columns: Columns = {"text": "text", "judgements": "n", "taken": "takes_own", "expected": "expected"}
    columns |= {"difference": "difference", "": lambda part: part.get("undefined", "")}
    caption = f"How often the judge takes its own of two texts, against {AGAINST[parts['own']['against']]}."
    yield Table.of(caption, ({"text": OWN[name], **part} for name, part in parts.items()), columns)
