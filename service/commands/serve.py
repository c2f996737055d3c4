"""``pearl serve``"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import ExitStack

import typer

from pearl.options import ENCODER_OPTION, LLM_OPTION
from pearl.settings import PREFIX, Settings, load_settings
from service.commands.common import open_database
from service.metrics import MULTIPROCESS_FOLDER

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXAMPLES = """Examples:

\b
  pearl serve
  pearl serve --sample                         with an invented user to try it on
  pearl serve --host 0.0.0.0 --workers 2       for a container
  PEARL_LLM_BASE_URL=http://localhost:11434/v1 PEARL_LLM_MODEL=llama3.2 pearl serve
"""


@app.command(epilog=EXAMPLES)
def serve(
    host: str = typer.Option("127.0.0.1", help="Address to listen on."),
    port: int = typer.Option(8000, min=0, max=65535, help="Port to listen on."),
    workers: int = typer.Option(1, min=1, help="Worker processes; each loads its own models."),
    llm: str | None = LLM_OPTION,
    encoder: str | None = ENCODER_OPTION,
    force: bool = typer.Option(False, "--force", help="Serve an artifact whose training said not to use it."),
    sample: bool = typer.Option(False, "--sample", help="Load an invented user and print a key of theirs."),
) -> None:
    """Serve the HTTP API. The database's schema is brought up to date first, once for all workers."""
    for name, value in (("llm", llm), ("encoder", encoder)):
        if value is not None:
            os.environ[PREFIX + name.upper()] = value  # the worker processes read the environment
    if force:
        os.environ[f"{PREFIX}RETRIEVER_FORCE"] = "1"
    settings = load_settings()
    if workers > 1:
        from retriever.encoder import SentenceEncoder
        from service.services import check_retriever

        # here, for a worker that cannot start is started again and again
        check_retriever(settings, SentenceEncoder(settings.encoder))
    with open_database(settings) as database:
        key = None
        if sample:
            from service.sample import load_sample

            key = load_sample(database, settings)
    if key is not None:
        typer.echo(_welcome(f"http://{host}:{port}", key, settings), err=True)
    _run(host, port, workers)


def _run(host: str, port: int, workers: int) -> None:
    import uvicorn

    with ExitStack() as stack:
        if workers > 1 and MULTIPROCESS_FOLDER not in os.environ:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pearl-metrics-"))
            os.environ[MULTIPROCESS_FOLDER] = folder
        uvicorn.run(
            "service.app:app_from_environment",
            factory=True,
            host=host,
            port=port,
            workers=workers,
            access_log=False,  # ours has the request id and no query strings
            timeout_graceful_shutdown=10,
        )


def _welcome(address: str, key: str, settings: Settings) -> str:
    from service.sample import REQUEST

    body = json.dumps({"request": REQUEST, "voice": "email"})
    pearl = os.path.relpath(sys.argv[0]) if sys.argv[0].endswith("pearl") else "pearl"
    return f"""
PEARL is starting on {address} (API documentation: {address}/docs)

The sample user's key: {key}

Try it:
  curl -s {address}/v1/drafts -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{body}'

With your own history:
  {pearl} import mbox ~/mail/sent.mbox --user me --me me@example.org --voice email
  {pearl} keys create --user me
  {pearl} draft "Ask Nan for the costume rails again" --user me --voice email
Other sources: {pearl} import --help. Everything is kept in {settings.home}.
"""
