"""``pearl forensics pairs``"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from typer import Option

from eval.commands.options import DraftingOptions
from pearl.options import JSON_OPTION, bundled

ABOUT = """A line of the history is a text of a user, as pearl import jsonl takes it; those with a request count. The
model drafts from the request alone. The annotator "person" always prefers the person's own text, and an annotator named
like the user does so on the user's own pairs: traits that agree with it are the person's manner.

Every draft is kept: repeat an interrupted command and it goes on where it stopped."""
EXAMPLES = """
  pearl forensics pairs --history history.jsonl.gz --user ann --llm openai --out ann.json
  pearl forensics annotate --pairs ann.json --out ann.json --rules --words-of person
  pearl forensics metrics --pairs ann.json --reference person
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MannerOptions(DraftingOptions):
    """A history, and the model whose drafts stand against its texts; no documents are shown."""

    history: Annotated[Path, Option(metavar="H.jsonl.gz", help="History with requests.")]
    out: Annotated[Path, Option(metavar="PAIRS", help="Write the pairs: .json or .jsonl, or .gz.")]
    user: Annotated[list[str], Option(help="User to take texts of, all by default; repeatable.")] = field(
        default_factory=list
    )
    targets: Annotated[int, Option(min=1, help="Texts of each user at most, the most recent ones.")] = 25
    k: int | None = None
    limit: int | None = None
    encoder: str | None = None
    seed: Annotated[int, Option(min=0, help="Seed of the order of the two texts.")] = 0
    price_in: Annotated[float | None, Option(min=0, help="Price of a million prompt tokens.")] = None
    price_out: Annotated[float | None, Option(min=0, help="Price of a million completion tokens.")] = None
    max_cost: Annotated[float | None, Option(min=0, help="Stop before this run costs more than this.")] = None
    dry_run: Annotated[bool, Option("--dry-run", help="Estimate the calls and their highest cost; make none.")] = False


@bundled
def pairs(options: MannerOptions, json: str | None = JSON_OPTION) -> None:
    """Let a model draft for the requests of a history, and pair its drafts with what the user really wrote."""
    from eval.commands.forensics.pairing import pair_history

    pair_history(options, json)
