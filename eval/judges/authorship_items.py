"""The authorship judge's items: JSON Lines, optionally gzipped, a text somebody wrote and drafts of it a line.

``{"id"?, "user_id"?, "request"?, "reference", "candidates": {system: text | null, ...}, "generators"?: {system: model,
...}}``; null is a draft that failed, and the generators are the models that wrote the drafts. ``pearl eval generation
--drafts FILE`` writes such a file. Other fields are passed over and named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.asking.json_lines import check_fields, optional_id, optional_string, read_items
from pearl.errors import InputError
from pearl.texts import check_characters, check_id, check_text, json_type

if TYPE_CHECKING:
    from eval.drafts.systems import Case
    from eval.drafts.write import Written

FIELDS = frozenset({"id", "user_id", "request", "reference", "candidates", "generators"})


@dataclass(frozen=True, slots=True)
class Item:
    """``texts`` are the proposed system's and the baseline's, in this order; ``owner`` is whose text the reference is,
    that of an item that does not say is nobody else's; ``generators``: what wrote the texts, None where the line does
    not say."""

    line: int
    id: str
    owner: str
    reference: str
    texts: tuple[str, str]
    generators: tuple[str | None, str | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Items:
    """``systems``: the proposed one, the baseline. ``failed``: lines where either has no draft; they are no items."""

    systems: tuple[str, str]
    items: tuple[Item, ...]
    failed: Mapping[str, int]
    lines: int
    passed_over: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    id: str | None
    user_id: str | None
    reference: str
    candidates: Mapping[str, str | None]
    generators: Mapping[str, str | None]


def read_authorship_items(path: Path, systems: tuple[str, str] | None = None) -> Items:
    """The items of two systems; without ``systems`` of the only two there are.

    Raises InputError that names file, line and field of the first bad one.
    """
    if systems and systems[0] == systems[1]:
        raise InputError(f"--systems {systems[0]} {systems[1]}: name two different ones.", param="systems")

    def parse(value: dict[str, Any], number: int) -> _Line:
        nonlocal systems
        line = _parse(value, number)
        systems = systems or _only_two(line)
        _check_systems(line, systems)
        return line

    found = read_items(path, FIELDS, parse)
    assert systems is not None  # there is a line, and a line names two where nobody has
    items = [item for line in found.parsed if (item := _item(line, systems))]
    if not items:
        raise InputError(f"{path}: no line has a draft of both {systems[0]} and {systems[1]}.", param="candidates")
    failed = {name: sum(line.candidates[name] is None for line in found.parsed) for name in systems}
    return Items(systems, tuple(items), failed, len(found.parsed), found.passed_over)


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


def _parse(value: dict[str, Any], number: int) -> _Line:
    check_fields(value, "reference", "candidates")
    optional_string(value, "request")
    return _Line(
        number,
        optional_id(value),
        optional_id(value, "user_id"),
        check_text(value["reference"], param="reference"),
        _candidates(value["candidates"]),
        _generators(value.get("generators")),
    )


def _generators(value: Any) -> dict[str, str | None]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InputError(f"must be an object, not {json_type(value)}.", param="generators", code="wrong_type")
    return {
        name: None if model is None else check_id(model, param=f"generators.{name}") for name, model in value.items()
    }


def _candidates(value: Any) -> dict[str, str | None]:
    if not isinstance(value, dict):
        raise InputError(f"must be an object, not {json_type(value)}.", param="candidates", code="wrong_type")
    for name, text in value.items():
        if text is None:
            continue
        if not isinstance(text, str):
            raise InputError(
                f"must be a string or null, not {json_type(text)}.", param=f"candidates.{name}", code="wrong_type"
            )
        check_characters(text, param=f"candidates.{name}")
    return value


def _only_two(line: _Line) -> tuple[str, str]:
    names = tuple(line.candidates)
    if len(names) < 2:
        raise InputError(
            f"has {', '.join(names) or 'none'}; two are needed to compare.",
            param="candidates",
            code="missing_candidate",
        )
    if len(names) > 2:
        raise InputError(f"has {', '.join(names)}; choose two with --systems.", param="candidates", code="several")
    return names[0], names[1]


def _check_systems(line: _Line, systems: Sequence[str]) -> None:
    for name in systems:
        if name not in line.candidates:
            raise InputError(
                f"has no '{name}', only {', '.join(line.candidates) or 'none'}.",
                param="candidates",
                code="missing_candidate",
            )


def _item(line: _Line, systems: tuple[str, str]) -> Item | None:
    """A draft of nothing but spaces is one all the same, and the preflight says so."""
    first, second = (line.candidates[name] for name in systems)
    if first is None or second is None:
        return None
    owner = f"line {line.number}" if line.user_id is None else f"user {line.user_id}"
    generators = (line.generators.get(systems[0]), line.generators.get(systems[1]))
    return Item(line.number, line.id or f"line {line.number}", owner, line.reference, (first, second), generators)
