"""``pearl profile``"""

from __future__ import annotations

import typer

from pearl.cli.options import JSON_OPTION, USER_OPTION, check_writable, write_json
from pearl.errors import InputError
from pearl.settings import load_settings
from service.commands.common import erase, open_database
from service.commands.shown import for_terminal
from service.store import users
from service.store.voices import chosen

EXAMPLES = """
  pearl profile --voice email
  pearl profile --voice email --format skill > SKILL.md
  pearl profile --voice email --strike "word:whilst" --correct "dashes=Dashes in posts only."
  pearl profile --voice email --standing
"""


def profile(
    user: str | None = USER_OPTION,
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="Voice; the whole history if not given."),
    format: str = typer.Option("text", "--format", metavar="F", help="Form of the card: text, prompt or skill."),
    confirm: list[str] | None = typer.Option(None, "--confirm", metavar="LINE", help="Say that a line is right."),
    correct: list[str] | None = typer.Option(
        None, "--correct", metavar="LINE=TEXT", help="Put your own text in place of a line's."
    ),
    strike: list[str] | None = typer.Option(None, "--strike", metavar="LINE", help="Strike a line out."),
    delete: list[str] | None = typer.Option(
        None, "--delete", metavar="LINE", help="Take a line off the card, until --restore."
    ),
    restore: list[str] | None = typer.Option(
        None, "--restore", metavar="LINE", help="Take back what you said of a line."
    ),
    standing: bool | None = typer.Option(
        None, "--standing/--not-standing", help="Use the lines as standing instructions in drafts, or no longer."
    ),
    json: str | None = JSON_OPTION,
) -> None:
    """Show a user's voice card: habits with rates and the texts behind them, and what their edits change."""
    from service.histories.profile import FORMATS, choose_line, profile_of, shown_as, use_as_instructions
    from service.store.profiles import CORRECTED, checked_choice

    if format not in FORMATS[1:]:
        raise InputError(f"--format must be one of {', '.join(FORMATS[1:])}.")
    check_writable("--json", json)
    choices = [
        (f"{flag} {name}", name, checked_choice(name, {"state": state}))
        for flag, state, names in (
            ("--restore", "listed", restore),
            ("--confirm", "confirmed", confirm),
            ("--strike", "struck", strike),
            ("--delete", "deleted", delete),
        )
        for name in names or ()
    ]
    for pair in correct or ():
        name, _, text = pair.partition("=")
        if not text.strip():
            raise InputError(f"--correct {pair}: give LINE=TEXT.")
        choices.append((f"--correct {pair}", name, checked_choice(name, {"state": CORRECTED, "text": text})))
    earlier: dict[str, str] = {}
    for words, name, _ in choices:
        if name in earlier:
            raise InputError(f"{words}: {earlier[name]} is given too; give one for a line.")
        earlier[name] = words
    with open_database(load_settings()) as database:
        with database.read() as connection:
            owner = users.chosen(connection, user).id
            card = profile_of(connection, owner, chosen(voice))
        if choices or standing is not None:
            with database.write() as connection:
                for _, name, choice in choices:
                    card = choose_line(connection, owner, card, name, choice)
                if standing is not None:
                    card = use_as_instructions(connection, owner, card, standing)
        if delete:
            erase(database)
    if json:
        write_json(json, card.to_json())
    else:
        typer.echo(for_terminal(shown_as(card, format)), nl=False)
