"""The options that ``pearl eval generation`` and ``pearl eval revision`` share; ``eval.commands.scored`` has more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from eval.commands.scored import GainsFiles, Models
from pearl.options import ENCODER_OPTION, IN_FLIGHT_OPTION, LLM_OPTION

TemplateName = Annotated[str, typer.Option("--template", help="Kind of text: commit, free, message or post.")]
Stances = Annotated[bool, typer.Option("--stances", help="Also compare the stances (YTA or NTA) that comments take.")]
Shown = Annotated[
    int | None,
    typer.Option(
        "--k", min=1, help="Documents in each prompt; by default those worth showing, up to the template's number."
    ),
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", min=1, help="Tokens in a draft at most; overrides PEARL_MAX_DRAFT_TOKENS.")
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Draft a sample of this many requests, spread over users.")
]
ChoiceSeed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the sample and of random documents.")]
WithoutNearDuplicates = Annotated[
    bool, typer.Option("--without-near-duplicates", help="Show no near-duplicate of the target.")
]
NearDuplicateShare = Annotated[
    float | None,
    typer.Option(
        "--near-duplicates",
        metavar="SHARE",
        min=0.0,
        max=1.0,
        help="Show no document with at least this share of the target's word trigrams; 0.5 if only the flag is given.",
    ),
]
GenerationsFile = Annotated[
    Path | None,
    typer.Option("--generations", metavar="FILE.sqlite", help="File that keeps raw answers; in PEARL_HOME by default."),
]
BudgetMinutes = Annotated[
    float | None,
    typer.Option(
        "--budget-minutes",
        min=0.1,
        help="Stop drafting after about this many minutes; compare the requests that every system has drafted.",
    ),
]
BertScoreModel = Annotated[
    str, typer.Option("--bertscore", metavar="MODEL", help="Encoder for BERTScore: embedded, mpnet or a model.")
]

Llm = Annotated[str | None, typer.Option("--llm", metavar="LLM", help=LLM_OPTION.help)]
MaxInFlight = Annotated[int, typer.Option("--max-in-flight", min=1, max=1000, help=IN_FLIGHT_OPTION.help)]
EncoderName = Annotated[str | None, typer.Option("--encoder", metavar="MODEL", help=ENCODER_OPTION.help)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingOptions:
    """The options of a command that drafts."""

    gains: GainsFiles
    model: Models
    template: TemplateName = "free"
    stances: Stances = False
    k: Shown = None
    llm: Llm = None
    max_in_flight: MaxInFlight = 8
    max_tokens: MaxTokens = None
    limit: Limit = None
    seed: ChoiceSeed = 0
    without_near_duplicates: WithoutNearDuplicates = False
    near_duplicates: NearDuplicateShare = None
    generations: GenerationsFile = None
    budget_minutes: BudgetMinutes = None
    encoder: EncoderName = None
    bertscore: BertScoreModel = "embedded"
