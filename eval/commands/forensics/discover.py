"""``pearl forensics discover``"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from eval.commands.forensics.asking import PairsOptions
from eval.judges.discover import PRESETS
from pearl.cli.options import bundled

ABOUT = f"""A chat model proposes rules that could explain the choices of an annotator, an encoder and the model
merge those that say the same, and votes on pairs decide which stay: more votes for a rule than against it, most of
them valid, and a tenth of them for it (--least).

The file of --traits can be given to pearl forensics annotate for other pairs.

{PRESETS.help()}"""
EXAMPLES = """
  pearl forensics discover --pairs drafts.json --reference person --llm openai --dry-run
  pearl forensics discover --pairs drafts.json --reference person --llm openai --out found.json --traits mine.txt
  pearl forensics metrics --pairs found.json --reference person
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoverOptions:
    """``per_call`` is that of the votes."""

    reference: Annotated[str, Option(metavar="NAME", help="Annotator whose choices are to be explained.")]
    out: Annotated[Path | None, Option(metavar="PAIRS", help="Write the pairs with the votes on all candidates.")] = (
        None
    )
    traits: Annotated[Path | None, Option(metavar="FILE", help="Write the traits that stay, one a line.")] = None
    embed: Annotated[str, Option(metavar="MODEL", help="Encoder of proposals: embedded, mpnet or a model.")] = (
        "embedded"
    )
    proposals: Annotated[int, Option(min=1, max=10, help="Rules that the model proposes in one reply.")] = 3
    clusters: Annotated[int, Option(min=1, help="Candidates to vote on at most.")] = 20
    least: Annotated[float, Option(min=0, max=1, help="Share of votes for a rule that it needs to stay.")] = 0.1
    votes: Annotated[int | None, Option(min=1, help="Votes on each pair; the preset's number by default.")] = None
    per_call: Annotated[int, Option(min=1, max=40, help="Candidates to ask about in one call at most.")] = 40


@bundled
def discover(options: DiscoverOptions, asking: PairsOptions) -> None:
    """Discover traits that tell the texts an annotator chooses from the others, with any chat model.

    Every reply is kept: repeat an interrupted command and it goes on where it stopped.
    """
    from eval.commands.forensics.discovering import run_discovery

    run_discovery(options, asking)
