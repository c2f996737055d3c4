"""``pearl hook``"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pearl.cli.commands import epilog, group
from pearl.cli.options import USER_OPTION, writing
from pearl.errors import InputError, PearlError
from pearl.models.chat.choose import make_chat_model
from pearl.models.weights.table import DEFAULT, SMALLEST
from pearl.settings import EMBEDDED_ENGINE, Settings, load_settings
from pearl.text.usable import check_text
from service.process.git_process import LONGEST_WAIT_S

if TYPE_CHECKING:
    from service.store.users import User

app = group("Draft the message of each commit from the staged change, before git opens the editor.")

MOST_TOKENS = 300  # of a message; few are longer, and the commit has to wait
HERE = Path()  # git runs a hook at the top of the working tree
INSTALL_EXAMPLES = """
  pearl hook install                              in the repository that you are in
  pearl hook install --repo ~/src/kettle --user ann --voice commits
  PEARL_NO_DRAFT=1 git commit                     without a draft, this time
"""
REPO_OPTION = typer.Option(Path(), "--repo", metavar="PATH", help="Repository; the one that you are in by default.")
VOICE_OPTION = typer.Option(
    None, "--voice", metavar="V", help="Voice to draft in; by default the only one of commit messages, if there is one."
)
LIMIT_OPTION = typer.Option(
    30.0, "--time-limit", metavar="S", min=1, max=LONGEST_WAIT_S, help="Longest time a commit waits, seconds."
)


@app.command(epilog=epilog(INSTALL_EXAMPLES))
def install(
    repo: Path = REPO_OPTION,
    user: str | None = USER_OPTION,
    voice: str | None = VOICE_OPTION,
    time_limit: float = LIMIT_OPTION,
) -> None:
    """Install the hook prepare-commit-msg, or renew it with other options.

    Another program's hook stays as it is. The history is made ready, so that the first commit does not wait for it.
    """
    from service.commands.common import open_database
    from service.hook.script import install as write_script
    from service.hook.script import script_path
    from service.store import users, voices

    settings = load_settings()
    path = script_path(repo)
    with open_database(settings) as database:
        with database.read() as connection:
            owner = users.chosen(connection, user)
            of_commits = [
                listed.name for listed in voices.list_all(connection, owner.id) if listed.template == "commit"
            ]
            if voice is None and len(of_commits) == 1:
                (voice,) = of_commits
            voice = voices.chosen_there(connection, owner.id, voice)
        options = ["--user", owner.name, *(["--voice", voice] if voice else []), "--time-limit", f"{time_limit:g}"]
        write_script(path, options)
        where = f"the voice '{voice}'" if voice else "the whole history"
        typer.echo(f"Installed {path}: drafts for {owner.name} from {where}.", err=True)
        if settings.engine == EMBEDDED_ENGINE and make_chat_model(settings).name == SMALLEST.name:
            typer.echo(
                f"SmolLM2 is too small to read a change; `pearl models get {DEFAULT}` brings a larger model.", err=True
            )
        asyncio.run(_embed(settings, owner))


async def _embed(settings: Settings, owner: User) -> None:
    from service.services import Services

    services = Services(settings)
    try:
        services.embed(owner.id)
    finally:
        await services.stop()


@app.command(epilog=epilog("  pearl hook remove --repo ~/src/kettle"))
def remove(repo: Path = REPO_OPTION) -> None:
    """Remove the hook that `pearl hook install` wrote."""
    from service.hook.script import remove as remove_script
    from service.hook.script import script_path

    path = script_path(repo)
    typer.echo(f"Removed {path}." if remove_script(path) else f"No hook at {path}.", err=True)


@app.command(epilog=epilog("  pearl hook run --user ann .git/COMMIT_EDITMSG"))
def run(
    file: Path = typer.Argument(metavar="FILE", help="Message file, as git names it to the hook."),
    source: str | None = typer.Argument(None, metavar="SOURCE", help="Origin of git's message; with one, no draft."),
    sha: str | None = typer.Argument(None, metavar="SHA", help="Commit that the message is from; not read."),
    user: str | None = USER_OPTION,
    voice: str | None = VOICE_OPTION,
    time_limit: float = LIMIT_OPTION,
) -> None:
    """Put a draft into a message file that holds none; the hook calls it.

    Whatever fails, the file stays as it was, one line says why, and the exit status is 0: the commit goes on.
    """
    complaint = f"it took longer than {time_limit:g} s; give `pearl hook install` a longer --time-limit"

    def put() -> None:
        nonlocal complaint
        complaint = _put_draft(file, source, user, voice)

    thread = threading.Thread(target=put, name="draft", daemon=True)
    thread.start()
    thread.join(time_limit)
    late = thread.is_alive()
    if late and sys.stderr.isatty():  # the status line would stay half written, without a cursor
        from rich.console import Console

        Console(stderr=True).show_cursor(True)
        typer.echo("", err=True)
    if complaint:
        typer.echo(f"pearl: no draft: {complaint.rstrip('.')}.", err=True)
    if late:  # a model that is being loaded or writes cannot be stopped
        os._exit(0)


def _put_draft(file: Path, source: str | None, user: str | None, voice: str | None) -> str:
    """Put a draft into the file. Return why there is no draft; "" if there is one or none is wanted."""
    from pearl.text.files.whole import opened
    from service.hook.message import comment_mark, has_text, is_unwanted, with_draft

    try:
        if is_unwanted(HERE, source):
            return ""
        with writing(str(file)):
            content = file.read_bytes()
        mark = comment_mark(HERE)
        if not has_text(content, mark):
            written = with_draft(content, mark, _draft(user, voice))
            with writing(str(file)), opened(file) as target:
                target.write(written)
    except PearlError as error:
        return error.message
    except Exception as error:  # whatever a library raises: a commit is worth more than its draft
        return f"{type(error).__name__}; `pearl draft` may say more"
    return ""


def _draft(user: str | None, voice: str | None) -> str:
    """Draft the message of the staged change; return its text. Raises PearlError."""
    from pearl.models.chat.base import Decoding
    from pearl.text.answers.marks import CLOSING
    from service.commands.writing import DraftWriter
    from service.drafting.drafter import NEVER, DraftJob
    from service.hook.staged import commit_job, staged_request

    request = check_text(staged_request(HERE), param="staged change")
    settings = load_settings()
    job = DraftJob(
        request,
        voice,
        revise=NEVER,  # a revision takes as long again, and no one can answer questions here
        decoding=Decoding(min(MOST_TOKENS, settings.max_draft_tokens), stop=(CLOSING,)),
    )
    with DraftWriter(settings, silent=True) as writer:
        written = writer.write(user, commit_job(job))
    text = written.text.strip()
    if not text or ("\n" not in text and text.endswith(":")):  # a small model announces a message and stops
        raise InputError("the model wrote no message.")
    return text
