"""The command ``pearl train requests``: write requests for documents without one."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from pearl.cli.options import (
    JSON_OPTION,
    LLM_OPTION,
    RAY_OPTION,
    check_apart,
    check_writable,
    write_json,
)
from pearl.models.chat.base import ChatModel
from pearl.models.chat.choose import calls_at_once, make_chat_model
from pearl.settings import load_settings
from training.progress import Advance, progress_of

if TYPE_CHECKING:
    from training.requests import RequestReplies

EXAMPLES = """
  pearl train requests --history posts.jsonl.gz --llm embedded --out posts-with-requests.jsonl.gz
"""


def requests(
    history: Path = typer.Option(..., metavar="H.jsonl.gz", help="History file."),
    out: Path = typer.Option(..., metavar="H2.jsonl.gz", help="Write the history with requests to this file."),
    llm: str | None = LLM_OPTION,
    ray: str | None = RAY_OPTION,
    json: str | None = JSON_OPTION,
) -> None:
    """Have a chat model write the request that each document without one may have answered.

    Existing requests stay as they are. Repeat an interrupted command and it goes on where it stopped: the replies so
    far are kept beside OUT.
    """
    from pearl.models.asking.kept import open_replies
    from pearl.text.history.files import read_histories
    from training.files import alone_with, check_file
    from training.requests import RequestReplies, texts_without_request, write_history

    check_file("out", out, [history])
    check_writable("--json", json, [history])
    check_apart({"--out": out, "--json": json})
    settings = load_settings(llm=llm, ray=ray, on_cluster=True)
    histories = read_histories(history)
    texts = texts_without_request(histories)
    console = Console(stderr=True)
    model = make_chat_model(settings, in_flight=settings.max_in_flight)
    file = out.with_suffix(".replies")
    with alone_with(file, "out"), open_replies(file, "out") as store:
        replies = RequestReplies(store, model)
        with progress_of("asking", len(texts), console) as advance:
            advance(sum(replies.find(text) is not None for text in texts), False)
            in_flight = calls_at_once(settings, settings.max_in_flight)
            asyncio.run(_ask_all(texts, model, replies, advance, in_flight))
        tally = write_history(histories, replies, out)
    if json:
        write_json(json, {"out": str(out), "chat_model": model.name, **asdict(tally)})
    unusable = ", ".join(f"{count:,} {problem}" for problem, count in sorted(tally.problems.items()))
    console.print(
        f"{tally.natural:,} requests were there, {tally.synthetic:,} are synthetic, "
        f"{sum(tally.problems.values()):,} documents stay without one{f' ({unusable})' if unusable else ''}: {out}",
        soft_wrap=True,
        markup=False,
        highlight=False,
    )


async def _ask_all(
    texts: list[str], model: ChatModel, replies: RequestReplies, advance: Advance, in_flight: int
) -> None:
    from training.requests import ask_all

    try:
        await ask_all(texts, replies, advance, in_flight)
    finally:
        await model.close()
