"""``pearl eval best-of``: best-of-N measured on drafts: reward and likeness before and after, beside a random edit.

papers/writing-quality-rewards.txt, sections 5.2 and 6. The reward that chooses also measures here, so its gain is what
the choice aims at, not a judgement of it: likeness and length beside it say what the gain costs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from typer import Option

from eval.asking.json_lines import check_fields, optional_id, read_items
from eval.commands.options import BudgetMinutes, Llm, MaxCost
from eval.commands.reporting import reporting
from eval.report.report import Report
from eval.report.tables import Json, Table, shown
from pearl.asking.patience import Watch
from pearl.claims.claims import claims
from pearl.editing.asked import EditingContext
from pearl.editing.best_of import Balance, EditSelection, Likenesses, Rewards, select
from pearl.editing.candidates import Candidate, failures, refused_edits
from pearl.editing.edits import REASONS
from pearl.errors import InputError
from pearl.records import TextScores
from pearl.stats.bootstrap import Bootstrap, Estimate, drawn
from pearl.text.usable import check_text, json_type
from pearl.text.words import count_words

if TYPE_CHECKING:
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
class BestOfOptions:
    drafts: Annotated[Path, Option(metavar="D.jsonl", help="Drafts to edit.")]
    model: Annotated[str, Option(metavar="MODEL", help="Reward model: a folder, or embedded.")]
    candidates: Annotated[int, Option(metavar="N", min=1, max=100, help="Edits of each draft; the paper has 20.")] = 20
    llm: Llm = None
    max_cost: MaxCost = None
    budget_minutes: BudgetMinutes = None
    weight: Annotated[float, Option(min=0, max=1, help="Weight of likeness beside quality.")] = 0.3
    margin: Annotated[float, Option(min=0, max=1, help="Likeness that a choice may lose.")] = 0.1


@reporting("eval", "best-of", unsaid=("max_cost",))
def best_of(options: BestOfOptions) -> Report:
    """Edit drafts several times, choose the best by reward, and measure reward and likeness before and after.

    Drafts are edited one after another, so the seconds are those that a user would wait.
    """
    import asyncio

    from pearl.chat.choose import writer_of
    from pearl.settings import load_settings
    from retriever.reward.model import load_scores

    rewards = load_scores(options.model, f"--model {options.model}")
    items = read_drafts(options.drafts)
    settings = load_settings(llm=options.llm, llm_max_retries=0)  # pearl.asking.patience repeats calls
    outcomes = asyncio.run(_outcomes(options, settings, items, rewards))
    figures = {
        "llm": writer_of(settings),
        "reward_model": options.model,
        "not_reached": len(items) - len(outcomes),
        **best_of_report(outcomes),
    }
    return Report(figures, best_of_tables, options={"llm": settings.llm})


async def _outcomes(
    options: BestOfOptions, settings: Settings, items: list[DraftItem], rewards: Rewards
) -> list[DraftChoice]:
    """Edit each draft that there is time for, and choose. Raises InputError where there is time for none."""
    from rich.console import Console

    from pearl.asking.ask import Terms
    from pearl.asking.kept import open_replies
    from pearl.budget import Budget
    from pearl.chat.choose import calls_at_once, make_chat_model, writer_of
    from pearl.runtime.progress import watched

    terms = Terms(calls_at_once(settings, settings.max_in_flight), settings.prices, options.max_cost)
    in_time = Budget(options.budget_minutes).until(1.0)
    model, balance = (
        make_chat_model(settings, in_flight=settings.max_in_flight),
        Balance(options.weight, options.margin),
    )
    try:
        with (
            open_replies(settings.home / "editor-replies.sqlite") as kept,
            watched(Console(stderr=True)) as watch,
        ):
            context = EditingContext(model, writer_of(settings), kept, terms)
            count, line = options.candidates, watch("candidates", len(items) * options.candidates)
            outcomes = await choices_of(context, items, count, rewards, balance, in_time, line)
    finally:
        await model.close()
    if not outcomes:
        raise InputError("--budget-minutes ran out before a draft was edited; allow more.", param="budget_minutes")
    return outcomes


VERSIONS = ("draft", "choice", "random", "any")


@dataclass(frozen=True, slots=True)
class DraftItem:
    """A draft, and whose it is."""

    id: str
    text: str
    user: str
    history: tuple[str, ...] = ()  # texts of the user; without any, likeness is not measured


@dataclass(frozen=True, slots=True)
class DraftChoice:
    """The candidates of a draft, and the choice among them."""

    item: DraftItem
    candidates: tuple[Candidate, ...]
    selection: EditSelection
    seconds: float  # that asking took; 0 where every reply was kept

    def scores(self, version: str) -> list[TextScores]:
        """The scores of a version: of ``any``, those of every executed candidate; the draft's where there are none."""
        chosen, draft = self.selection, self.selection.draft
        if version == "any":
            return [score for score in chosen.scores if score is not None] or [draft]
        index = {"draft": None, "choice": chosen.best, "random": chosen.random}[version]
        return [draft if index is None else chosen.scores[index] or draft]

    def quality(self, version: str) -> float:
        return float(np.mean([score.quality for score in self.scores(version)]))

    def likeness(self, version: str) -> float | None:
        """The mean likeness, None if the draft's is unknown; a version without one counts as the draft."""
        draft = self.selection.draft.likeness
        if draft is None:
            return None
        return float(np.mean([draft if score.likeness is None else score.likeness for score in self.scores(version)]))

    def words(self, version: str) -> float:
        index = self.selection.best if version == "choice" else None
        text = self.item.text if index is None else self.candidates[index].text
        return float(count_words(text or self.item.text))

    def claims(self, version: str) -> float:
        """The claims that an edit adds to its draft, as facts and promises, or takes from it; the mean for several."""
        known = [index for index, score in enumerate(self.selection.scores) if score is not None]
        one = self.selection.best if version == "choice" else self.selection.random
        indices = known if version == "any" else [] if one is None else [one]
        texts = [self.candidates[index].text or "" for index in indices]
        return float(np.mean([len(claims(text, self.item.text, ())) for text in texts] or [0]))


def read_drafts(path: Path) -> list[DraftItem]:
    """Read the drafts of a file. Raises InputError that names file, line and field."""

    def parse(value: dict[str, Any], number: int) -> DraftItem:
        check_fields(value, "text")
        history = value.get("history") or []
        if not isinstance(history, list):
            raise InputError(f"must be an array, not {json_type(history)}.", param="history", code="wrong_type")
        name = optional_id(value) or f"line {number}"
        return DraftItem(
            name,
            check_text(value["text"], param="text"),
            optional_id(value, "user_id") or name,
            tuple(check_text(text, param="history") for text in history),
        )

    return list(read_items(path, {"id", "text", "user_id", "history"}, parse).parsed)


def likenesses_of(item: DraftItem) -> Likenesses | None:
    """A function that gives the likeness of texts to the draft's user; None where no text of theirs is known."""
    if not item.history:
        return None
    from pearl.likeness.likeness import Likeness

    person = Likeness.fit(item.history)
    return lambda texts: [person.score(text).probability for text in texts]


async def choices_of(
    context: EditingContext,
    items: Iterable[DraftItem],
    count: int,
    rewards: Rewards,
    balance: Balance,
    in_time: Callable[[], bool],
    watch: Watch,
    seed: int = 0,
) -> list[DraftChoice]:
    """Ask for the candidates of each draft that there is time for, one after another, and choose. Raises ChatError when
    the model is down."""
    choices = []
    for item in items:
        if not in_time():
            break
        likenesses, started = likenesses_of(item), time.monotonic()
        candidates, outcome = await context.candidates(item.text, count, watch)
        seconds = time.monotonic() - started if outcome.calls else 0.0
        texts = [candidate.text for candidate in candidates]
        selection = select(item.text, texts, rewards, likenesses, balance, seed)
        choices.append(DraftChoice(item, tuple(candidates), selection, seconds))
    return choices


def best_of_report(outcomes: Sequence[DraftChoice], *, seed: int = 0) -> dict[str, Any]:
    """Quality, likeness and words by version with paired differences, shares of candidates, and times."""
    bootstrap = _bootstrap(outcomes, seed)
    quality = {name: bootstrap.mean([outcome.quality(name) for outcome in outcomes]) for name in VERSIONS}
    every = [candidate for outcome in outcomes for candidate in outcome.candidates]
    written = [sum(score is not None for score in outcome.selection.scores) for outcome in outcomes]
    dropped = [len(outcome.selection.dropped) for outcome in outcomes]
    requested = [len(outcome.candidates) for outcome in outcomes]
    seconds = [outcome.seconds for outcome in outcomes if outcome.seconds]
    return {
        "n": len(outcomes),
        "users": len({outcome.item.user for outcome in outcomes}),
        "quality": _versions(quality),
        "likeness": _likeness(outcomes, seed),
        "words": {
            name: bootstrap.mean([outcome.words(name) for outcome in outcomes]).to_json() for name in VERSIONS[:2]
        },
        "claims": {
            name: bootstrap.mean([outcome.claims(name) for outcome in outcomes]).to_json() for name in VERSIONS[1:]
        },
        "edited": bootstrap.share([outcome.selection.best is not None for outcome in outcomes]).to_json(),
        "candidates": {
            "asked": len(every),
            "failed": bootstrap.ratio(np.subtract(requested, written), requested).to_json(),
            "failures": failures(every),
            "dropped": bootstrap.ratio(dropped, written).to_json(),
            "drops": dict(Counter(reason for outcome in outcomes for reason in outcome.selection.dropped.values())),
            "refused_edits": refused_edits(every),
        },
        "seconds": None
        if not seconds
        else {"n": len(seconds), "median": round(float(np.median(seconds)), 2), "longest": round(max(seconds), 2)},
        "drafts": [_row(outcome) for outcome in outcomes],
    }


def _bootstrap(outcomes: Sequence[DraftChoice], seed: int) -> Bootstrap:
    """Resample the users, or the drafts where all are of one user."""
    names = drawn([outcome.item.user for outcome in outcomes], [outcome.item.id for outcome in outcomes])
    return Bootstrap(names, seed=seed)


def _versions(means: dict[str, Estimate]) -> dict[str, Any]:
    """The mean of each version, its gain over the draft, and the gain of the choice over the random edit."""
    return {
        **{name: estimate.to_json() for name, estimate in means.items()},
        "gain": {name: (means[name] - means["draft"]).to_json() for name in VERSIONS[1:]},
        "over_random": (means["choice"] - means["random"]).to_json(),
    }


def _likeness(outcomes: Sequence[DraftChoice], seed: int) -> dict[str, Any] | None:
    known = [outcome for outcome in outcomes if outcome.selection.draft.likeness is not None]
    if not known:
        return None
    bootstrap = _bootstrap(known, seed)
    means = {name: bootstrap.mean([outcome.likeness(name) or 0.0 for outcome in known]) for name in VERSIONS}
    return {"n": len(known), **_versions(means)}


def _row(outcome: DraftChoice) -> dict[str, Any]:
    """The figures of one draft, without its texts."""
    return {
        "id": outcome.item.id,
        "quality": {name: round(outcome.quality(name), 4) for name in VERSIONS},
        "likeness": {name: None if (mean := outcome.likeness(name)) is None else round(mean, 4) for name in VERSIONS},
        "failed": sum(candidate.text is None for candidate in outcome.candidates),
        "dropped": len(outcome.selection.dropped),
        "edited": outcome.selection.best is not None,
        "seconds": round(outcome.seconds, 2),
    }


TITLES = {
    "draft": "the draft",
    "any": "a random edit of all",
    "random": "a random edit not below the draft",
    "choice": "the choice",
}


def best_of_tables(result: Json) -> Iterator[Table]:
    """Yield reward and likeness of each version, then what became of the candidates and of the proposed edits."""
    quality, likeness = result["quality"], result["likeness"] or {"n": 0, "gain": {}}
    rows = [
        {
            "version": title,
            "quality": quality[name],
            "gain": quality["gain"].get(name),
            "likeness": likeness.get(name),
            "gain of it": likeness["gain"].get(name),
            "words": result["words"].get(name),
            "claims changed": result["claims"].get(name),
        }
        for name, title in TITLES.items()
    ]
    several = result["users"] > 1
    people = f"{result['users']:,} {'people' if several else 'person'}"
    yield Table.plain(
        f"{result['n']:,} drafts of {people}, edited by {result['llm']} and chosen by the reward "
        f"model {result['reward_model']}, which also measures them: {shown(result['edited'], 2)} of the drafts were "
        f"edited, the choice is {shown(quality['over_random'], 2, sign=True)} above the random edit. Likeness of "
        f"{likeness['n']:,} drafts. 95% intervals by bootstrap over {'people' if several else 'drafts'}.",
        rows,
        result["command"],
    )
    of = result["candidates"]
    counts = {
        "asked for": of["asked"],
        "failed": of["failed"],
        **{f"failed: {reason}": number for reason, number in of["failures"].items()},
        "dropped, of those with a text": of["dropped"],
        **{f"dropped: {reason}": number for reason, number in of["drops"].items()},
        **{f"edit refused: {REASONS[reason]}": number for reason, number in of["refused_edits"].items()},
        **{f"seconds of a draft, {name}": value for name, value in (result["seconds"] or {}).items()},
    }
    yield Table.facts("Candidates, and the edits that they propose.", counts)
