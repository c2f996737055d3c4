"""``--choose NAME=VALUE``, and the options that it replaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Annotated, Any

import typer

from eval.asking.choices import Choice
from pearl.errors import InputError
from pearl.options import parameter

CHOOSE_HELP = "Override a choice of the preset, see below; repeatable."


def choose_option(*default: Any, **more: Any) -> Any:
    return typer.Option(*default, "--choose", metavar="NAME=VALUE", help=CHOOSE_HELP, **more)


CHOOSE_OPTION = choose_option([])


def spelled(chosen: Mapping[str, str]) -> list[str]:
    """The choices as ``--choose`` takes them, so that the command in a result's head makes the same."""
    return [f"{name}={value}" for name, value in chosen.items()]


def former_parameters(choices: Iterable[Choice]) -> list[Parameter]:
    """Hidden options that say how they are spelled now: ``--style-shown`` for the choice ``style_shown``."""
    former = []
    for choice in choices:
        flag = f"--{choice.name.replace('_', '-')}"
        option = typer.Option(flag, hidden=True, callback=_refuse(flag, choice.name))
        former.append(parameter(f"former_{choice.name}", Annotated[str | None, option]))
    return former


def _refuse(flag: str, choice: str) -> Callable[[str | None], None]:
    def refuse(value: str | None) -> None:
        if value is not None:
            raise InputError(f"{flag} is now --choose {choice}=VALUE: write --choose {choice}={value}.", param=choice)

    return refuse
