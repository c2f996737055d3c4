"""``pearl mcp``"""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import typer

from pearl.cli.options import LLM_OPTION, USER_OPTION
from pearl.settings import Settings, load_settings

if TYPE_CHECKING:
    from service.store.users import User

EXAMPLES = """
  pearl mcp --user me
  pearl mcp --user me --voice email --llm embedded
"""
ABOUT = """Programs that speak the protocol start the command themselves; most read a file like this one:

\b
  {"mcpServers": {"pearl": {"command": "pearl", "args": ["mcp", "--user", "me"]}}}

A running `pearl serve` has the same tools at /mcp, with a key of `pearl keys create`:

\b
  {"mcpServers": {"pearl": {"type": "http", "url": "http://127.0.0.1:8000/mcp",
    "headers": {"Authorization": "Bearer KEY"}}}}"""


def mcp(
    user: str | None = USER_OPTION,
    voice: str | None = typer.Option(None, "--voice", metavar="V", help="Voice of calls that name none."),
    llm: str | None = LLM_OPTION,
) -> None:
    """Serve find_examples, draft, check and feedback to a model over standard input and output.

    The messages are those of the Model Context Protocol, a line each. The command ends when the input ends.
    """
    # imported here: they load the store, which help does not need
    from service.commands.common import open_database
    from service.store import users, voices

    settings = load_settings(llm=llm)
    with open_database(settings) as database, database.read() as connection:
        owner = users.chosen(connection, user)
        voice = voices.chosen_there(connection, owner.id, voice)
    if sys.stdin.isatty():
        typer.echo("Waiting for messages of the Model Context Protocol, which a program sends; see --help.", err=True)
    asyncio.run(_serve(settings, owner, voice))


async def _serve(settings: Settings, owner: User, voice: str | None) -> None:
    from service.http.api.drafts import finished
    from service.http.mcp.stdio import lines_of, serve, standard_input, wire
    from service.http.mcp.tools import Toolbox
    from service.services import Services

    with wire() as write:
        services = Services(settings)
        async with services.running():
            await serve(lines_of(standard_input()), Toolbox(services, owner, finished, voice), write)
