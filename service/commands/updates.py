"""The end of ``pearl import --update``: documents that are gone from their source, removed when the person agrees."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from service.importing.import_record import remove_gone
from service.importing.run import ImportSummary
from service.store.database import Database


def settle_gone(database: Database, summary: ImportSummary, source: Path, *, yes: bool) -> int:
    """The number of documents removed: all that are gone, with ``yes`` or when the person says so, or none."""
    gone = sum(len(missing.document_ids) for missing in summary.gone)
    if not gone:
        return 0
    brought = sum(missing.brought for missing in summary.gone)
    finding = f"{gone:,} of {brought:,} documents that came from {source} are not there any more."
    if summary.errors_total > summary.conflicts:  # a document in conflict was read: the source gives two texts its id
        typer.echo(f"{finding} They stay, for not everything in it could be read.", err=True)
        return 0
    if not yes and not sys.stdin.isatty():
        typer.echo(f"{finding} They stay; give --yes to remove them.", err=True)
        return 0
    if not yes and not typer.confirm(f"{finding} Remove them from the history?", err=True):
        return 0
    return remove_gone(database, summary.gone)
