"""The tables of ``pearl eval best-of``."""

from __future__ import annotations

from collections.abc import Iterator

from eval.report.tables import NOTHING, Json, Table, shown
from pearl.editing.edits import REASONS

VERSIONS = {
    "draft": "the draft",
    "any": "a random edit of all",
    "random": "a random edit not below the draft",
    "choice": "the choice",
}


def best_of_tables(result: Json) -> Iterator[Table]:
    """Reward and likeness of each version, then what became of the candidates and of the proposed edits."""
    quality, likeness = result["quality"], result["likeness"]

    def cells(scores: Json | None, name: str, digits: int) -> tuple[str, str]:
        if scores is None:
            return NOTHING, NOTHING
        gain = NOTHING if name == "draft" else shown(scores["gain"][name], digits, sign=True)
        return shown(scores[name], digits), gain

    rows = tuple(
        (title, *cells(quality, name, 2), *cells(likeness, name, 3), shown(result["words"].get(name), 0))
        for name, title in VERSIONS.items()
    )
    yield Table(
        f"{result['n']:,} drafts of {result['users']:,} people, edited by {result['llm']} and chosen by the reward "
        f"model {result['reward_model']}, which also measures them: {shown(result['edited'], 2)} of the drafts were "
        f"edited, the choice is {shown(quality['over_random'], 2, sign=True)} above the random edit. Likeness of "
        f"{likeness['n'] if likeness else 0:,} drafts. 95% intervals by bootstrap over people.",
        ("version", "quality", "gain", "likeness", "gain of it", "words"),
        rows,
        result["command"],
    )
    of = result["candidates"]
    counts = {
        "asked for": f"{of['asked']:,}",
        "failed": shown(of["failed"], 3),
        **{f"failed: {reason}": f"{number:,}" for reason, number in of["failures"].items()},
        "dropped, of those with a text": shown(of["dropped"], 3),
        **{f"dropped: {reason}": f"{number:,}" for reason, number in of["drops"].items()},
    }
    yield Table("Candidates.", ("", "candidates"), tuple(counts.items()))
    edits = tuple((REASONS[reason], f"{number:,}") for reason, number in of["refused_edits"].items())
    if edits:
        yield Table("Proposed edits that were not executed.", ("why", "edits"), edits)
    if result["seconds"]:
        seconds = result["seconds"]
        times = (("median", f"{seconds['median']:g}"), ("longest", f"{seconds['longest']:g}"))
        yield Table(f"Seconds for the candidates of a draft, {seconds['n']:,} drafts.", ("", "seconds"), times)
