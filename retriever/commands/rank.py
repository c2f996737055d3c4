"""``pearl rank``"""

from __future__ import annotations

import os
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

from pearl.errors import InputError
from pearl.history import parse_lines
from pearl.records import Document, Request
from pearl.settings import load_settings
from pearl.texts import check_characters, check_id, check_text, json_type, parse_timestamp
from retriever.base import Retriever
from retriever.registry import NAMES

app = typer.Typer(add_completion=False, rich_markup_mode=None)

EXAMPLES = """A line of the input:

\b
  {"request": "reset the index", "documents": [{"text": "..."}, {"text": "...", "timestamp": 1700000000}]}

A line of the output, in the same order:

\b
  {"scores": [0.31, 0.72], "top_score": 0.72, "below_threshold": false}

Examples:

\b
  pearl rank --model bm25 --input in.jsonl --output out.jsonl
  pearl rank --model dense --input in.jsonl.gz --output -
"""


@app.command(epilog=EXAMPLES)
def rank(
    model: str = typer.Option(..., help=f"One of {', '.join(NAMES)}."),
    encoder: str | None = typer.Option(None, metavar="MODEL", help="embedded or a model, as PEARL_ENCODER."),
    input: Path = typer.Option(..., metavar="IN.jsonl", help="Requests with their documents."),
    output: str = typer.Option(..., metavar="OUT.jsonl", help="Where the scores go; '-' for standard output."),
) -> None:
    """Score the documents of each line for its request. Nothing is written unless every line can be read."""
    from retriever.encoder import SentenceEncoder
    from retriever.registry import make_retriever

    retriever = make_retriever(model, SentenceEncoder(load_settings(encoder=encoder).encoder))
    with _destination(output) as file:
        _rank_all(retriever, input, file)


@contextmanager
def _destination(output: str) -> Iterator[IO[bytes]]:
    """A file to write to, which becomes ``output`` when all went well; else that stays as it was."""
    target = Path(output)
    if not target.parent.is_dir():
        raise InputError(f"--output {output}: there is no folder {target.parent}.", param="output")
    if target.is_dir():
        raise InputError(f"--output {output}: that is a folder; name a file.", param="output")
    if output == "-" or (target.exists() and not target.is_file()):  # a pipe or a device cannot be replaced
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with nullcontext(sys.stdout.buffer) if output == "-" else target.open("wb") as stream:
                shutil.copyfileobj(file, stream)
                stream.flush()
        return
    try:
        descriptor, partial = tempfile.mkstemp(dir=target.parent, prefix=".pearl-rank-")
    except OSError as error:
        raise InputError(f"--output {output}: cannot be written: {error.strerror}", param="output") from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        Path(partial).chmod(0o644)
        Path(partial).replace(target)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise


def _rank_all(retriever: Retriever, source: Path, output: IO[bytes]) -> None:
    console = Console(stderr=True)
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        try:
            bar = progress.add_task("", total=source.stat().st_size)
        except OSError as error:
            raise InputError(f"{source}: cannot be read: {error.strerror}", code="unreadable_file") from error
        parse = partial(_parse, now=time.time())
        for request, documents in parse_lines(source, parse, lambda read: progress.advance(bar, read)):
            output.write(orjson.dumps(_scored(retriever, request, documents)) + b"\n")


def _scored(retriever: Retriever, request: Request, documents: list[Document]) -> dict[str, Any]:
    """Scores in the documents' order; their age decides between equal ones, which scores alone do not show."""
    scores = retriever.index(documents).scores(request).tolist() if documents else []
    top_score = max(scores, default=None)
    below = retriever.calibration.is_below_threshold(top_score)
    return {"scores": scores, "top_score": top_score, "below_threshold": below}


def _parse(value: dict[str, Any], now: float) -> tuple[Request, list[Document]]:
    if "request" not in value:
        raise InputError("'request' is missing.", param="request", code="missing_field")
    timestamp = value.get("timestamp")
    request = Request(
        check_text(value["request"], param="request"),
        now if timestamp is None else parse_timestamp(timestamp, now=now),
    )
    documents = value.get("documents")
    if not isinstance(documents, list):
        raise InputError(f"'documents' must be an array, not {json_type(documents)}.", param="documents")
    return request, [_document(item, position, now) for position, item in enumerate(documents)]


def _document(value: Any, position: int, now: float) -> Document:
    """A candidate; an empty text is one too, it just scores badly."""
    where = f"documents.{position}"
    if not isinstance(value, dict):
        raise InputError(f"must be an object, not {json_type(value)}.", param=where, code="wrong_type")
    timestamp = value.get("timestamp")
    return Document(
        id=str(position) if value.get("id") is None else check_id(value["id"], param=f"{where}.id"),
        text=_string(value.get("text"), f"{where}.text"),
        timestamp=None if timestamp is None else parse_timestamp(timestamp, param=f"{where}.timestamp", now=now),
        request=None if value.get("request") is None else _string(value["request"], f"{where}.request"),
    )


def _string(value: Any, param: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"must be a string, not {json_type(value)}.", param=param, code="wrong_type")
    return check_characters(value, param=param)
