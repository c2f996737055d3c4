"""Commands from declared options: the annotated fields of a dataclass become options of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_origin, get_type_hints

from eval.asking.choices import Choice
from eval.commands.choose import former_option


def parameters_of(options: type[Any]) -> Iterator[Parameter]:
    """The fields of a dataclass that are annotated with an option of the command line."""
    hints = get_type_hints(options, include_extras=True)
    for field in fields(options):
        if get_origin(hints[field.name]) is Annotated:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            default = Parameter.empty if default is MISSING else default
            yield parameter(field.name, hints[field.name], default)


def parameter(name: str, annotation: Any, default: object = None) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def former_parameters(choices: Iterable[Choice]) -> list[Parameter]:
    """Hidden options that say how a choice is spelled now."""
    return [parameter(f"former_{choice.name}", Annotated[str | None, former_option(choice.name)]) for choice in choices]


def command_of(function: Callable[..., None], choices: Iterable[Choice] = ()) -> Callable[..., None]:
    """The function with the fields of its records of options, in the place of each record, as its parameters."""
    given = signature(function, eval_str=True).parameters
    records: dict[str, Any] = {name: one.annotation for name, one in given.items() if is_dataclass(one.annotation)}
    former = former_parameters(choices)
    parameters = [
        each.replace(kind=Parameter.KEYWORD_ONLY)
        for name, one in given.items()
        for each in (parameters_of(records[name]) if name in records else (one,))
    ]

    def command(**values: Any) -> None:
        for one in former:
            del values[one.name]
        for name, record in records.items():
            values[name] = record(**{each.name: values.pop(each.name) for each in parameters_of(record)})
        function(**values)

    command.__signature__ = Signature([*parameters, *former])  # type: ignore[attr-defined]
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    return command
