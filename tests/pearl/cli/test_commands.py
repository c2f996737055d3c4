from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import typer

from pearl.cli.commands import add_commands, click_command, epilog, group
from pearl.errors import InputError


def a_module(name: str, **more: object) -> ModuleType:
    """A module of one command, that says its name."""
    module = ModuleType(f"somewhere.{name}")

    def command(count: int = typer.Option(1, help="Times.")) -> None:
        """Say it."""
        typer.echo(f"{name} {count}")

    module.__dict__.update({name: command, "EXAMPLES": f"\n  pearl {name}\n", **more})
    return module


def test_the_end_of_a_help_has_the_examples_last():
    assert epilog("\n  pearl tea\n  pearl cup\n", "A line is a cup.") == (
        "A line is a cup.\n\nExamples:\n\n\b\n  pearl tea\n  pearl cup"
    )
    assert epilog("  pearl tea") == "Example:\n\n\b\n  pearl tea"
    assert epilog("", "", "Choices.") == "Choices."


def test_a_module_of_one_command(capsys):
    command = click_command(a_module("tea", ABOUT="A line is a cup."))
    command.main(["--count", "2"], standalone_mode=False)
    assert capsys.readouterr().out == "tea 2\n"
    assert command.epilog == "A line is a cup.\n\nExample:\n\n\b\n  pearl tea"


def test_an_option_that_takes_one_path_is_given_once():
    def tea(one: Path = typer.Option("a"), some: list[Path] = typer.Option([]), count: int = typer.Option(1)) -> None:
        typer.echo(f"{one} {len(some)} {count}")

    module = ModuleType("somewhere.tea")
    module.__dict__.update({"tea": tea, "EXAMPLES": ""})
    command = click_command(module)
    command.main(["--some", "a", "--some", "b", "--count", "1", "--count", "2"], standalone_mode=False)
    for words in (["--one", "a", "--one", "b"], ["--one=a", "--one=a", "--some", "c"]):
        with pytest.raises(InputError, match="--one is given 2 times and takes one path"):
            command.main(words, standalone_mode=False)


@pytest.mark.parametrize("words", ["--one - c", "--one=- c", "--some a --some - c", "c -"])
def test_a_path_is_no_standard_stream(words):
    def tea(
        files: list[Path] = typer.Argument(metavar="CUPS"),
        one: Path | None = typer.Option(None),
        some: list[Path] = typer.Option([]),
        json: str = typer.Option(""),
    ) -> None:
        typer.echo(f"{files} {one} {some} {json}")

    module = ModuleType("somewhere.tea")
    module.__dict__.update({"tea": tea, "EXAMPLES": ""})
    command = click_command(module)
    command.main(["c", "--one", "a", "--some", "b", "--json", "-"], standalone_mode=False)
    with pytest.raises(InputError, match=r"(--one|--some|CUPS) -: cannot be standard input or output; give a path"):
        command.main(words.split(), standalone_mode=False)


def test_a_module_of_several_has_an_app():
    app = group("Make tea.")
    add_commands(app, a_module("tea"), a_module("tea_cup"))
    module = ModuleType("kitchen")
    module.__dict__["app"] = app
    assert sorted(click_command(module).commands) == ["tea", "tea-cup"]


def test_a_group_shows_the_first_sentence_of_each_command_to_its_end(capsys):
    app = group("Make tea.")
    sentence = "Make tea for everybody who comes in from the harbour, whatever the hour, and wash the cups up."
    add_commands(app, a_module("tea"))
    app.command("pot", help=f"{sentence} A second sentence is for the command's own help.")(lambda: None)
    typer.main.get_command(app).main(["--help"], standalone_mode=False)
    said = " ".join(capsys.readouterr().out.split())
    assert f"pot {sentence}" in said
    assert "second sentence" not in said
