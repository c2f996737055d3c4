"""Turning functions that return a report into commands: their output options, and the command line in the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from eval.asking.choices import NO_CHOICES, Presets
from eval.report.head import Head
from eval.report.report import Outputs, Report
from pearl.cli.options import JSON_OPTION, bundled, parameter, parameters_of


def reporting(
    *words: str,
    picture: str = "",
    page: bool = False,
    writes: Sequence[str] = (),
    presets: Presets = NO_CHOICES,
) -> Callable[[Callable[..., Report]], Callable[..., None]]:
    """Make a command of a function that returns a report. The command gets the option ``--json``; ``--picture`` if
    ``picture`` is its help; ``--report`` if ``page`` is true. A function with a parameter ``picture`` gets its value.

    ``words``: the command's name, such as eval, style. In the head of the result all options follow the name, and every
    choice of ``presets``. ``writes``: options that name more output files; these are not in the head. All files are
    checked before the work.
    """
    outputs = [
        parameter(name, Annotated[kind | None, typer.Option(metavar=metavar, help=text)])
        for name, kind, metavar, text in (
            ("picture", Path, "FILE.svg", picture),
            ("report", Path, "FILE.html", "Write everything as one page." if page else ""),
            ("json", str, "FILE", JSON_OPTION.help),
        )
        if text
    ]

    def command_of(function: Callable[..., Report]) -> Callable[..., None]:
        written = signature(function, eval_str=True)
        parameters = list(written.parameters.values())

        @wraps(function)
        def command(**given: Any) -> None:
            files = Outputs(given["json"], given.get("picture"), given.get("report"))
            read = [value for option, value in _values(parameters, given) if option.name not in ("picture", *writes)]
            inputs = [path for value in read for path in (value if isinstance(value, list) else [value])]
            inputs = [path for path in inputs if isinstance(path, Path)]
            files.check(inputs, {f"--{name.replace('_', '-')}": given[name] for name in writes})
            report = function(**{option.name: given[option.name] for option in parameters})
            held, arguments = dict(report.options), dict[str, Any]()
            if presets.choices:
                chosen = presets.chosen(given["preset"], given["choose"])
                held["choose"] = [f"{name}={value}" for name, value in chosen.items()]
            for option, value in _values(parameters, given):
                if option.name not in ("picture", *writes):
                    arguments |= [flag_of(option, held.get(option.name, value))]
            files.write(report.head or Head.of(*words, **arguments), report)

        command.__signature__ = written.replace(parameters=[*parameters, *outputs])  # type: ignore[attr-defined]
        return bundled(command)

    return command_of


def _values(declared: Sequence[Parameter], given: Mapping[str, Any]) -> Iterator[tuple[Parameter, Any]]:
    """Yield each option with its value; options of bundles come last."""
    bundles = [option for option in declared if is_dataclass(option.annotation)]
    yield from ((option, given[option.name]) for option in declared if option not in bundles)
    for bundle in bundles:
        yield from ((option, getattr(given[bundle.name], option.name)) for option in parameters_of(bundle.annotation))


def flag_of(declared: Parameter, value: object) -> tuple[str, object]:
    """The option's flag on the command line, and its value. A switch that is off becomes its negative flag
    (``--no-...``) with the value True, if it has such a flag."""
    info = declared.default if isinstance(declared.default, OptionInfo) else declared.annotation.__metadata__[0]
    flag = declared.name.replace("_", "-")
    if value is False and True in (info.default, declared.default):
        return f"--no-{flag}", True
    names = [info.default, *(info.param_decls or ()), f"--{flag}"]
    on, _, off = next(name for name in names if isinstance(name, str) and name.startswith("--")).partition("/")
    return (off, True) if off and value is False else (on, value)
