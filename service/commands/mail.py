"""``pearl mail``"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import quote

import typer
from filelock import FileLock, Timeout

from pearl.cli.commands import epilog, group
from pearl.cli.options import LLM_OPTION, USER_OPTION, writing
from pearl.errors import Conflict, InputError
from pearl.settings import load_settings
from pearl.text.files.whole import private_folder
from pearl.text.usable import check_id
from service.store.voices import check_name

app = group("Learn from the mail you send, and lay drafts of answers into your mail program. Nothing is ever sent.")

ADDRESS = typer.Argument(metavar="ADDRESS", help="Your mail address.")
SECRET_FILE_OPTION = typer.Option(
    None, "--secret-file", metavar="FILE", help="File of mode 0600 with the password or token; else the keyring."
)
FLAG = re.compile(r"[A-Za-z0-9$_.-]{1,100}")
SIGN_IN_EXAMPLES = """
  pearl mail sign-in ann@example.org                                 asks for the password
  pearl mail sign-in ann@gmail.com --client client_secret.json       opens a browser
  pearl mail sign-in ann@outlook.com --client 8c5f29b0-5d4f-4c0e     shows a code to enter
  pearl mail sign-in ann@example.org --secret-file ~/.pearl-mail < password.txt
"""
WATCH_EXAMPLES = """
  pearl mail watch ann@example.org --host imap.example.org --user ann
  pearl mail watch ann@gmail.com --user ann --voice email --answer-flag flagged
  pearl mail watch ann@example.org --host localhost:1143 --starttls --ca-file bridge.pem --answer-folder "To answer"
"""


@app.command("sign-in", epilog=epilog(SIGN_IN_EXAMPLES))
def sign_in(
    address: str = ADDRESS,
    client: str | None = typer.Option(
        None, "--client", metavar="ID", help="OAuth client that you registered: its id, or its JSON file."
    ),
    provider: str | None = typer.Option(
        None, "--provider", metavar="NAME", help="Provider where the address does not tell it: gmail or outlook."
    ),
    secret_file: Path | None = SECRET_FILE_OPTION,
) -> None:
    """Store the password of an account, or with --client an OAuth grant of Gmail or Outlook."""
    from service.mail import account, oauth

    known = account.provider_of(account.check_address(address), provider)
    if client is not None:
        granted = oauth.sign_in(oauth.read_client(client, known.client if known else None), address, _say)
        text = granted.to_text()
    elif sys.stdin.isatty():
        text = typer.prompt(f"Password of {address}", hide_input=True, err=True)
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    if not text:
        raise InputError("The password is empty; nothing is stored.")
    account.store_secret(address, secret_file, text)
    _say(f"Stored in {secret_file or 'the keyring'}.")


@app.command(epilog=epilog(WATCH_EXAMPLES))
def watch(
    address: str = ADDRESS,
    host: str | None = typer.Option(
        None, "--host", metavar="HOST[:PORT]", help="IMAP server; known for Gmail and Outlook addresses."
    ),
    starttls: bool = typer.Option(False, "--starttls", help="Begin TLS by STARTTLS, on port 143 by default."),
    ca_file: Path | None = typer.Option(None, "--ca-file", metavar="FILE", help="Certificates to trust."),
    login: str | None = typer.Option(None, "--login", metavar="NAME", help="Name to log in with; else the address."),
    secret_file: Path | None = SECRET_FILE_OPTION,
    user: str | None = USER_OPTION,
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="Voice of your mails and of the drafts."),
    me: list[str] = typer.Option(
        [], "--me", metavar="IDENTITY", help="Another address or name that you send from; repeatable."
    ),
    answer_flag: str | None = typer.Option(
        None, "--answer-flag", metavar="FLAG", help="Draft for messages with this flag: flagged, or a keyword."
    ),
    answer_folder: str | None = typer.Option(
        None, "--answer-folder", metavar="FOLDER", help="Draft for messages in this folder; with a flag, the inbox."
    ),
    sent: str | None = typer.Option(None, "--sent", metavar="FOLDER", help="Folder of sent mail."),
    drafts: str | None = typer.Option(None, "--drafts", metavar="FOLDER", help="Folder that drafts go into."),
    new: bool = typer.Option(False, "--new", help="Leave out mail that was sent before the first start."),
    every: float = typer.Option(60.0, "--every", metavar="S", min=1, max=1500, help="Longest time between two looks."),
    once: bool = typer.Option(False, "--once", help="Look once and end, as for cron."),
    llm: str | None = LLM_OPTION,
) -> None:
    """Watch a mail account: what you send becomes history, and messages that wait for an answer get a draft in Drafts.

    Each draft answers its message in its thread; you read it, change it and send it. Mail sent from a draft is feedback
    on it. It runs until Ctrl-C and reconnects by itself; stopped at any moment, it goes on where it was.
    """
    from service.commands.common import open_database
    from service.commands.writing import DraftWriter
    from service.mail.account import account_of, load_secret
    from service.mail.state import State
    from service.mail.watch import MailWatcher, WatchOptions
    from service.store import users, voices
    from service.store.ids import digest
    from service.store.replies import MAIL

    settings = load_settings(llm=llm)
    account = account_of(address, host, starttls=starttls, ca_file=ca_file, login=login)
    if answer_flag is not None and not FLAG.fullmatch(answer_flag):
        raise InputError(f"--answer-flag {answer_flag}: is no flag; give flagged, or a keyword.")
    voice = None if voice is None else check_name(voice, param="--voice")
    user = None if user is None else check_id(user, param="--user")
    secret = load_secret(address, secret_file)
    with open_database(settings) as database:
        with database.write() as connection:
            owner = users.chosen(connection, None) if user is None else users.ensure(connection, {user})[user]
            if voice is not None:
                voices.ensure(connection, {owner.id: {voice}})
        owned = digest(settings.resolved_database_url, str(owner.id)).hex()
        wanted = WatchOptions(
            (address, *me), voice, answer_folder, answer_flag, sent, drafts, new, every, once,
            settings.max_draft_tokens,
        )  # fmt: skip
        path = settings.home / MAIL / f"{owner.id}.{quote(address, safe='@+')}.json"
        with writing(str(path)):
            private_folder(path.parent)
        try:
            with FileLock(path.with_suffix(".lock"), timeout=0), DraftWriter(settings, silent=True) as writer:
                state = State.load(path, owned)
                MailWatcher(account, secret, wanted, database, owner, state, writer, _say).run()
        except Timeout:
            raise Conflict(f"Another `pearl mail watch {address}` is running.") from None


def _say(line: str) -> None:
    typer.echo(line, err=True)
