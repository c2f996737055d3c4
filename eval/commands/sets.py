"""``pearl eval sets``"""

from __future__ import annotations

from pathlib import Path

import typer

from eval.commands.reporting import reporting
from eval.report.report import Report
from pearl.options import ENCODER_OPTION
from pearl.settings import load_settings

EXAMPLES = """
  pearl train sets --history history.jsonl.gz --retriever MODEL --split dev --out sets.jsonl.gz
  pearl eval sets --sets sets.jsonl.gz --model MODEL --json sets.json
  pearl train margin --model MODEL --shown sets.json --metric gain
"""


@reporting("eval", "sets")
def sets(
    sets: list[Path] = typer.Option(..., metavar="S.jsonl.gz", help="File of pearl train sets; repeatable."),
    model: str = typer.Option(..., metavar="MODEL", help="Retriever whose scores the files have."),
    encoder: str | None = ENCODER_OPTION,
) -> Report:
    """Compare how many of the best documents to show, by what they gain together: a number, or those near the best.

    Every file counts the same. No drafts are written.
    """
    from eval.report.tables import file_names
    from eval.retrieval.gains import read_gains
    from eval.retrieval.sets import check_scored_by, sets_figures, sets_tables
    from retriever.models.encoder import SentenceEncoder
    from retriever.registry import make_retriever

    files = {name: read_gains(path) for name, path in zip(file_names(sets), sets, strict=True)}
    if any(record.retriever for records in files.values() for record in records):  # earlier files do not say it
        name = load_settings(encoder=encoder).encoder
        check_scored_by(make_retriever(model, SentenceEncoder(name)).fingerprint, files)
    figures = sets_figures(files)
    return Report({"models": [{"model": model, **figures}]}, sets_tables)
