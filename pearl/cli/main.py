"""The command line. A command's module is imported when that command runs, so that ``pearl --help`` is quick."""

from __future__ import annotations

import sys

INTERRUPTED = 130  # exit status, also of a command that Ctrl-C ends later

try:
    import atexit
    import errno
    import gc
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from contextlib import contextmanager
    from io import TextIOWrapper
    from typing import Any

    import typer
    from typer._click.exceptions import NoArgsIsHelpError, NoSuchOption, UsageError

    from pearl import __version__
    from pearl.cli.commands import LazyGroup, epilog, gone
    from pearl.errors import InputError, PearlError
    from pearl.extras import missing_extra
except KeyboardInterrupt:  # a tenth of a second goes by before main() could say so
    sys.exit(INTERRUPTED)

# what people do -> name of a command -> (module, one line of help)
GROUPS = {
    "Bring your writing in": {
        "import": ("service.commands.imports", "Bring a user's own writing into their history."),
        "imports": ("service.commands.past_imports", "List past imports, and undo one."),
        "documents": ("service.commands.documents", "Look at the documents of a history, keep and delete them."),
        "export": ("service.commands.export", "Write everything PEARL keeps of a user, or their history, into a file."),
    },
    "Draft": {
        "draft": ("service.commands.draft", "Draft a text the way a user would have written it."),
        "drafts": ("service.commands.drafts", "List a user's latest drafts, and what became of them."),
        "check": ("service.commands.check", "Find what a draft states that nobody said."),
        "edit": (
            "service.commands.edit",
            "Rewrite a draft's weak spans; of several edits, take the best.",
        ),
        "likeness": ("service.commands.likeness", "Say how likely it is that a user wrote a text."),
        "feedback": ("service.commands.feedback", "Say what became of a draft."),
    },
    "Draft in other programs": {
        "serve": ("service.commands.serve", "Serve the HTTP API."),
        "mcp": ("service.commands.mcp", "Serve drafts to a model over the Model Context Protocol, on standard input."),
        "hook": ("service.commands.hook", "Draft commit messages where `git commit` opens the editor."),
        "mail": (
            "service.commands.mail",
            "Learn from the mail you send, and put drafts into your mail program.",
        ),
    },
    "Your manner": {
        "voices": ("service.commands.voices", "Look at a user's voices and set their instructions, template and k."),
        "profile": ("service.commands.profile", "Show a user's voice card: habits with rates, and what edits change."),
        "calibrate": ("service.commands.calibrate", "Choose theta, margin and k for a user from their own past texts."),
    },
    "Keep it running": {
        "doctor": ("service.commands.doctor", "Check everything that PEARL needs to run, with a text for an issue."),
        "users": ("service.commands.users", "List the users, and delete one."),
        "keys": ("service.commands.keys", "Make, list and revoke API keys."),
        "models": ("service.commands.models", "Fetch the weights of chat models, list and remove them."),
        "backup": ("service.commands.backup", "Write a backup of the database into a file."),
        "restore": ("service.commands.restore", "Read a backup into an empty database, or check it."),
        "move": ("service.commands.move", "Copy everything into another database, SQLite or PostgreSQL."),
    },
    "Train and measure": {
        "rank": ("retriever.commands.rank", "Score the documents of each line of a file for its request."),
        "train": ("training.commands", "Train a retriever from histories, step by step, or a reward model."),
        "compare": ("eval.commands.compare", "Draft with two retrievers, let a judge compare, get win rates."),
        "eval": ("eval.commands", "Measure retrieval, calibration, generation and revision."),
        "judge": ("eval.commands.judge", "Let a chat model judge texts, and measure the judge."),
        "forensics": ("eval.commands.forensics", "Find out what a manner is made of: traits of feedback and models."),
        "ratings": ("eval.commands.ratings", "Collect ratings by people, on a page that needs no network."),
    },
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
EXAMPLES = """
  pearl import ~/mail/Sent.mbox --user me --me me@example.org
  pearl draft "Ask Nan for the costume rails again"
  pearl serve
"""

COLLECTED_AFTER = 50_000  # new objects; Python's own threshold is 700


@contextmanager
def usage_errors_on_one_line() -> Iterator[None]:
    """Turn typer's usage errors, which take several lines, into InputError with a message of one line."""
    try:
        yield
    except NoArgsIsHelpError:  # its message is the whole help
        raise
    except UsageError as error:
        said = error.message if isinstance(error, NoSuchOption) else error.format_message()
        line = " ".join(said.split())  # the values of a choice stand on a line each
        name = error.option_name if isinstance(error, NoSuchOption) else line.partition("No such command '")[2]
        if error.ctx and (instead := gone(error.ctx.command_path, name.partition("'")[0])):
            line = instead
        elif isinstance(error, NoSuchOption) and error.possibilities:
            line += f". Did you mean {' or '.join(sorted(error.possibilities))}?"
        line += "" if line.endswith((".", "?")) else "."
        raise InputError(f"{line} See '{error.ctx.command_path} --help'." if error.ctx else line) from None


class Commands(LazyGroup):
    """The group of all commands. Its help shows the lines in COMMANDS, and imports no command for that."""

    modules: Mapping[str, str] = {name: module for name, (module, _) in COMMANDS.items()}

    @usage_errors_on_one_line()
    def make_context(self, *args: Any, **options: Any) -> Any:
        return super().make_context(*args, **options)

    @usage_errors_on_one_line()
    def invoke(self, context: Any) -> Any:
        return super().invoke(context)

    def get_command(self, context: Any, name: str) -> Any:
        if name in COMMANDS:
            from pearl.cli.silent_libraries import silence_expected

            silence_expected()
        return super().get_command(context, name)

    def format_commands(self, context: Any, formatter: Any) -> None:
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in group.items()])


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="PEARL drafts text the way this person would have written it, from their own past writing.",
    epilog=epilog(EXAMPLES) + "\n\nHow to go on: README.md and docs/, and /docs of `pearl serve` for the API.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pearl {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    pass


@contextmanager
def missing_extras_named(words: Sequence[str]) -> Iterator[None]:
    """Turn a failed import into MissingExtra if an extra installs the module. ``words``: the command line."""
    try:
        yield
    except ModuleNotFoundError as error:
        module, _ = COMMANDS.get(words[0], ("", "")) if words else ("", "")
        missing = missing_extra(error.name or "", module.partition(".")[0])
        raise missing or error from None


def run(words: Sequence[str]) -> None:
    """Run a command in this process, as a step of another one."""
    command = typer.main.get_command(app)
    with missing_extras_named(words), command.make_context("pearl", list(words)) as context:
        command.invoke(context)


def main() -> None:
    """Run the command line; a PearlError becomes one line on standard error and its exit status."""
    # Libraries make some 100,000 objects that live until the end: without this each command would spend a tenth of a
    # second on looking for garbage among them while they come, and another at its end.
    gc.set_threshold(COLLECTED_AFTER)
    atexit.register(gc.freeze)
    if isinstance(sys.stdout, TextIOWrapper):
        # files and programs get UTF-8, which every command reads, whatever the locale; a terminal shows what it can
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="replace")
        else:
            sys.stdout.reconfigure(encoding="utf-8")
    try:
        with missing_extras_named(sys.argv[1:]):
            app(prog_name="pearl")
    except PearlError as error:
        typer.echo(f"pearl: {error.message}", err=True)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:  # before or after a command's own work, which typer watches
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of our output left, as in `pearl ... | head`
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        from pearl.text.files.whole import NO_ROOM

        if error.errno == errno.ENAMETOOLONG:
            typer.echo(f"pearl: {error.filename}: a name in this path is too long; choose a shorter one.", err=True)
            sys.exit(InputError.exit_status)
        if error.errno not in NO_ROOM:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to write would fail at exit again
        why = "is full" if error.errno == errno.ENOSPC else f"takes no more ({error.strerror})"
        typer.echo(f"pearl: The disk that the output goes to {why}; free some space and run it again.", err=True)
        sys.exit(1)
