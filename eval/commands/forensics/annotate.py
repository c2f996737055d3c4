"""``pearl forensics annotate``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.forensics.asking import PairsOptions
from eval.judges.traits import ABOUT_PAIRS, PRESETS, TraitOptions
from pearl.cli.options import bundled

ABOUT = f"""{ABOUT_PAIRS}

A trait is a line such as "uses more irony" or a whole instruction, "Select the response that uses more irony". Traits
that need no model are counted by rule with --rules: length, lists, bold and italics, emojis, questions at the end,
pronouns, numbers, headings, greetings, punctuation and more; their annotators are marked so.

{PRESETS.help()}"""
EXAMPLES = """
  pearl forensics annotate --pairs arena.csv --out arena.json --llm openai --dry-run --price-in 0.3 --price-out 2.5
  pearl forensics annotate --pairs arena.csv --out arena.json --traits published --target-model gpt-5
  pearl forensics annotate --pairs drafts.json --out drafts.json --rules --words-of ann
  pearl forensics annotate --pairs drafts.json --out mine.json --traits published --traits mine.txt --votes 3
"""


@bundled
def annotate(
    traits: TraitOptions,
    asking: PairsOptions,
    out: Path = typer.Option(..., metavar="PAIRS", help="Write the pairs with the new annotations."),
    votes: int | None = typer.Option(None, min=1, help="Votes on each pair; the preset's number by default."),
    rules: bool = typer.Option(False, "--rules", help="Annotate by rule; no model is asked unless --traits is given."),
    words_of: str | None = typer.Option(
        None, metavar="NAME", help="Annotate the words of the texts that this annotator chooses, by rule."
    ),
    target_model: list[str] = typer.Option(
        [], metavar="M", help="Annotate the texts of this model, or of all; asks as --rules does; repeatable."
    ),
    reference_model: list[str] = typer.Option(
        [], metavar="M", help="Compare targets with this model alone; repeatable."
    ),
) -> None:
    """Annotate pairs of texts: which has more of each trait, by a chat model or by rule.

    Every reply is kept: repeat an interrupted command and it goes on where it stopped.
    """
    from eval.commands.forensics.annotating import Task, run_task

    run_task(Task(traits, asking, out, votes, rules, words_of, tuple(target_model), tuple(reference_model)))
