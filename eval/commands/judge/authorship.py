"""``pearl judge authorship``"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import typer

from eval.commands.judge.options import (
    Ability,
    DryRun,
    Limit,
    MaxCost,
    MaxTokens,
    PriceIn,
    PriceOut,
    Replay,
    RepliesFile,
    Seed,
    Temperature,
)
from eval.commands.scored import write_or_show
from pearl.options import IN_FLIGHT_OPTION, JSON_OPTION, LLM_OPTION, check_writable, write_json

EXAMPLES = """A line of the items is a text that somebody wrote, and drafts of it by systems:

\b
  {"id": "1", "user_id": "ann", "request": "...", "reference": "...", "candidates": {"ours": "...", "bm25": "..."},
   "generators": {"ours": "model-1", "bm25": "model-2"}}

"reference" and "candidates" are required; a failed draft is null. "generators" may name the models that wrote them, the
judge itself included. `pearl eval generation --drafts FILE` writes such a file. The first of the two systems is the
proposed one (P), the other the baseline (B). Presets: corrected asks in both orders and counts unreadable replies;
as_published draws one order per run and leaves them out.

Examples:

\b
  pearl judge authorship --items drafts.jsonl --systems embedded bm25 --llm openai --dry-run
  pearl judge authorship --items drafts.jsonl --systems embedded bm25 --preset as_published --prompt post --json -
  pearl judge authorship --items drafts.jsonl --systems embedded bm25 --replay --judgements judged.jsonl
"""


def authorship(
    items: Path = typer.Option(
        ..., "--items", metavar="ITEMS.jsonl", help="Reference texts with the drafts to compare."
    ),
    systems: tuple[str, str] | None = typer.Option(
        None, "--systems", metavar="P B", help="Systems to compare, if the items have more than two."
    ),
    llm: str | None = LLM_OPTION,
    prompt: str = typer.Option("comment", "--prompt", help="Prompt of the paper: comment or post."),
    preset: str = typer.Option("corrected", "--preset", help="Preset: corrected or as_published."),
    runs: int | None = typer.Option(None, "--runs", min=1, help="Runs over all items, if not the preset's."),
    order: str | None = typer.Option(None, "--order", help="Order of the drafts, if not the preset's: both or random."),
    unparsed: str | None = typer.Option(
        None, "--unparsed", help="Treatment of unread replies, if not the preset's: counted or dropped."
    ),
    ask_again: bool = typer.Option(
        False, "--ask-again", help="If no verdict is read, ask once more for it alone; not in the estimate."
    ),
    temperature: Temperature = 0.7,
    max_tokens: MaxTokens = 512,
    ability: Ability = None,
    limit: Limit = None,
    seed: Seed = 0,
    max_in_flight: int = IN_FLIGHT_OPTION,
    replies: RepliesFile = None,
    replay: Replay = False,
    dry_run: DryRun = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    max_cost: MaxCost = None,
    judgements: Path | None = typer.Option(None, metavar="FILE.jsonl", help="Write each judgement on a line."),
    json: str | None = JSON_OPTION,
) -> None:
    """Ask a judge which of two drafts the author of a text more likely wrote, and measure how far to trust it."""
    from rich.console import Console

    from eval.asking.cost import Prices
    from eval.commands.judge.asking import Asking, bench, described, families_of
    from eval.judges.authorship_items import read_authorship_items
    from eval.judges.authorship_presets import chosen
    from eval.judges.authorship_prompt import AGAIN, variant_named
    from eval.judges.authorship_trials import AgainQuestions, Questions, Trials, write_judged
    from eval.judges.draws import sampled

    for option, target in (("--judgements", judgements), ("--json", json)):
        check_writable(option, target)
    taken, variant = chosen(preset, runs, order, unparsed), variant_named(prompt)
    found = read_authorship_items(items, systems)
    found = replace(found, items=sampled(found.items, limit, seed))
    families = families_of(ability)
    head = described(
        "authorship",
        items=items,
        systems=found.systems,
        prompt=prompt,
        preset=preset,
        runs=taken.runs,
        order=taken.order,
        unparsed=taken.unparsed,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=seed,
        ask_again=ask_again,
        ability=ability,
        limit=limit,
    )
    asking = Asking(llm, max_in_flight, replies, replay, temperature, max_tokens, Prices(price_in, price_out), max_cost)
    trials = Trials(found.items, variant, taken, seed)
    questions = Questions(trials)
    with bench(asking, Console(stderr=True)) as at:
        head["judge"] = at.judge.identity
        if dry_run:
            write_json(json or "-", head | at.estimate(questions))
            return
        first = at.ask("judgements", questions)
        said, elicitation = first.replies, first.to_json()
        if ask_again:
            unread = AgainQuestions(trials, first.replies)
            second = at.after(first, AGAIN).ask("verdicts alone", unread)
            said = partial(unread.merged, second.replies)
            elicitation["again"] = second.to_json()
        judged = list(trials.judged(said()))
        if judgements:
            write_judged(judgements, trials, said())
    # only now: they load what statistics need
    from eval.judges.authorship import authorship_report
    from eval.judges.authorship_tables import authorship_tables
    from eval.judges.self_preference import Itself

    itself = Itself(at.judge.names, families)
    result = head | authorship_report(found, judged, trials, itself) | {"elicitation": elicitation}
    write_or_show(json, result, authorship_tables)
