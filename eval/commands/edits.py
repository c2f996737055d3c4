"""``pearl eval edits``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Resamples, RewardName, Seed, TextScorerName
from eval.commands.reporting import reporting
from eval.report.report import Report
from pearl.errors import InputError

ABOUT = """A record is a chat in which the user gives a paragraph and the assistant edits it in three parts:

\b
  {"messages": [{"role": "user", "content": "... Here is the paragraph you are editing:\\n..."},
                {"role": "assistant", "content": "Part 1: ...\\nSpan 1: `...` (Category: `Cliche`)\\n ..."}]}"""
EXAMPLES = """
  pearl eval edits --traces edit-cot-test_dataset.json.gz --json - | jq .traces
  pearl eval edits --traces traces.jsonl --scorer shorter --picture sensitivity.svg
  pearl eval edits --traces traces.jsonl --training-records editor.jsonl
"""


@reporting("eval", "edits", writes=("training_records",))
def edits(
    traces: Path = typer.Option(..., metavar="F.json", help="Chats that edit a paragraph in three parts."),
    scorer: TextScorerName = None,
    model: RewardName = None,
    training_records: Path | None = typer.Option(
        None,
        metavar="FILE.jsonl",
        help="Write the traces as chats to train an editor on, with the edits that can be executed.",
    ),
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw the change of the score; needs a scorer."),
) -> Report:
    """Execute recorded edits, say why some cannot be, and measure how a score changes with each."""
    from eval.asking.json_lines import write_lines
    from eval.recorded.quality.edit_sensitivity import sensitivity_report
    from eval.recorded.quality.edit_tables import edit_tables, edits_figure
    from eval.recorded.quality.edit_traces import executed, execution_report, read_traces
    from eval.recorded.quality.edit_traces import training_records as chats
    from eval.recorded.quality.scorers import text_scorer

    chosen = text_scorer(scorer, model)
    if picture is not None and chosen is None:
        raise InputError("--picture draws how a score changes; name one with --scorer or --model.", param="picture")
    executed_traces = executed(read_traces(traces))
    figures = execution_report(executed_traces)
    if chosen is not None:
        figures["scorer"] = chosen.name
        figures["sensitivity"] = sensitivity_report(executed_traces, chosen.scores, resamples=resamples, seed=seed)
        if picture is not None and figures["sensitivity"] is None:
            raise InputError("--picture: no edit can be executed, so no score changes.", param="picture")
    if training_records is not None:
        write_lines(training_records, chats(executed_traces), called=f"--training-records {training_records}")
    untold = {"resamples": None, "seed": None} if chosen is None else {}
    return Report(figures, edit_tables, picture=edits_figure, options=untold)
