"""``pearl eval edits``"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from eval.commands.scored import Resamples, Seed
from pearl.options import JSON_OPTION, check_writable

EXAMPLES = """A record is a chat in which the user gives a paragraph and the assistant edits it in three parts:

\b
  {"messages": [{"role": "user", "content": "... Here is the paragraph you are editing:\\n..."},
                {"role": "assistant", "content": "Part 1: ...\\nSpan 1: `...` (Category: `Cliche`)\\n ..."}]}

Examples:

\b
  pearl eval edits --traces edit-cot-test_dataset.json.gz --json - | jq .traces
  pearl eval edits --traces traces.jsonl --scorer shorter --picture sensitivity.svg
  pearl eval edits --traces traces.jsonl --training-records editor.jsonl
"""

ScorerName = Annotated[
    str | None,
    typer.Option(
        "--scorer",
        metavar="NAME",
        help="Trivial scorer of the text after each edit: shorter, longer, compression, type_token or perplexity.",
    ),
]


def edits(
    traces: Path = typer.Option(..., "--traces", metavar="F.json", help="Chats that edit a paragraph in three parts."),
    scorer: ScorerName = None,
    model: str | None = typer.Option(None, "--model", metavar="MODEL", help="Reward model: a folder, or embedded."),
    training_records: Path | None = typer.Option(
        None,
        "--training-records",
        metavar="FILE.jsonl",
        help="Write the traces as chats to train an editor on, with the edits that can be executed.",
    ),
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw the change of the score; needs a scorer."),
    json: str | None = JSON_OPTION,
) -> None:
    """Execute recorded edits, say why some cannot be, and measure how a score changes with each."""
    from eval.asking.json_lines import write_lines
    from eval.recorded.quality.edit_sensitivity import sensitivity_report
    from eval.recorded.quality.edit_tables import edit_tables, edits_figure
    from eval.recorded.quality.edit_traces import executed, execution_report, read_traces
    from eval.recorded.quality.edit_traces import training_records as chats
    from eval.recorded.quality.paragraph_scores import paragraph_scorer
    from eval.report.head import Head
    from eval.report.report import Outputs, Report
    from pearl.errors import InputError

    outputs = Outputs(json, picture)
    outputs.check()
    check_writable("--training-records", training_records)
    chosen = paragraph_scorer(scorer, model)
    if picture is not None and chosen is None:
        raise InputError("--picture draws how a score changes; name one with --scorer or --model.", param="picture")
    executed_traces = executed(read_traces(traces))
    figures = execution_report(executed_traces)
    if chosen is not None:
        figures["scorer"] = chosen.name
        figures["sensitivity"] = sensitivity_report(executed_traces, chosen.scores, resamples=resamples, seed=seed)
    if training_records is not None:
        write_lines(training_records, chats(executed_traces), called=f"--training-records {training_records}")
    drawn: dict[str, Any] = {"resamples": resamples, "seed": seed} if chosen else {}
    head = Head.of("eval", "edits", traces=traces, scorer=scorer, model=model, **drawn)
    outputs.write(head, Report(figures, edit_tables, picture=edits_figure if chosen else None))
