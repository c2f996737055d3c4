"""Builds typer commands from modules. A module with one command defines a function of the module's name, the text
``EXAMPLES`` and, if needed, ``ABOUT``; a module with several commands defines an ``app``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from pearl.errors import InputError

STREAM = Path("-")
LONGEST_SENTENCE = 300  # characters of a command's help; typer ends it with dots where the line ends


class PathCommand(TyperCommand):
    """A command that refuses a second path for an option that takes one path, and '-' as a path. An option that may
    mean standard input or output must be declared as a string."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.params:
            takes_one = (
                isinstance(param, TyperOption) and not param.multiple and param.type_descriptor.annotation is Path
            )
            if takes_one and given.count(param) > 1:
                times = f"{'/'.join(param.opts)} is given {given.count(param)} times"
                raise InputError(f"{times} and takes one path; give one.", param=param.name)
        rest = super().parse_args(ctx, args)
        for param in self.params:
            value = ctx.params.get(param.name)
            if STREAM in (value if isinstance(value, list) else [value]):
                named = "/".join(param.opts) if isinstance(param, TyperOption) else param.metavar
                raise InputError(f"{named} -: cannot be standard input or output; give a path.", param=param.name)
        return rest


class Sentences(TyperGroup):
    """A group whose help shows the whole first sentence of each command's help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            commands: list[tuple[str, Any]] = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
            formatter.write_dl([(name, command.get_short_help_str(LONGEST_SENTENCE)) for name, command in commands])


class LazyGroup(Sentences):
    """A command group that imports a command's module when the command is used. ``modules``: module by command."""

    modules: Mapping[str, str] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # stand-ins: typer seeks a misspelt command's neighbours among their names
        self.commands = {name: TyperCommand(name) for name in self.modules}

    def get_command(self, ctx: Any, name: str) -> Any:
        if name not in self.modules:
            return None
        command = click_command(import_module(self.modules[name]))
        command.name = name
        return command


def group(help: str, cls: type[Sentences] = Sentences) -> typer.Typer:
    """Make a command group. Its commands are added later, or the class ``cls`` provides them."""
    return typer.Typer(cls=cls, add_completion=False, rich_markup_mode=None, no_args_is_help=True, help=help)


def group_of(package: ModuleType, help: str) -> typer.Typer:
    """Make a command group with one command for each module of ``package``: a new module is a new command."""
    found = {one.name.replace("_", "-"): f"{package.__name__}.{one.name}" for one in iter_modules(package.__path__)}

    class Modules(LazyGroup):
        modules = found

    app = group(help, Modules)
    app.callback()(lambda: None)
    return app


def add_commands(app: typer.Typer, *modules: ModuleType, cls: type[TyperCommand] = PathCommand) -> None:
    """Add each module's command to ``app``. The command's help ends with the module's texts ``ABOUT``, if there is one,
    and ``EXAMPLES``."""
    for module in modules:
        name, ends = module.__name__.rpartition(".")[2], epilog(module.EXAMPLES, getattr(module, "ABOUT", ""))
        app.command(name.replace("_", "-"), cls=cls, epilog=ends)(getattr(module, name))


def click_command(module: ModuleType) -> Any:
    """Return the command of a module, or its group of commands, as an object of click."""
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        add_commands(app, module)
    return typer.main.get_command(app)


def epilog(examples: str, *about: str) -> str:
    """Make the end of a command's help: the texts ``about``, then the examples, line by line, if there are any."""
    lines = examples.strip("\n")
    title = "Examples" if "\n" in lines else "Example"
    return "\n\n".join(filter(None, (*about, f"{title}:\n\n\b\n{lines}" if lines else "")))


CONSTANT = "it is a constant now; leave it out"
PRICES = "set PEARL_LLM_PRICES, such as 0.15,0.60"
IN_HOME = "what was written is kept in PEARL_HOME"
DRAFT_TOKENS = "set PEARL_MAX_DRAFT_TOKENS"
KEPT = "kept replies are used anyway; --dry-run says what is missing"
# a command, or the words that several begin with, and what went from below it
GONE = {
    **{f"{command} --resamples": CONSTANT for command in ("eval", "forensics")},
    **{f"{command} --seed": CONSTANT for command in ("eval", "forensics")},
    "eval --without-near-duplicates": "give --near-duplicates 0.5",
    "eval best-of": "commit 86407d3d has it",
    "eval shown": "use pearl eval generation --by-count",
    **dict.fromkeys(("judge authorship --ability", "judge personalized --ability"), "pearl eval style has it"),
    "eval manner": "commit 847c86b2 has it",
    "eval content": "use pearl eval quality --texts",
    "eval edits": "use pearl eval quality --traces",
    "eval experts": "use pearl eval quality --annotations",
    "eval quality --no-perplexity": "leave it out; only --perplexity is slow",
    "eval claims": "commit 86407d3d has it",
    "eval questions": "pearl train fit chooses the floor below which a user is asked; commit 86407d3d measures it",
    "documents delete --import": "use pearl imports undo ID",
    **{
        f"train --{name}": f"give --choose {name}=VALUE"
        for name in ("tau", "y0", "normalize", "share", "positives", "negatives", "loss")
    },
    **{
        f"train --{name}": f"give --choose {name.replace('-', '_')}=VALUE, or --config FILE"
        for name in (
            *("preset", "seed", "device", "dtype", "template", "least-candidates", "users", "metric", "encoder"),
            *("dev-share", "patience"),
        )
    },
    **{
        f"train --{name}": f"give --choose {name.replace('-', '_')}=yes"
        for name in ("first-stage-only", "keep-cross-encoder", "four-bit")
    },
    **{
        f"train chat --{name.replace('_', '-')}": f"give --choose {name}=VALUE"
        for name in ("rank", "alpha", "dropout", "epochs", "rate", "batch", "accumulate", "max_tokens", "patience")
    },
    **{f"{command} --replay": KEPT for command in ("judge", "forensics")},
    "--encoder": "set PEARL_ENCODER",
    "--max-in-flight": "set PEARL_MAX_IN_FLIGHT",
    "--price-in": PRICES,
    "--price-out": PRICES,
    "--ray": "set PEARL_RAY",
    "--bertscore": "PEARL_ENCODER names its encoder",
    "--generations": IN_HOME,
    "--replies": IN_HOME,
    "eval --max-tokens": DRAFT_TOKENS,
    "compare --max-tokens": DRAFT_TOKENS,
    "forensics pairs --max-tokens": DRAFT_TOKENS,
    **{
        f"{command} --{name}": f"give --choose {name.replace('-', '_')}=NUMBER"
        for command in ("judge", "compare", "forensics annotate", "forensics discover")
        for name in ("temperature", "top-p", "max-tokens", "seed")
    },
    "judge items --seed": CONSTANT,
    "eval --stance-rules": "give --stances RULES",
    "forensics discover --embed": "set PEARL_ENCODER",
    "search": "use pearl documents list WORDS, or for drafts pearl drafts list WORDS",
    "documents search": "use pearl documents list WORDS",
    "train fit --ray": "this machine trains the cross-encoder; leave it out",
    "forensics report --title": CONSTANT,
    "serve --force": "set PEARL_RETRIEVER_FORCE=1",
    "train --lora": "a cross-encoder is trained whole; leave it out",
}


def gone(path: str, name: str) -> str | None:
    """Say what replaced a removed option or command: ``name``, below the command ``path``, such as "pearl eval". Return
    None if there never was such an option or command."""
    words = path.split()[1:]
    places = (" ".join((*words[:count], name)) for count in range(len(words), -1, -1))
    return next((f"{name} went: {GONE[place]}" for place in places if place in GONE), None)
