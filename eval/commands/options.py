"""Command-line options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from eval.drafts.stance import PRESETS
from pearl.cli.options import LLM_OPTION, known
from retriever.registry import ENTRIES

JUDGE_PANEL = "Options of every judge"  # title of a group in the help of judges; other help has no groups


def option(*names: str, **more: Any) -> Any:
    return Option(*names, rich_help_panel=JUDGE_PANEL, **more)


Models = Annotated[
    list[str],
    Option(
        metavar="MODEL",
        help="Retriever to measure, repeatable: an artifact's folder, or one of "
        f"{', '.join(entry.name for entry in ENTRIES)}.",
    ),
]
Baselines = Annotated[
    list[str], Option(metavar="MODEL", help="Artifact to count among the baselines, beside the untrained retrievers.")
]
PresetName = Annotated[str, option(help="Preset of the choices below.")]
Overrides = Annotated[
    list[str] | None,
    option("--choose", metavar="NAME=VALUE", help="Override a choice of the preset, see below; repeatable."),
]
Llm = Annotated[str | None, option(metavar="LLM", help=LLM_OPTION.help)]
MaxCost = Annotated[
    float | None, option(min=0, help="Stop before this run costs more than this, by the prices of PEARL_LLM_PRICES.")
]
BudgetMinutes = Annotated[
    float | None, Option(min=0.1, help="Begin no draft after about this many minutes; compare what is done.")
]
RewardName = Annotated[str | None, Option(metavar="MODEL", help="Reward model: a folder, or embedded.")]
DryRun = Annotated[bool, option("--dry-run", help="Estimate the calls and their highest cost; make no calls.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingOptions:
    """The options for drafting: the kind of text, the number of documents, the model, and how many texts."""

    template: Annotated[str, Option(help="Kind of text: commit, free, message or post.")] = "free"
    k: Annotated[
        int | None,
        Option(min=1, help="Documents in each prompt; by default those worth showing, up to the template's number."),
    ] = None
    llm: Llm = None
    limit: Annotated[int | None, Option(min=1, help="Draft a sample of this many texts, spread over users.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingOptions(DraftingOptions):
    """The options of a command that drafts real requests, and measures the drafts."""

    model: Models
    gains: Annotated[
        list[Path], Option(metavar="G.jsonl.gz", help="Requests with their documents and targets; repeatable.")
    ] = field(default_factory=list)
    history: Annotated[
        list[Path],
        Option(
            metavar="H.jsonl.gz",
            help="In place of --gains: draft the latest texts of each user again, from all before them; repeatable.",
        ),
    ] = field(default_factory=list)
    targets: Annotated[int, Option(min=1, help="Texts of each user in --history to draft again.")] = 1
    split: Annotated[
        str | None, Option(metavar="SPLIT", help="Users of --history: train, dev or test, as in training; else all.")
    ] = None
    stances: Annotated[
        str | None,
        Option(
            metavar="RULES",
            help="Also compare the stances (YTA or NTA) that comments take, by the rules corrected, ours, or "
            "as_published, keywords anywhere in the text.",
        ),
    ] = None
    near_duplicates: Annotated[
        float | None,
        Option(
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Show no document with at least this share of the target's word trigrams, such as 0.5.",
        ),
    ] = None
    budget_minutes: BudgetMinutes = None

    def told_stances(self) -> str | None:
        """The name of the rules for stances; None if stances are not compared. Raises InputError for unknown rules."""
        return self.stances and known("stances", self.stances, [preset.name for preset in PRESETS.presets])
