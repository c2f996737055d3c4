"""Prompt templates of the auxiliary model for the two terms of equation 1 (papers/pearl.txt, prompts 3 to 6)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from pearl.errors import InputError
from pearl.text.templates import SLOT, fill

# the slots that a field must have, and those that it may have besides
SLOTS = {
    "example": ({"text"}, set[str]()),
    "without_document": ({"request"}, {"examples"}),
    "with_document": ({"document", "request"}, set[str]()),
}
FIELDS = ("description", *SLOTS)


@dataclass(frozen=True, slots=True)
class AuxiliaryTemplate:
    """Prompts that ask the auxiliary model for the target text, with a document and without."""

    description: str
    example: str
    without_document: str
    with_document: str

    def prompt_with(self, document: str, request: str) -> str:
        return fill(self.with_document, document=document, request=request)

    def prompt_without(self, request: str, examples: tuple[str, ...]) -> str:
        shown = "\n\n".join(fill(self.example, text=text) for text in examples)
        return fill(self.without_document, examples=shown, request=request)


def auxiliary_template(name: str) -> AuxiliaryTemplate:
    """Load a shipped template by name, or a TOML file by path. Raises InputError if it is missing or malformed."""
    source = Path(name) if name.endswith(".toml") else Path(str(files(__package__) / f"{name}.toml"))
    try:
        fields = tomllib.loads(source.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{source}: is not a TOML file in UTF-8 ({error}).", param="template") from None
    except OSError:
        ours = sorted(path.stem for path in Path(str(files(__package__))).glob("[!_]*.toml"))
        raise InputError(
            f"There is no template '{name}'; there are {', '.join(ours)}, or name a TOML file.", param="template"
        ) from None
    missing = [field for field in FIELDS if not isinstance(fields.get(field), str)]
    if missing:
        raise InputError(f"{source}: '{missing[0]}' is missing, or not a text.", param=missing[0])
    for field, (needed, more) in SLOTS.items():
        _check_slots(source, field, fields[field], needed, more)
    return AuxiliaryTemplate(*(fields[field].lstrip("\n") for field in FIELDS))


def _check_slots(source: Path, field: str, text: str, needed: set[str], more: set[str]) -> None:
    slots = set(SLOT.findall(text))
    for slot in sorted(needed - slots):
        raise InputError(f"{source}: '{field}' lacks the slot {{{slot}}}.", param=field)
    for slot in sorted(slots - needed - more):
        known = ", ".join(f"{{{name}}}" for name in sorted(needed | more))
        raise InputError(f"{source}: '{field}' has no slot {{{slot}}}; there are {known}.", param=field)
