"""``--choose NAME=VALUE``, and the options that it replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from pearl.errors import InputError

CHOOSE_HELP = "Override a choice of the preset, see below; repeatable."


def choose_option(*default: Any, **more: Any) -> Any:
    return typer.Option(*default, "--choose", metavar="NAME=VALUE", help=CHOOSE_HELP, **more)


CHOOSE_OPTION = choose_option([])


def former_option(choice: str) -> Any:
    """A hidden option that says how it is spelled now: ``--style-shown`` for the choice ``style_shown``."""
    flag = f"--{choice.replace('_', '-')}"
    return typer.Option(flag, hidden=True, callback=_refuse(flag, choice))


def _refuse(flag: str, choice: str) -> Callable[[str | None], None]:
    def refuse(value: str | None) -> None:
        if value is not None:
            raise InputError(f"{flag} is now --choose {choice}=VALUE: write --choose {choice}={value}.", param=choice)

    return refuse
