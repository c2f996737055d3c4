"""``pearl eval best-of``"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from eval.commands.options import BudgetMinutes, InFlight, Llm, PriceOptions, Replies, Resamples, Seed
from eval.commands.reporting import reporting
from eval.report.report import Report

if TYPE_CHECKING:
    from eval.drafts.best_of import DraftChoice, DraftItem
    from pearl.editing.best_of import Rewards
    from pearl.settings import Settings

ABOUT = """A line of the drafts is a text, and where likeness is to be measured texts of its person:

\b
  {"id": "1", "text": "...", "user_id": "ann", "history": ["...", "..."]}

Every reply is kept: repeat an interrupted command and it goes on where it stopped."""
EXAMPLES = """
  pearl eval best-of --drafts drafts.jsonl --model embedded --candidates 20 --llm openai
  pearl eval best-of --drafts drafts.jsonl --model REWARD --candidates 8 --budget-minutes 15 --json best-of.json
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfOptions(PriceOptions):
    drafts: Annotated[Path, Option(metavar="D.jsonl", help="Drafts to edit.")]
    model: Annotated[str, Option(metavar="MODEL", help="Reward model: a folder, or embedded.")]
    candidates: Annotated[int, Option(metavar="N", min=1, max=100, help="Edits of each draft; the paper has 20.")] = 20
    llm: Llm = None
    max_in_flight: InFlight = 8
    replies: Replies = None
    budget_minutes: BudgetMinutes = None
    weight: Annotated[float, Option(min=0, max=1, help="Weight of likeness beside quality.")] = 0.3
    margin: Annotated[float, Option(min=0, max=1, help="Likeness that a choice may lose.")] = 0.1
    resamples: Resamples = 2000
    seed: Seed = 0


@reporting("eval", "best-of", unsaid=("max_in_flight", "replies", "price_in", "price_out", "max_cost"))
def best_of(options: BestOfOptions) -> Report:
    """Edit drafts several times, choose the best by reward, and measure reward and likeness before and after.

    Drafts are edited one after another, so the seconds are those that a user would wait.
    """
    import asyncio

    from eval.drafts.best_of import best_of_report, best_of_tables, read_drafts
    from pearl.chat.choose import writer_of
    from pearl.settings import load_settings
    from retriever.reward.scores import load_scores

    rewards = load_scores(options.model, f"--model {options.model}")
    items = read_drafts(options.drafts)
    settings = load_settings(llm=options.llm, llm_max_retries=0)  # pearl.asking.patience repeats calls
    outcomes = asyncio.run(_outcomes(options, settings, items, rewards))
    figures = {
        "llm": writer_of(settings),
        "reward_model": options.model,
        "not_reached": len(items) - len(outcomes),
        **best_of_report(outcomes, resamples=options.resamples, seed=options.seed),
    }
    return Report(figures, best_of_tables, options={"llm": settings.llm})


async def _outcomes(
    options: BestOfOptions, settings: Settings, items: list[DraftItem], rewards: Rewards
) -> list[DraftChoice]:
    """The outcome of each draft that there was time for. Raises InputError where there was time for none."""
    from rich.console import Console

    from eval.drafts.best_of import choices_of
    from pearl.asking.ask import Terms
    from pearl.asking.kept import open_replies
    from pearl.budget import Budget
    from pearl.chat.choose import calls_at_once, make_chat_model, writer_of
    from pearl.editing.asked import EditingContext
    from pearl.editing.best_of import Balance
    from pearl.errors import InputError
    from pearl.runtime.progress import watched

    terms = Terms(calls_at_once(settings, options.max_in_flight), options.prices, options.max_cost)
    in_time = Budget(options.budget_minutes).until(1.0)
    model, balance = make_chat_model(settings, in_flight=options.max_in_flight), Balance(options.weight, options.margin)
    try:
        with (
            open_replies(options.replies or settings.home / "editor-replies.sqlite") as kept,
            watched(Console(stderr=True)) as watch,
        ):
            desk = EditingContext(model, writer_of(settings), kept, terms)
            count, line = options.candidates, watch("candidates", len(items) * options.candidates)
            outcomes = await choices_of(desk, items, count, rewards, balance, in_time, line, options.seed)
    finally:
        await model.close()
    if not outcomes:
        raise InputError("--budget-minutes ran out before a draft was edited; allow more.", param="budget_minutes")
    return outcomes
