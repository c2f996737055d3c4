"""Options shared by commands of several packages, checks of their values, and writing to the files they name."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import orjson
import typer

from pearl.errors import InputError
from pearl.settings import AUTO, ENGINES
from pearl.text.files.whole import opened
from pearl.text.usable import meant, storable

USER_OPTION = typer.Option(None, "--user", metavar="U", help="User; may be left out when there is only one.")
LLM_OPTION = typer.Option(
    None,
    "--llm",
    metavar="LLM",
    help=f"Chat model: {', '.join(ENGINES)} or {AUTO}; overrides PEARL_LLM.",
)
RAY_OPTION = typer.Option(
    None,
    "--ray",
    metavar="ADDRESS",
    help="Ray cluster whose workers run the model; overrides PEARL_RAY.",
)
JSON_OPTION = typer.Option(None, "--json", metavar="FILE", help="Write plain JSON to FILE, '-' for standard output.")


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command: each field of its dataclass parameters becomes an option, whose value fills the field."""
    written = signature(command, eval_str=True)
    bundles: dict[str, Any] = {
        name: option.annotation for name, option in written.parameters.items() if is_dataclass(option.annotation)
    }
    flags = [
        flag.replace(kind=Parameter.KEYWORD_ONLY)
        for name, option in written.parameters.items()
        for flag in (parameters_of(bundles[name]) if name in bundles else (option,))
    ]

    @wraps(command)
    def run(**values: Any) -> None:
        for name, bundle in bundles.items():
            values[name] = bundle(**{flag.name: values.pop(flag.name) for flag in parameters_of(bundle)})
        command(**values)

    run.__annotations__ = {flag.name: flag.annotation for flag in flags}
    run.__signature__ = written.replace(parameters=flags)  # type: ignore[attr-defined]
    return run


def parameters_of(bundle: type[Any]) -> Iterator[Parameter]:
    """Yield a keyword parameter for each field of the dataclass ``bundle`` that is annotated with a command-line
    option. Required options come first."""
    kinds = get_type_hints(bundle, include_extras=True)
    for field in sorted(fields(bundle), key=lambda field: not (field.default is field.default_factory is MISSING)):
        if get_origin(kinds[field.name]) is Annotated:
            default = field.default if field.default_factory is MISSING else field.default_factory()
            yield parameter(field.name, kinds[field.name], Parameter.empty if default is MISSING else default)


def parameter(name: str, annotation: Any, default: object = None) -> Parameter:
    """Make a keyword parameter of a command, for its signature."""
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def known(option: str, name: str, among: Collection[str]) -> str:
    """Return the ``name`` given for an option. Raises InputError if it is not ``among`` the allowed names."""
    if name not in among:
        raise InputError(f"--{option} {name}: there are {', '.join(among)}.{meant(name, among)}", param=option)
    return name


def named_values(choose: Iterable[str] | None, names: Collection[str]) -> dict[str, str]:
    """Read --choose NAME=VALUE; return values by name. Raises InputError for a malformed, unknown or repeated NAME."""
    found: dict[str, str] = {}
    for word in choose or ():
        name, sign, value = (part.strip() for part in word.partition("="))
        if not sign:
            raise InputError(f"--choose {word}: must be NAME=VALUE.", param="choose")
        if name not in names:
            raise InputError(f"--choose {word}: there are {', '.join(names)}.", param="choose")
        if name in found:
            raise InputError(f"--choose {word}: --choose {name}={found[name]} is given too; give one.", param="choose")
        found[name] = value
    return found


def write_json(target: str, value: Any, *, private: bool = False) -> None:
    """Write a value as JSON to a file, atomically, or to standard output if ``target`` is '-'. Only the owner may read
    a ``private`` file. Raises InputError when the file cannot be written."""
    text = _laid_out(_encodable(value))
    if target == "-":
        typer.echo(text)
        return
    with writing(f"--json {target}"), opened(Path(target), private=private) as file:
        file.write(f"{text}\n".encode())


def write_text(option: str, path: Path, text: str) -> None:
    """Write a text atomically to the file that an option names. Raises InputError when it cannot be written."""
    with writing(f"{option} {path}"), opened(path) as file:
        file.write(text.encode())


def _laid_out(value: Any, indent: str = "") -> str:
    """The value as JSON. An object or array that holds no other, such as an interval, stands on one line."""
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(child, (dict, list)) and child for child in children):
        return orjson.dumps(value).decode()
    inner = indent + "  "
    if isinstance(value, list):
        lines = [f"{inner}{_laid_out(child, inner)}" for child in value]
    else:
        lines = [f"{inner}{orjson.dumps(name).decode()}: {_laid_out(child, inner)}" for name, child in value.items()]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    return f"{opening}\n" + ",\n".join(lines) + f"\n{indent}{closing}"


def _encodable(value: Any) -> Any:
    """Replace bytes of paths that are not UTF-8, which JSON cannot hold, by '?'."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    return value


@contextmanager
def writing(called: str) -> Iterator[None]:
    """Turn a failure to write a file into InputError. ``called``: the file's name in the error message."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{called}: {error.strerror}", code="unwritable_file") from error


def check_writable(option: str, target: str | Path | None, inputs: Iterable[Path] = ()) -> None:
    """Check, before the work begins, that an option's file can be written and is none of the command's ``inputs``.
    Raises InputError."""
    if target is None or str(target) == "-":
        return
    path = Path(target)
    if not path.parent.is_dir():
        raise InputError(f"{option} {target}: there is no folder {path.parent}.", code="unwritable_file")
    if path.is_dir():
        raise InputError(f"{option} {target}: that is a folder; name a file.", code="unwritable_file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(f"{option} {target}: you may not write to it; name another file.", code="unwritable_file")
    check_unread(option, path, inputs)


def check_outputs(outputs: Mapping[str, str | Path | None], inputs: Iterable[Path] = ()) -> None:
    """Check each option's file as check_writable does, and that no two options name one file. Raises InputError."""
    for option, target in outputs.items():
        check_writable(option, target, inputs)
    check_apart(outputs)


def check_apart(outputs: Mapping[str, str | Path | None]) -> None:
    """Check that no two options name one file to write. Raises InputError."""
    named: dict[Path, str] = {}
    for option, target in outputs.items():
        if target is not None and str(target) != os.devnull:
            other = named.setdefault(Path(target).resolve(), option)
            if other != option:
                raise InputError(
                    f"{option} {target}: is the file of {other}; name another one.", code="unwritable_file"
                )


def check_unread(option: str, target: Path, inputs: Iterable[Path]) -> None:
    """Check that the file to write is not one of the input files. Raises InputError."""
    if target.exists() and any(file.exists() and target.samefile(file) for file in inputs):
        raise InputError(f"{option} {target}: is a file that is read; name another one.", code="unwritable_file")
