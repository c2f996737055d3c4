"""The options that ``pearl eval generation`` and ``pearl eval revision`` share; ``eval.commands.scored`` has more."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TemplateName = Annotated[str, typer.Option("--template", help="The kind of text: commit, free, message or post.")]
Stances = Annotated[bool, typer.Option("--stances", help="Also compare the stances, YTA or NTA, that comments take.")]
Shown = Annotated[
    int | None,
    typer.Option(
        "--k", min=1, help="Documents in a prompt; by default at most as many as the template says, those worth it."
    ),
]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", min=1, help="Longest draft, as PEARL_MAX_DRAFT_TOKENS.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="A sample of so many requests, spread over users.")]
ChoiceSeed = Annotated[int, typer.Option("--seed", min=0, help="Of the sample and of every random document.")]
WithoutNearDuplicates = Annotated[
    bool, typer.Option("--without-near-duplicates", help="Show no document that nearly is the target.")
]
NearDuplicateShare = Annotated[
    float | None,
    typer.Option(
        "--near-duplicates",
        metavar="SHARE",
        min=0.0,
        max=1.0,
        help="The same, for documents with this share of the target's word trigrams; 0.5 unless it is given.",
    ),
]
GenerationsFile = Annotated[
    Path | None,
    typer.Option("--generations", metavar="FILE.jsonl", help="Where raw answers are kept; in PEARL_HOME by default."),
]
BudgetMinutes = Annotated[
    float | None,
    typer.Option("--budget-minutes", min=0.1, help="Write for about this long; compare on what every system has then."),
]
BertScoreModel = Annotated[str, typer.Option("--bertscore", metavar="MODEL", help="The encoder of BERTScore.")]
