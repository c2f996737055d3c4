"""``pearl compare``: from a history to win rates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from eval.commands.options import DraftingOptions, DryRun, Overrides, PriceOptions, Replies
from eval.judges.authorship import PRESETS
from pearl.cli.options import JSON_OPTION, bundled

ABOUT = """A line of the history is a text of a user, as pearl import jsonl takes it; those with a request can be
held back:

\b
  {"user_id": "ann", "id": "1", "timestamp": 1760000000, "text": "...", "request": "..."}

Everything that was written or judged is kept: repeat an interrupted command and it goes on where it stopped.

@PRESETS""".replace("@PRESETS", PRESETS.help())
EXAMPLES = """
  pearl compare --history history.jsonl.gz --systems embedded bm25 --llm openai --dry-run
  pearl compare --history history.jsonl.gz --systems embedded bm25 --llm openai --judge gpt-5 --report page.html
  pearl compare --history history.jsonl.gz --systems embedded bm25 --labels labels.jsonl --json -
  pearl compare --history history.jsonl.gz --systems embedded bm25 --preset as_published
"""
RUNS = {"as_published": 3}  # of a preset, where not one


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions(PriceOptions, DraftingOptions):
    """``judge`` None: the model that writes."""

    history: Annotated[Path, Option(metavar="H.jsonl.gz", help="History to draft from.")]
    systems: Annotated[tuple[str, str], Option(metavar="P B", help="Two retrievers: artifact folders or names.")]
    judge: Annotated[
        str | None,
        Option(metavar="J", help="Model that judges: as --llm, or a model of the endpoint; the writer by default."),
    ] = None
    targets: Annotated[int, Option(min=1, help="Texts of each user to hold back, the most recent ones.")] = 4
    prompt: Annotated[str, Option(help="Prompt of the authorship judge: comment or post.")] = "post"
    preset: Annotated[
        str, Option(help="Preset of the judge: corrected, or as_published, with one random order and three runs.")
    ] = PRESETS.default
    choose: Overrides = None
    runs: Annotated[
        int | None, Option(min=1, help="Runs of the judge over all items; 1 by default, and 3 as published.")
    ] = None
    ask_again: Annotated[
        bool, Option("--ask-again", help="If no verdict is read, ask once more for it alone; not in the estimate.")
    ] = False
    temperature: Annotated[float, Option(min=0, max=2, help="Temperature of the judge.")] = 0.7
    labels: Annotated[
        Path | None, Option(metavar="L.jsonl", help="People's labels of some items; correct the rates by them.")
    ] = None
    replies: Replies = None
    dry_run: DryRun = False


@bundled
def compare(
    options: CompareOptions,
    drafts: Path | None = Option(None, metavar="FILE.jsonl", help="Write the drafts as items for people and judges."),
    judgements: Path | None = Option(None, metavar="FILE.jsonl", help="Write each judgement on a line."),
    report: Path | None = Option(None, metavar="FILE.html", help="Write everything as one page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Draft texts of a history again with two retrievers, let a judge compare the drafts, and write the win rates."""
    from eval.commands.comparing import estimate, win_rates
    from eval.report.report import Outputs
    from pearl.cli.options import write_json

    outputs = Outputs(json, page=report)
    outputs.check([options.history], {"--drafts": drafts, "--judgements": judgements})
    if options.dry_run:
        write_json(json or "-", estimate(options))
        return
    outputs.write(*win_rates(options, drafts, judgements))
