"""``pearl eval shown``"""

from __future__ import annotations

from dataclasses import replace

from eval.commands.options import WritingOptions
from eval.commands.reporting import reporting
from eval.report.report import Report

ABOUT = """A line of the input is a gains record with a target, as for 'pearl eval generation'."""
EXAMPLES = """
  pearl eval shown --gains MODEL.work/gains-dev-mine.jsonl.gz --model MODEL --template commit --json shown.json
  pearl train margin --model MODEL --shown shown.json
"""


@reporting("eval", "shown")
def shown(options: WritingOptions) -> Report:
    """Compare drafts by the documents shown: a fixed number, or those that score near the best one.

    Every answer is kept: repeat an interrupted command and it goes on where it stopped.
    """
    from eval.commands.writing import ready
    from eval.drafts.shown import by_count, shown_report, shown_tables
    from pearl.asking.write import write_drafts
    from pearl.templates import load_template

    # k is named, so that a margin that is there already leaves nothing out
    options = replace(options, k=options.k or load_template(options.template).k)
    with ready(options) as room:
        cases = room.material.cases
        lots = [by_count(system) for system in room.systems]
        briefs = [room.plan.briefs(cases, system) for lot in lots for system in lot]
        written = iter(room.write(lambda desk: write_drafts(desk, briefs)))
    stances = options.told_stances()
    with room.console.status("Measuring..."):
        models = [
            shown_report(cases, system, [next(written) for _ in lot], room.scorer, stances=stances, seed=options.seed)
            for system, lot in zip(room.systems, lots, strict=True)
        ]
    return room.report(room.head("shown"), {"models": models}, shown_tables)
