"""The head of a result file: the command that made the result, PEARL's version and, if a judge was asked, its model."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from pearl import __version__
from pearl.settings import Settings


@dataclass(frozen=True, slots=True)
class Head:
    """The origin of a result: the command that makes the result again, and the judge's model."""

    command: str  # makes the result again; without where results and raw replies are kept
    judge: str | None = None  # the model, if a judge made it

    @classmethod
    def of(cls, *words: str, judge: str | None = None, settings: Settings | None = None, **options: object) -> Head:
        """Make the head of a command line: ``words`` (such as eval, style) and options. An option that is True becomes
        a flag, a tuple several words, a list one option per value; None and False are left out. Settings that change
        the figures and are not the default are put before the command as environment variables."""
        named = {name if name.startswith("--") else f"--{name.replace('_', '-')}": options[name] for name in options}
        arguments = [word for flag, value in named.items() for word in _words(flag, value)]
        before = [
            f"PEARL_{name.upper()}={getattr(settings, name)}"
            for name in ("encoder", "max_draft_tokens")
            if settings and getattr(settings, name) != Settings.model_fields[name].default
        ]
        return cls(shlex.join([*before, "pearl", *words, *arguments]), judge)

    def to_json(self) -> dict[str, str]:
        head = {"command": self.command, "version": __version__}
        return head if self.judge is None else head | {"judge": self.judge}


def _words(option: str, value: object) -> Iterator[str]:
    for part in value if isinstance(value, list) else [value]:
        if part is None or part is False:
            continue
        yield option
        yield from map(_spelled, part if isinstance(part, tuple) else () if part is True else (part,))


def _spelled(value: object) -> str:
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)
