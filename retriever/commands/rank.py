"""The command ``pearl rank``: score the documents of each request in a file."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Any

import orjson
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

from pearl.cli.options import check_writable, writing
from pearl.errors import InputError
from pearl.records import Request
from pearl.settings import load_settings
from pearl.text.files.whole import opened, replaceable
from pearl.text.history.files import parse_lines
from retriever.base import Calibration, Index, Retriever
from retriever.candidates_file import parse_candidates
from retriever.registry import ENTRIES, make_retriever

ABOUT = """A line of the input:

\b
  {"request": "reset the index", "documents": [{"text": "..."}, {"text": "...", "timestamp": 1700000000}]}

A line of the output, in the same order:

\b
  {"scores": [0.31, 0.72], "top_score": 0.72, "below_threshold": false}"""
EXAMPLES = """
  pearl rank --model embedded --input in.jsonl --output out.jsonl
  pearl rank --model dense --input in.jsonl.gz --output -
"""
NAMES = ", ".join(entry.name for entry in ENTRIES)


def rank(
    model: str = typer.Option(..., help=f"Retriever: an artifact's folder, or one of {NAMES}."),
    input: Path = typer.Option(..., metavar="IN.jsonl", help="Requests with their documents."),
    output: str = typer.Option(
        ..., metavar="OUT.jsonl", help="Write the scores to this file, '-' for standard output."
    ),
) -> None:
    """Score each line's documents for its request. Nothing is written unless every line can be read."""
    from retriever.models.encoder import SentenceEncoder

    check_writable("--output", output, [input])
    retriever = make_retriever(model, SentenceEncoder(load_settings().encoder))
    if retriever.origin:
        typer.echo(retriever.origin, err=True)
    with _destination(output) as file:
        _rank_all(retriever, input, file)


@contextmanager
def _destination(output: str) -> Iterator[IO[bytes]]:
    """Yield a file whose content goes to ``output`` if the block ends without an error; else ``output`` stays
    unchanged."""
    target = Path(output)
    if output == "-" or not replaceable(target):
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with nullcontext(sys.stdout.buffer) if output == "-" else target.open("wb") as stream:
                shutil.copyfileobj(file, stream)
                stream.flush()
        return
    with writing(f"--output {output}"), opened(target) as file:
        yield file


def _rank_all(retriever: Retriever, source: Path, output: IO[bytes]) -> None:
    console = Console(stderr=True)
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        try:
            bar = progress.add_task("", total=source.stat().st_size)
        except OSError as error:
            raise InputError(f"{source}: cannot be read: {error.strerror}") from error
        parse = partial(parse_candidates, now=time.time())
        index: Index | None = None
        for request, documents in parse_lines(source, parse, lambda read: progress.advance(bar, read)):
            # lines of one history share documents, and what the line before had is not computed again
            index = retriever.index(documents) if index is None else retriever.update(index, documents)
            output.write(orjson.dumps(_scored(index, request, retriever.calibration)) + b"\n")


def _scored(index: Index, request: Request, calibration: Calibration) -> dict[str, Any]:
    """Return the scores, in the documents' order, as the fields of an output line."""
    scores = index.scores(request).tolist()
    top_score = max(scores, default=None)
    return {"scores": scores, "top_score": top_score, "below_threshold": calibration.is_below_threshold(top_score)}
