"""Pairs of texts of which a person wrote or chose one, and counts of what a build read and dropped, by reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.asking.json_lines import check_fields
from pearl.errors import InputError
from pearl.text.history.files import parse_numbered_lines
from pearl.text.usable import json_type

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
NAMED = 5  # of what was dropped for a reason


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """The options of ``pearl judge persona-items``."""

    choices: Mapping[str, str]  # value by name
    encode: Encode  # gives the vectors of personas
    ties: bool = False  # keep them
    own_family: str | None = None  # leave out texts of models whose name contains this
    limit: int | None = None  # of items, for a survey of each question's; None for the paper's number
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PersonaPair:
    """A person's details (``persona``) and two texts, of which the person wrote or chose ``right``."""

    id: str
    persona: Mapping[str, str]
    question: str
    right: str  # written or chosen by the person; for a tie, either of the two
    wrong: str
    tie: bool = False
    generators: tuple[str | None, str | None] = (None, None)  # of right and wrong

    def to_item(self, swapped: bool) -> dict[str, Any]:
        """Convert the pair to an item of ``pearl judge personalized``; ``swapped``: the right text becomes B, not A."""
        first, second = (self.wrong, self.right) if swapped else (self.right, self.wrong)
        names = self.generators[::-1] if swapped else self.generators
        known = zip(("generator_a", "generator_b"), names, strict=True)
        return {
            "id": self.id,
            "persona": dict(self.persona),
            **({"question": self.question} if self.question else {}),
            "responses": {"A": first, "B": second},
            "preferred": "C" if self.tie else "B" if swapped else "A",
            **{name: generator for name, generator in known if generator},
        }


@dataclass
class Ledger:
    """Counts of the records that a build read, and the names of the records that it dropped, by reason."""

    read: Counter[str] = field(default_factory=Counter)  # number by kind
    # names by reason
    dropped: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def drop(self, why: str, what: str) -> None:
        self.dropped[why].append(what)

    def keeps(self, what: str, faults: Mapping[str, bool]) -> bool:
        """Return True if no fault holds; otherwise record ``what`` as dropped for the first fault that holds."""
        why = next((fault for fault, holds in faults.items() if holds), None)
        if why is not None:
            self.drop(why, what)
        return why is None

    def to_json(self) -> dict[str, Any]:
        return {
            "read": dict(self.read),
            "dropped": [
                {"reason": why, "count": len(names), "first": names[:NAMED]} for why, names in self.dropped.items()
            ],
        }

    def check_left(self, source: str, left: Sequence[object]) -> None:
        """Check that ``left`` is not empty. Raises InputError with the counts of what was dropped or read."""
        if not left:
            counts = {why: len(names) for why, names in self.dropped.items()} or self.read
            why = ", ".join(f"{what}: {count:,}" for what, count in counts.items()) or "there was nothing"
            raise InputError(f"{source}: no item is left ({why}).")


def persona_of(fields: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Keep only the fields with a stated value: not empty, nan, none, refused or "prefer not to say"."""
    stated = ((name, " ".join(str(value).split())) for name, value in fields if value is not None)
    return {
        name: value
        for name, value in stated
        if value and value.casefold() not in ("nan", "none", "refused") and "prefer not to say" not in value.casefold()
    }


def the_file(folder: Path, *patterns: str) -> Path:
    """Return the only file below the folder that matches the first pattern, or else a later pattern; or ``folder``
    itself, if it is a matching file. Raises InputError if no pattern matches exactly one file."""
    if folder.is_file() and any(fnmatch(folder.name.casefold(), pattern) for pattern in patterns):
        return folder
    if not folder.is_dir():
        raise InputError(f"--data {folder}: must be the folder with {' or '.join(patterns)}.")
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    matching = [[path for path in files if fnmatch(path.name.casefold(), pattern)] for pattern in patterns]
    for paths in matching:
        if len(paths) == 1:
            return paths[0]
    names = f"{max(map(len, matching))} files match" if any(matching) else "there is no file"
    raise InputError(f"--data {folder}: {names} {' or '.join(patterns)}; there must be one.")


def json_rows(path: Path, *needed: str, objects: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield each line's object. Raises InputError if a field is missing, or one of ``objects`` is no object."""

    def checked(value: dict[str, Any], number: int) -> dict[str, Any]:
        check_fields(value, *needed, *objects)
        for name in objects:
            if not isinstance(value[name], dict):
                must = f"must be an object, not {json_type(value[name])}; is it another version?"
                raise InputError(must, param=name)
        return value

    yield from parse_numbered_lines(path, checked)
