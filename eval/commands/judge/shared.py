"""The options that all judges share, shown as one group."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from eval.asking.bench import Asking
from eval.commands.reporting import choose_option
from pearl.asking.cost import Prices
from pearl.options import IN_FLIGHT_OPTION, JSON_OPTION, LLM_OPTION

PANEL = "Options of every judge"


def option(*names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=PANEL, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOptions:
    """``max_tokens`` None: as many as the judge needs for its way of asking."""

    items: Annotated[Path, option(metavar="ITEMS.jsonl", help="Items, see below.")]
    preset: Annotated[str, option(help="Preset of the choices below.")] = ""
    choose: Annotated[list[str], choose_option(rich_help_panel=PANEL)] = field(default_factory=list)
    llm: Annotated[str | None, option(metavar="LLM", help=LLM_OPTION.help)] = None
    temperature: Annotated[float, option(min=0, max=2, help="Temperature of the model; at 0, runs are copies.")] = 0.7
    top_p: Annotated[
        float | None,
        option(min=0.01, max=1, help="Draw from the likeliest tokens of this share; the preset's by default."),
    ] = None
    max_tokens: Annotated[
        int | None, option(min=1, help="Tokens in a reply at most; a reply cut off there is invalid.")
    ] = None
    limit: Annotated[int | None, option(min=1, help="Take a random sample of this many items.")] = None
    seed: Annotated[int, option(min=0, help="Seed of the sample, random orders and bootstrap.")] = 0
    max_in_flight: Annotated[int, option(min=1, max=1000, help=IN_FLIGHT_OPTION.help)] = 8
    replies: Annotated[
        Path | None, option(metavar="FILE.sqlite", help="File that keeps raw replies; in PEARL_HOME by default.")
    ] = None
    replay: Annotated[
        bool, option("--replay", help="Use stored replies only; make no calls, and fail if one is missing.")
    ] = False
    dry_run: Annotated[
        bool, option("--dry-run", help="Count the questions and estimate their highest cost; make no calls.")
    ] = False
    price_in: Annotated[float | None, option(min=0, help="Price of a million prompt tokens.")] = None
    price_out: Annotated[float | None, option(min=0, help="Price of a million completion tokens.")] = None
    max_cost: Annotated[float | None, option(min=0, help="Stop before this run costs more than this.")] = None
    human: Path | None = None  # --labels is another option of some judge
    judgements: Path | None = None  # each judge names and describes it
    json: Annotated[str | None, option(metavar="FILE", help=JSON_OPTION.help)] = None

    def asking(self) -> Asking:
        assert self.max_tokens is not None
        prices = Prices(self.price_in, self.price_out)
        how = self.llm, self.max_in_flight, self.replies, self.replay, self.temperature, self.max_tokens
        return Asking(*how, prices, self.max_cost, self.top_p or 1.0)
