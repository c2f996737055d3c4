"""How many documents a prompt should show, and whether the scores should say it.

    python docs/experiments/shown.py --gains work/embedded/gains-dev-git.jsonl.gz \
        --gains work/embedded/gains-dev-coreboot.jsonl.gz

writes docs/experiments/shown.json (40 minutes on two cores; it goes on where it stopped). 90 requests of the users to
choose by are drafted with the 1, 2, 3 and 4 best documents of the shipped artifact. A rule by scores shows those of
the 4 best that are within so many nats of the best; what it would have written is among these drafts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from eval.commands.writing import Plan, at_desk, read_material, retrieval_systems
from eval.drafts import Written, write_drafts
from eval.generation import generation_report
from eval.scoring import RememberingEncoder, score_records
from eval.systems import BASELINE, MODEL, Case, Shown, System
from eval.text_metrics import BertScore
from pearl.budget import Budget
from pearl.chat.choose import make_chat_model
from pearl.settings import EMBEDDED, Settings, load_settings
from retriever.artifact import SHIPPED, read_manifest
from retriever.encoder import SentenceEncoder
from retriever.registry import make_retriever

OUT = Path(__file__).with_suffix(".json")
REQUESTS = 90
MOST = 4  # what the template shows
MARGINS = (5, 10, 20, 40, 80)  # nats
DRAFT_TOKENS = 100  # as training/recipes/commits.py
IN_FLIGHT = 8


def plan_of(settings: Settings, gains: Sequence[Path], generations: Path, k: int) -> Plan:
    return Plan(
        settings=settings,
        gains=gains,
        models=(EMBEDDED,),
        baselines=(),
        template="commit",
        k=k,
        max_tokens=DRAFT_TOKENS,
        limit=REQUESTS,
        seed=0,
        near_duplicates=None,
        generations=generations,
        stances=False,
        budget=Budget(None),
        in_flight=IN_FLIGHT,
    )


def within(cases: Sequence[Case], settings: Settings) -> dict[str, list[int]]:
    """By margin, how many of the best documents each case would be shown."""
    retriever = make_retriever(EMBEDDED, RememberingEncoder(SentenceEncoder(settings.encoder)))
    scored = score_records(EMBEDDED, retriever, [case.record for case in cases]).scores
    best = [sorted(scores, reverse=True)[:MOST] for scores in scored]
    tau = read_manifest(SHIPPED).tau  # nats in one unit of the score
    return {
        f"those within {margin} nats": [sum(score >= scores[0] - margin / tau for score in scores) for scores in best]
        for margin in MARGINS
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gains", type=Path, action="append", required=True)
    parser.add_argument("--generations", type=Path, default=Path("work/shown.jsonl"))
    given = parser.parse_args()
    settings, console = load_settings(llm=EMBEDDED, llm_max_retries=0), Console(stderr=True)
    plans = {k: plan_of(settings, given.gains, given.generations, k) for k in range(1, MOST + 1)}
    cases = read_material(plans[MOST]).cases
    systems: list[System] = []
    for k, plan in plans.items():
        (system,) = retrieval_systems(plan, cases, console)
        kind = BASELINE if k == MOST else MODEL  # differences are from what ships
        systems.append(replace(system, name=f"the best {k}", kind=kind))
    briefs = [plans[MOST].briefs(cases, system) for system in systems]
    model = make_chat_model(settings, in_flight=IN_FLIGHT)
    written = [list(each) for each in at_desk(plans[MOST], model, console, lambda desk: write_drafts(desk, briefs))]
    counts = within(cases, settings)
    for name, shown in counts.items():
        places = [min(count, MOST) - 1 for count in shown]
        texts: list[Written] = [written[place][n] for n, place in enumerate(places)]
        seen: tuple[Shown, ...] = tuple(systems[place].shown[n] for n, place in enumerate(places))
        systems.append(System(name, MODEL, seen))
        written.append(texts)
    report = generation_report(cases, systems, written, BertScore(EMBEDDED), stances=False)
    result = {
        "command": "python docs/experiments/shown.py " + " ".join(f"--gains {path}" for path in given.gains),
        "mean_shown": {name: sum(shown) / len(shown) for name, shown in counts.items()},
        **report,
    }
    OUT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
