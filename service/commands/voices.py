"""``pearl voices``"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from pearl.cli.commands import epilog, group
from pearl.cli.options import JSON_OPTION, USER_OPTION, write_json
from pearl.errors import InputError
from pearl.settings import load_settings
from pearl.text.templates import load_template, template_names
from pearl.text.usable import counted
from pearl.theta import theta_words
from service.commands.common import erase, open_database
from service.commands.shown import confirm, excerpt, for_terminal, moment, show_fields, show_table
from service.store import calibrations, users, voices
from service.store.calibrations import StoredCalibration
from service.store.voices import Voice

app = group("Look at a user's voices and set their instructions, template and k.")

SET_EXAMPLES = """
  pearl voices set email --instructions "British spelling; never 'Best regards'."
  pearl voices set blog --template post -k 3
  pearl voices set diary --local-only             no model outside this machine is shown its texts
  pearl voices set blog -k 0                      the template's number again
"""
NAME_ARGUMENT = typer.Argument(metavar="NAME", help="Name of the voice, from `pearl voices list`.")


@app.command("list", epilog=epilog("  pearl voices list --user ada"))
def list_voices(user: str | None = USER_OPTION, json: str | None = JSON_OPTION) -> None:
    """List the voices with their numbers of documents."""
    with open_database(load_settings()) as database, database.read() as connection:
        listed = voices.list_counted(connection, users.chosen(connection, user).id)
    if json:
        write_json(json, {"voices": [asdict(voice) for voice in listed]})
    elif not listed:
        typer.echo("No voices; an import with --voice makes one.", err=True)
    else:
        show_table(("name", "documents", "template", "k", "instructions"), (_row(voice) for voice in listed))


def _row(voice: Voice) -> tuple[object, ...]:
    return voice.name, voice.documents, voice.template, str(voice.k or "-"), excerpt(voice.instructions) or "-"


@app.command(epilog=epilog("  pearl voices show email"))
def show(name: str = NAME_ARGUMENT, user: str | None = USER_OPTION, json: str | None = JSON_OPTION) -> None:
    """Show one voice with its instructions, calibrations and edits; the name 'pearl' means the whole history."""
    from service.histories.profile import edits_json, outcomes_of, sent_pairs

    with open_database(load_settings()) as database, database.read() as connection:
        owner = users.chosen(connection, user).id
        voice = voices.get_or_whole(connection, owner, name)
        chosen = voices.chosen(name)
        calibrated = calibrations.of_voice(connection, owner, chosen)
        edits = edits_json(sent_pairs(connection, owner, chosen), outcomes_of(connection, owner, chosen))
    if json:
        write_json(
            json,
            asdict(voice) | {"calibrations": [calibration.to_json() for calibration in calibrated], "edits": edits},
        )
        return
    of_template = f"{load_template(voice.template).k} (the template's)"
    show_fields(
        (
            ("name", voice.name),
            ("documents", f"{voice.documents:,}"),
            ("template", voice.template),
            ("k", voice.k or of_template),
            *([("local only", "yes")] if voice.local_only else []),
            *([] if voice.edges else [("edges", "as the model writes them")]),
        )
    )
    typer.echo(f"instructions: {for_terminal(voice.instructions) or '-'}")
    for calibration in calibrated:
        key, made = calibration.key, moment(calibration.created_at)
        typer.echo(f"calibration: {_settings(calibration)} (for {key.model}, {key.retriever}, {made})")
    if edits["drafts"]:
        show_fields((("edits", _edits(edits)),))


def _edits(edits: dict[str, Any]) -> str:
    """Describe in words how the person changed drafts before sending them."""
    distance, trend = edits["distance"], edits["trend"]
    words = f"{edits['words_kept']:,} words kept, {edits['words_added']:,} added, {edits['words_removed']:,} removed"
    changed = f"distance {distance['value']:.2f}"
    if edits["drafts"] > 1:
        changed += f" ({distance['low']:.2f} to {distance['high']:.2f})"
    steps = "" if trend is None else f"; newer half {trend['value']:+.2f} ({trend['low']:+.2f} to {trend['high']:+.2f})"
    return f"{counted(edits['drafts'], 'draft')} sent, {words}, {changed}{steps}"


def _settings(calibration: StoredCalibration) -> str:
    """Describe the calibrated values in words."""
    chosen = dict(calibration.settings)
    if "threshold" in chosen:
        chosen["theta"] = theta_words(chosen.pop("threshold"), 2)
    return ", ".join(f"{name} {'none' if value is None else value}" for name, value in chosen.items()) or "the defaults"


@app.command("set", epilog=epilog(SET_EXAMPLES))
def set_voice(
    name: str = typer.Argument(metavar="NAME", help="Name of the voice; a new one is made."),
    user: str | None = USER_OPTION,
    instructions: str | None = typer.Option(
        None, "--instructions", metavar="TEXT", help="Standing instructions; they outrank the learned style."
    ),
    template: str | None = typer.Option(
        None, "--template", metavar="T", help=f"The prompt template: {', '.join(template_names())}."
    ),
    k: int | None = typer.Option(
        None, "-k", min=0, max=20, help="Documents to show the model; 0 for the template's number."
    ),
    local_only: bool | None = typer.Option(
        None, "--local-only/--no-local-only", help="Show its texts to no model outside this machine."
    ),
    edges: bool | None = typer.Option(
        None, "--edges/--no-edges", help="Begin and end its drafts as its texts do, by rule, as drafts do unless told."
    ),
) -> None:
    """Set the given properties of a voice; the others stay as they are."""
    voices.check_name(name)
    said = {"instructions": instructions, "template": template, "k": k, "local_only": local_only, "edges": edges}
    values: dict[str, Any] = {setting: value for setting, value in said.items() if value is not None}
    if instructions is not None:
        voices.check_instructions(instructions)
    if template is not None:
        values["template"] = load_template(template).name
    if k == 0:
        values["k"] = None
    with open_database(load_settings()) as database, database.write() as connection:
        is_new = voices.put(connection, users.chosen(connection, user).id, name, values)
        if not is_new and not values:
            raise InputError(
                f"The voice '{name}' is there already; say what to set with --instructions, --template, -k, "
                "--local-only or --edges."
            )
    typer.echo(f"{'Made' if is_new else 'Changed'} the voice '{name}'.", err=True)


@app.command(epilog=epilog("  pearl voices delete old-blog"))
def delete(
    name: str = NAME_ARGUMENT,
    user: str | None = USER_OPTION,
    yes: bool = typer.Option(False, "--yes", help="Delete without asking."),
) -> None:
    """Delete a voice; its documents stay in the history, in no voice."""
    with open_database(load_settings()) as database:
        with database.read() as connection:
            owner = users.chosen(connection, user)
            voice = voices.get_counted(connection, owner.id, name)
        confirm(f"Delete the voice '{name}' of {owner.name}? Its settings go, its documents stay.", yes=yes)
        with database.write(deletes=True) as connection:
            voices.remove(connection, owner.id, name)
        erase(database)
    stay = f"; {counted(voice.documents, 'document')} of it stay in the history" if voice.documents else ""
    typer.echo(f"Deleted the voice '{name}'{stay}.", err=True)
