"""Commands that report figures: their output options, the head of the result, and the registration of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from eval.asking.choices import Choice
from eval.commands.choose import former_parameters
from eval.report.head import Head
from eval.report.report import Outputs, Report
from pearl.options import JSON_OPTION, bundled, check_writable, parameter, parameters_of


def reporting(
    *words: str,
    picture: str = "",
    page: bool = False,
    writes: Sequence[str] = (),
    unsaid: Sequence[str] = (),
    former: Iterable[Choice] = (),
) -> Callable[[Callable[..., Report]], Callable[..., None]]:
    """Make a command of a function that returns a report: with ``--json``, with ``--picture`` if its help is given, and
    with ``--report`` if there is a ``page``.

    ``words`` name the command in the head of the result, where every option follows: the function's own, then those of
    its bundles. Options of ``writes`` name more files to write, and are left out there; so are those ``unsaid``, on
    which no figure depends. All files are checked before the work. ``former`` choices once were options.
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
        own = list(written.parameters.values())

        @wraps(function)
        def command(**given: Any) -> None:
            files = Outputs(given.pop("json"), given.pop("picture", None), given.pop("report", None))
            files.check()
            for name in writes:
                check_writable(f"--{name.replace('_', '-')}", given[name])
            report = function(**given)
            told: dict[str, Any] = {}
            for option, value in _values(own, given):
                if option.name not in (*writes, *unsaid):
                    told |= [flag_of(option, report.options.get(option.name, value))]
            files.write(report.head or Head.of(*words, **told), report)

        command.__signature__ = written.replace(parameters=[*own, *outputs])  # type: ignore[attr-defined]
        return bundled(command, former_parameters(former))

    return command_of


def _values(declared: Sequence[Parameter], given: Mapping[str, Any]) -> Iterator[tuple[Parameter, Any]]:
    """Yield each option and its value, those of bundles last."""
    bundles = [option for option in declared if is_dataclass(option.annotation)]
    yield from ((option, given[option.name]) for option in declared if option not in bundles)
    for bundle in bundles:
        yield from ((option, getattr(given[bundle.name], option.name)) for option in parameters_of(bundle.annotation))


def flag_of(declared: Parameter, value: object) -> tuple[str, object]:
    """The option's name on the command line and its value; a switch that is on by default has a second name for off."""
    info = declared.default if isinstance(declared.default, OptionInfo) else declared.annotation.__metadata__[0]
    flag = declared.name.replace("_", "-")
    if value is False and True in (info.default, declared.default):
        return f"--no-{flag}", True
    names = [info.default, *(info.param_decls or ()), f"--{flag}"]
    return next(name for name in names if isinstance(name, str) and name.startswith("--")), value


def add_commands(app: typer.Typer, *modules: ModuleType) -> None:
    """Add each module's command, the function with the name of the module, and its ``EXAMPLES``."""
    for module in modules:
        name = module.__name__.rpartition(".")[2]
        app.command(name.replace("_", "-"), epilog=module.EXAMPLES)(getattr(module, name))
