"""Choices between a paper's readings, for --choose, and presets: named sets of values for all choices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from textwrap import wrap
from typing import Any

from pearl.cli.options import known, named_values
from pearl.errors import InputError

HELP_WIDTH = 96  # characters of a line of help


@dataclass(frozen=True, slots=True)
class PaperChoice:
    """A choice that a paper leaves open. ``values``: each value and what it does; ``why``: why there is a choice."""

    name: str
    values: Mapping[str, str]
    why: str


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of values, one for every choice."""

    name: str
    description: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Presets:
    """A set of choices, and presets that fix them, the default first. Raises ValueError if a preset lacks a choice or
    value."""

    choices: tuple[PaperChoice, ...]
    presets: tuple[Preset, ...]

    def __post_init__(self) -> None:
        allowed = {choice.name: set(choice.values) for choice in self.choices}
        for preset in self.presets:
            if preset.values.keys() != allowed.keys():
                raise ValueError(f"The preset {preset.name} must choose {', '.join(allowed)}.")
            for name, value in preset.values.items():
                if value not in allowed[name]:
                    raise ValueError(f"The preset {preset.name} chooses {name}={value}, which is not declared.")

    @property
    def default(self) -> str:
        return self.presets[0].name

    def chosen(self, preset_name: str, overrides: Iterable[str] | None = ()) -> dict[str, str]:
        """Return each choice's value: the preset's, or that of an override NAME=VALUE. Raises InputError."""
        presets = {preset.name: preset for preset in self.presets}
        values = presets[known("preset", preset_name, presets)].values
        choices = {choice.name: choice for choice in self.choices}
        given = named_values(overrides, choices)
        for name, value in given.items():
            if value not in choices[name].values:
                there = ", ".join(choices[name].values)
                raise InputError(f"--choose {name}={value}: there are {there}.")
        return {**values, **given}

    def values_in(self, options: object) -> dict[str, str]:
        """Return each choice's value in ``options``, which has a field of the choice's name."""
        return {choice.name: getattr(options, choice.name) for choice in self.choices}

    def plus(self, choice: PaperChoice, value: str) -> Presets:
        """Return a copy with another choice, which has the same value in every preset."""
        presets = (replace(preset, values={**preset.values, choice.name: value}) for preset in self.presets)
        return Presets((*self.choices, choice), tuple(presets))

    def help(self) -> str:
        """Return the text on presets and choices for the end of a command's help, with its line breaks kept."""
        if not self.choices:
            return ""
        parts = [["Presets, the first by default:"]]
        parts[0] += [f"  {preset.name}: {preset.description}" for preset in self.presets]
        for choice in self.choices:
            parts.append([f"--choose {choice.name}=VALUE. {choice.why}"])
            for value, says in choice.values.items():
                presets = self._presets_with(choice.name, value)
                parts[-1].append(f"  {value} ({presets}): {says}" if presets else f"  {value}: {says}")
        return "\n\n".join("\n".join(("\b", *chain.from_iterable(map(_fit, part)))) for part in parts)

    def _presets_with(self, name: str, value: str) -> str:
        return ", ".join(preset.name for preset in self.presets if preset.values[name] == value)


NO_CHOICES = Presets((), (Preset("default", "", {}),))


@dataclass(frozen=True, slots=True)
class NumberChoice:
    """A numeric parameter that --choose NAME=NUMBER sets, with its allowed range."""

    name: str
    least: float
    most: float
    whole: bool
    help: str

    def parsed(self, text: str) -> float:
        """Parse the number. Raises InputError for text that is no number in the allowed range."""
        try:
            number = int(text) if self.whole else float(text)
        except ValueError:
            number = math.nan
        if not self.least <= number <= self.most:
            kind = "a whole number" if self.whole else "a number"
            most = "" if math.isinf(self.most) else f" to {self.most:g}"
            raise InputError(f"--choose {self.name}={text}: give {kind} from {self.least:g}{most}.")
        return number


NUMBERS = (
    NumberChoice("temperature", 0, 2, False, "Temperature of the judge; at 0, runs are copies."),
    NumberChoice(
        "top_p",
        0.01,
        1,
        False,
        "Draw from the likeliest tokens of this share. The paper on the personalised judge says 0.95; its code never "
        "sent it, so its figures were drawn with 1.",
    ),
    NumberChoice("max_tokens", 1, math.inf, True, "Tokens in a reply at most; a reply cut off there is invalid."),
    NumberChoice("seed", 0, math.inf, True, "Seed of samples and random orders."),
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """The way a judge's replies are sampled from the model, and the seed of samples and random orders."""

    temperature: float
    top_p: float = 1.0
    max_tokens: int | None = None  # as many as the way of asking needs
    seed: int = 0

    def plus(self, choose: Iterable[str] | None) -> tuple[Drawing, list[str]]:
        """Apply the settings NAME=NUMBER; return the result, and all other settings. Raises InputError."""
        numbers = {number.name: number for number in NUMBERS}
        mine, others = list[str](), list[str]()
        for word in choose or ():
            (mine if word.partition("=")[0].strip() in numbers else others).append(word)
        given: dict[str, Any] = {name: numbers[name].parsed(text) for name, text in named_values(mine, numbers).items()}
        return replace(self, **given), others

    def at_most(self, max_tokens: int) -> Drawing:
        """Return a copy with ``max_tokens`` as the limit of a reply, unless a limit is set already."""
        return replace(self, max_tokens=self.max_tokens or max_tokens)

    def words(self) -> list[str]:
        """Return the parameters as NAME=NUMBER settings for --choose."""
        values = {number.name: getattr(self, number.name) for number in NUMBERS}
        return [
            f"{name}={value:g}" for name, value in values.items() if value is not None and (name, value) != ("top_p", 1)
        ]

    def help(self) -> str:
        """Return the help text on the NAME=NUMBER parameters."""
        lines = ["\b", "--choose NAME=NUMBER. How replies are drawn:"]
        for number in NUMBERS:
            default = getattr(self, number.name)
            shown = "" if default is None else f" ({default:g})"
            lines += _fit(f"  {number.name}{shown}: {number.help}")
        return "\n".join(lines)


def _fit(line: str) -> list[str]:
    """Wrap a line that is too long for the help; continuation lines are indented further."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return wrap(line, HELP_WIDTH - 2, subsequent_indent=indent)
