"""``pearl eval manner``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.options import Seed
from eval.commands.reporting import reporting
from eval.report.report import Report

EXAMPLES = """
  pearl eval manner --history commits.jsonl.gz --kind commit --history mail.jsonl.gz --kind message
  pearl eval manner --history mail.jsonl.gz --kind message --reference-out reference.json --json -
"""


@reporting("eval", "manner", writes=("reference_out",))
def manner(
    history: list[Path] = typer.Option(..., metavar="H.jsonl.gz", help="History file; repeatable."),
    kind: list[str] | None = typer.Option(
        None, metavar="KIND", help="Kind of text of each --history: any, commit or message; any if not given."
    ),
    split: str = typer.Option("test", metavar="HALF", help="Half of the authors: dev (for tuning) or test."),
    authors: int = typer.Option(60, min=2, help="Authors of each history at most."),
    seed: Seed = 0,
    reference_out: Path | None = typer.Option(
        None, metavar="FILE", help="Write figures over the dev authors here, and measure with them."
    ),
) -> Report:
    """Measure how often ten held-back texts are told from another author's by the voice card alone."""
    import orjson
    from rich.console import Console

    from eval.retrieval.manner import SPLITS, authors_of, manner_figures, manner_tables, references
    from pearl.cli.options import write_text
    from pearl.errors import InputError
    from pearl.manner.reference import ANY, COMMIT, MESSAGE, shipped

    kinds = kind or [ANY] * len(history)
    if split not in SPLITS:
        raise InputError(f"--split must be one of {', '.join(SPLITS)}.", param="split")
    if len(kinds) != len(history) or not set(kinds) <= {ANY, COMMIT, MESSAGE}:
        raise InputError("--kind: give any, commit or message for each --history, in their order.", param="kind")
    console = Console(stderr=True)
    files, kind_references = list(zip(history, kinds, strict=True)), None
    if reference_out is not None:
        with console.status("Reading the dev authors..."):
            dev_authors = [(file_kind, authors_of(path, "dev", authors, seed)) for path, file_kind in files]
            kind_references = references(dev_authors)
        written = {file_kind: reference.to_json() for file_kind, reference in kind_references.items()}
        write_text("--reference-out", reference_out, f"{orjson.dumps(written).decode()}\n")
    histories = []
    for path, file_kind in files:
        with console.status(f"Measuring {path.name}..."):
            reference = kind_references[file_kind] if kind_references else shipped(file_kind)
            histories.append(manner_figures(path.name, authors_of(path, split, authors, seed), reference))
    return Report({"split": split, "histories": histories}, manner_tables)
