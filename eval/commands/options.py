"""The options that the commands which draft share; ``eval.commands.scored`` has more."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Option

from eval.commands.scored import EncoderName, Models
from eval.drafts.stance import PRESETS
from eval.retrieval.gains import THRESHOLD
from pearl.cli.options import IN_FLIGHT_OPTION, LLM_OPTION, known


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingOptions:
    """The options that say what is drafted, and by which model."""

    template: Annotated[str, Option(help="Kind of text: commit, free, message or post.")] = "free"
    k: Annotated[
        int | None,
        Option(min=1, help="Documents in each prompt; by default those worth showing, up to the template's number."),
    ] = None
    llm: Annotated[str | None, Option(metavar="LLM", help=LLM_OPTION.help)] = None
    max_in_flight: Annotated[int, Option(min=1, max=1000, help=IN_FLIGHT_OPTION.help)] = 8
    max_tokens: Annotated[
        int | None,
        Option(
            min=1, help="Tokens in a draft at most; PEARL_MAX_DRAFT_TOKENS by default: 512, a little over 300 words."
        ),
    ] = None
    limit: Annotated[int | None, Option(min=1, help="Draft a sample of this many texts, spread over users.")] = None
    seed: Annotated[int, Option(min=0, help="Seed of the sample, of random documents and of the bootstrap.")] = 0
    generations: Annotated[
        Path | None, Option(metavar="FILE.sqlite", help="File that keeps drafts; in PEARL_HOME by default.")
    ] = None
    encoder: EncoderName = None


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
    stances: Annotated[bool, Option("--stances", help="Also compare the stances (YTA or NTA) that comments take.")] = (
        False
    )
    stance_rules: Annotated[
        str, Option(help="Rules of stances: corrected, ours, or as_published, keywords anywhere in the text.")
    ] = "corrected"
    without_near_duplicates: Annotated[
        bool, Option("--without-near-duplicates", help="Show no near-duplicate of the target.")
    ] = False
    near_duplicates: Annotated[
        float | None,
        Option(
            metavar="SHARE",
            min=0.0,
            max=1.0,
            help="Show no document with at least this share of the target's word trigrams; 0.5 if only the flag is "
            "given.",
        ),
    ] = None
    budget_minutes: Annotated[
        float | None,
        Option(
            min=0.1,
            help="Stop drafting after about this many minutes; compare the requests that every system has drafted.",
        ),
    ] = None
    bertscore: Annotated[str, Option(metavar="MODEL", help="Encoder for BERTScore: embedded, mpnet or a model.")] = (
        "embedded"
    )

    @property
    def set_aside(self) -> float | None:
        """The share of the target's trigrams from which on a document is set aside; None when all stay."""
        return THRESHOLD if self.near_duplicates is None and self.without_near_duplicates else self.near_duplicates

    def told_stances(self) -> str | None:
        """The rules of stances; None where none are compared. Raises InputError for unknown ones."""
        rules = known("stance_rules", self.stance_rules, [preset.name for preset in PRESETS.presets])
        return rules if self.stances else None
