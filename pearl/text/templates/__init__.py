"""Prompt templates: a TOML file with named slots for each kind of text, and the frame of messages they share."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pearl.errors import InputError

COMMIT = "commit"  # the template of commit messages, which PEARL's hook drafts
DEFAULT_TEMPLATE = "free"
SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Template:
    """The words of prompts for one kind of text."""

    name: str
    description: str
    k: int  # number of documents that help most (papers/pearl.txt: 3 for posts, 4 for comments)
    noun: str
    guidance: str
    task: str
    sent: bool = False  # to someone, often as an answer


@cache
def template_names() -> tuple[str, ...]:
    stems = (entry.name.removesuffix(".toml") for entry in files(__package__).iterdir() if entry.name.endswith(".toml"))
    return tuple(sorted(name for name in stems if not name.startswith("_")))


@cache
def load_template(name: str) -> Template:
    """Load a template by its name. Raises InputError, which lists the names."""
    if name not in template_names():
        raise InputError(f"There is no template '{name}'; there are {', '.join(template_names())}.", param="template")
    return Template(name=name, **_read(name))


@cache
def change_template() -> Template:
    """Return the template for whole commit messages. No voice may use it: all documents shown must be whole
    messages."""
    return Template(name="change", **_read("_change"))


@cache
def frame() -> dict[str, str]:
    """Return the parts of prompts that all templates share, by name."""
    return {name: text.strip("\n") for name, text in _read("_frame").items()}


def fill(text: str, /, **slots: str) -> str:
    """Fill the slots in one pass, so that braces inside a value stay as they are. Raises KeyError if one is missing."""
    return SLOT.sub(lambda match: slots[match[1]], text)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))
