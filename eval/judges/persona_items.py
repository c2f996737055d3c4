"""The items of the personalised judge: JSON Lines, optionally gzipped, a person, two texts and their choice a line.

``{"id"?, "persona"?: {field: value, ...} | text, "question"?, "responses": {"A": text, "B": text}, "preferred": "A" |
"B" | "C", "generator_a"?, "generator_b"?}``; C is a tie, and the generators are the models that wrote A and B. Other
fields are passed over and named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.asking.json_lines import check_fields, optional_id, read_items
from eval.asking.verdict import Answer
from eval.recorded.personalized.reply import LETTERS
from pearl.errors import InputError
from pearl.texts import check_characters, check_text, json_type

FIELDS = frozenset({"id", "persona", "question", "responses", "preferred", "generator_a", "generator_b"})


@dataclass(frozen=True, slots=True)
class PersonaItem:
    """``persona``: what is known of the person, by field; one without a name where the file has it as a text.
    ``generators``: who wrote the responses, None where the file does not say."""

    id: str
    persona: Mapping[str, str]
    question: str
    responses: tuple[str, str]
    preferred: Answer
    generators: tuple[str | None, str | None] = (None, None)

    def profile(self, fields: Sequence[str] | None) -> str:
        """A line a field, of all or of those named, where they are known, in the persona's own order."""
        names = [name for name in self.persona if fields is None or name in fields]
        return "\n".join(f"{name}: {self.persona[name]}" if name else self.persona[name] for name in names)


@dataclass(frozen=True, slots=True)
class PersonaItems:
    items: tuple[PersonaItem, ...]
    passed_over: Mapping[str, int]

    @property
    def fields(self) -> dict[str, int]:
        """Count the items that have each field of a persona."""
        return dict(Counter(name for item in self.items for name in item.persona if name))

    def named(self, option: str, fields: str) -> tuple[str, ...]:
        """The fields that an option names, with commas between. Raises InputError for one that no persona has."""
        names = tuple(filter(None, map(str.strip, fields.split(","))))
        wrong = [name for name in names if name not in self.fields]
        if wrong or not names:
            has = ", ".join(self.fields) or "none"
            raise InputError(f"--{option} {', '.join(wrong)}: the personas have {has}.", param=option)
        return names


def read_persona_items(path: Path) -> PersonaItems:
    """Read the items. Raises InputError that names file, line and field of the first bad one."""
    lines = read_items(path, FIELDS, _parse)
    return PersonaItems(lines.parsed, lines.passed_over)


def _parse(value: dict[str, Any], number: int) -> PersonaItem:
    check_fields(value, "responses", "preferred")
    preferred = LETTERS.get(value["preferred"]) if isinstance(value["preferred"], str) else None
    if preferred is None:
        raise InputError("must be 'A', 'B' or 'C' (a tie).", param="preferred", code="invalid_value")
    responses = value["responses"]
    if not isinstance(responses, dict) or set(responses) != {"A", "B"}:
        raise InputError("must be an object with 'A' and 'B'.", param="responses", code="wrong_type")
    question = value.get("question")
    return PersonaItem(
        optional_id(value) or f"line {number}",
        _persona(value.get("persona")),
        "" if question is None else check_text(question, param="question"),
        (check_text(responses["A"], param="responses.A"), check_text(responses["B"], param="responses.B")),
        preferred,
        (optional_id(value, "generator_a"), optional_id(value, "generator_b")),
    )


def _persona(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if isinstance(value, str):
        return {"": check_characters(value, param="persona")} if value.strip() else {}
    if not isinstance(value, dict):
        raise InputError(f"must be an object or a string, not {json_type(value)}.", param="persona", code="wrong_type")
    return {name: text for name, said in value.items() if (text := _said(name, said))}


def _said(name: str, value: Any) -> str:
    if isinstance(value, str):
        return check_characters(value, param=f"persona.{name}").strip()
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return "" if value is None else str(value)
    raise InputError(
        f"must be a string or a number, not {json_type(value)}.", param=f"persona.{name}", code="wrong_type"
    )
