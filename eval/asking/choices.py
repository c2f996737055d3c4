"""Points that a paper leaves open, or has in two ways: named choices, and the presets that make all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from textwrap import wrap

from pearl.cli.options import known, named_values
from pearl.errors import InputError

HELP_WIDTH = 96  # characters of a line of help


@dataclass(frozen=True, slots=True)
class PaperChoice:
    """``values``: what each of them does; ``why`` there is a choice."""

    name: str
    values: Mapping[str, str]
    why: str


@dataclass(frozen=True, slots=True)
class Preset:
    """A value for every choice."""

    name: str
    description: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Presets:
    """The first preset is the default. Raises ValueError for a preset that leaves a choice open or unknown."""

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
        """The values of a preset with those given as NAME=VALUE instead. Raises InputError for unknown ones."""
        presets = {preset.name: preset for preset in self.presets}
        values = presets[known("preset", preset_name, presets)].values
        choices = {choice.name: choice for choice in self.choices}
        given = named_values(overrides, choices)
        for name, value in given.items():
            if value not in choices[name].values:
                there = ", ".join(choices[name].values)
                raise InputError(f"--choose {name}={value}: there are {there}.", param="choose")
        return {**values, **given}

    def values_in(self, options: object) -> dict[str, str]:
        """The value of every choice, as options with fields of these names have it."""
        return {choice.name: getattr(options, choice.name) for choice in self.choices}

    def plus(self, choice: PaperChoice, value: str) -> Presets:
        """These with one more choice, of which every preset takes the same value."""
        presets = (replace(preset, values={**preset.values, choice.name: value}) for preset in self.presets)
        return Presets((*self.choices, choice), tuple(presets))

    def help(self) -> str:
        """The presets and choices for the end of a command's help, each paragraph to be shown as it is."""
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
TOP_P = PaperChoice(
    "top_p",
    {"1": "tokens are drawn from all; any other share by --top-p", "0.95": "the least likely 5% are never drawn"},
    "The paper on the personalised judge says 0.95. Its code never sent it, so that its figures were drawn with 1.",
)


def _fit(line: str) -> list[str]:
    """The line, broken where it is too long for the help; what follows is indented further."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return wrap(line, HELP_WIDTH - 2, subsequent_indent=indent)
