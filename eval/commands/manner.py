"""``pearl eval manner``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from pearl.options import JSON_OPTION

EXAMPLES = """Examples:

\b
  pearl eval manner --history commits.jsonl.gz --kind commit --history mail.jsonl.gz --kind message
  pearl eval manner --history mail.jsonl.gz --kind message --reference-out reference.json --json -
"""


def manner(
    history: list[Path] = typer.Option(..., "--history", metavar="H.jsonl.gz", help="History file; repeatable."),
    kind: list[str] | None = typer.Option(
        None, "--kind", metavar="KIND", help="Kind of text of each --history: any, commit or message; any if not given."
    ),
    split: str = typer.Option("test", "--split", metavar="HALF", help="Half of the authors: dev (for tuning) or test."),
    authors: int = typer.Option(60, "--authors", min=2, help="Authors of each history at most."),
    seed: int = typer.Option(0, "--seed", min=0, help="Seed of the sample of authors."),
    reference_out: Path | None = typer.Option(
        None, "--reference-out", metavar="FILE", help="Write figures over the dev authors here, and measure with them."
    ),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how often ten held-back texts are told from another author's by the voice card alone."""
    import orjson
    from rich.console import Console

    from eval.report.head import Head
    from eval.report.report import Outputs, Report
    from eval.retrieval.manner import SPLITS, authors_of, manner_figures, manner_tables, references
    from pearl.errors import InputError
    from pearl.manner.reference import ANY, COMMIT, MESSAGE, shipped

    kinds = kind or [ANY] * len(history)
    if split not in SPLITS:
        raise InputError(f"--split must be one of {', '.join(SPLITS)}.", param="split")
    if len(kinds) != len(history) or not set(kinds) <= {ANY, COMMIT, MESSAGE}:
        raise InputError("--kind: give any, commit or message for each --history, in their order.", param="kind")
    outputs = Outputs(json)
    outputs.check()
    console = Console(stderr=True)
    made, pairs = None, list(zip(history, kinds, strict=True))
    if reference_out is not None:
        with console.status("Reading the dev authors..."):
            made = references([(its, authors_of(path, "dev", authors, seed)) for path, its in pairs])
        reference_out.write_bytes(orjson.dumps({name: each.to_json() for name, each in made.items()}) + b"\n")
    found = []
    for path, its in pairs:
        with console.status(f"Measuring {path.name}..."):
            reference = made[its] if made else shipped(its)
            found.append(manner_figures(path.name, authors_of(path, split, authors, seed), reference))
    told: dict[str, Any] = {"history": history, "kind": kind, "split": split, "authors": authors, "seed": seed}
    outputs.write(Report(Head.of("eval", "manner", **told), {"split": split, "histories": found}, manner_tables))
