"""``pearl eval generation``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Baselines, WritingOptions
from eval.commands.reporting import reporting
from eval.report.report import Report

ABOUT = """A line of --gains is a gains record with a target:

\b
  {"user_id": "ann", "request": "...", "target": "...", "documents": [{"text": "..."}], "gain": [0.4]}

With --history it is a history, and no gains are needed."""
EXAMPLES = """
  pearl eval generation --gains gains.jsonl.gz --model embedded --model bm25 --template commit
  pearl eval generation --history history.jsonl.gz --model embedded --model bm25 --split test --limit 50
  pearl eval generation --gains gains.jsonl.gz --model bm25 --k-shot --llm openai --limit 200 --json table1.json
  pearl eval generation --gains gains.jsonl.gz --model embedded --model bm25 --drafts drafts.jsonl
  pearl judge authorship --items drafts.jsonl --systems embedded bm25
"""


@reporting("eval", "generation", writes=("drafts",))
def generation(
    options: WritingOptions,
    baseline: Baselines = [],  # noqa: B006  (typer makes a new one)
    zero_shot: bool = typer.Option(True, help="Also draft from the request alone."),
    k_shot: bool = typer.Option(
        False, "--k-shot", help="Also draft from random documents of other users, the same for all."
    ),
    drafts: Path | None = typer.Option(
        None, metavar="FILE.jsonl", help="Write every system's drafts as items for pearl judge authorship."
    ),
) -> Report:
    """Draft real requests and compare the drafts with what the users really wrote: ROUGE, BERTScore, stance.

    Every answer is kept: repeat an interrupted command and it goes on where it stopped.
    """
    from eval.asking.json_lines import write_lines
    from eval.commands.writing import ready
    from eval.drafts.cases import items_of
    from eval.drafts.generation import generation_report, generation_tables
    from eval.drafts.systems import k_shot_system, zero_shot_system
    from pearl.asking.write import write_drafts

    with ready(options, baseline) as room:
        cases, plan, systems = room.material.cases, room.plan, [*room.systems]
        if k_shot:
            balanced, everyone, aside = options.stances, room.material.everyone, options.set_aside
            strangers = k_shot_system(
                cases, everyone, plan.shown, options.seed, balanced=balanced, near_duplicates=aside
            )
            systems.insert(0, strangers)
        if zero_shot:
            systems.insert(0, zero_shot_system(cases))
        briefs = [plan.briefs(cases, system) for system in systems]
        written = room.write(lambda desk: write_drafts(desk, briefs))
    if drafts:
        items = items_of(cases, [system.name for system in systems], written, room.writes.model.name)
        write_lines(drafts, items, called=f"{drafts}: cannot be written")
    with room.console.status("Measuring..."):
        stances = options.told_stances()
        figures = generation_report(cases, systems, written, room.scorer, stances=stances, seed=options.seed)
    head = room.head("generation", no_zero_shot=not zero_shot, k_shot=k_shot)
    return room.report(head, figures, generation_tables)
