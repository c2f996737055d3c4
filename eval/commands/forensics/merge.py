"""``pearl forensics merge``: put files of annotated pairs together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pearl.cli.options import JSON_OPTION, check_apart, check_writable, write_json
from pearl.text.usable import counted

if TYPE_CHECKING:
    from eval.recorded.forensics.pairs import Annotator

ABOUT = """The order is that of the files: the pairs of the first, then those of the second that are new. A pair that
both have gets the votes of both. One file alone is written in another form: .json or .jsonl, optionally .gz."""
EXAMPLES = """
  pearl forensics merge arena.json people.json --out both.jsonl.gz
  pearl forensics merge ann.csv ben.csv --apart --out both.json
  pearl forensics merge old.json --out small.jsonl.gz
"""


def merge(
    files: list[Path] = typer.Argument(..., metavar="PAIRS", help="Files of annotated pairs, in order."),
    out: Path = typer.Option(..., metavar="FILE", help="Write the merged pairs to this file."),
    apart: bool = typer.Option(False, "--apart", help="Keep annotators of one id apart where files share them."),
    json: str | None = JSON_OPTION,
) -> None:
    """Put files of annotated pairs together, or write one in another form."""
    from eval.recorded.forensics import merging
    from eval.recorded.forensics.pair_files import kind_of, read_pairs, write_pairs
    from eval.report.tables import file_names

    kind_of(out, written=True)
    check_writable("--out", out)
    check_writable("--json", json, files)
    check_apart({"--out": out, "--json": json})
    datasets = []
    taken: dict[str, Annotator] = {}
    for name, path in zip(file_names(files), files, strict=True):
        data = read_pairs(path)
        data = merging.apart(name, data, taken) if apart else data
        taken.update(data.annotators)
        datasets.append((str(path), data))
    whole = merging.merged(datasets)
    write_pairs(out, whole)
    counts = {"pairs": len(whole.pairs), "annotators": len(whole.annotators)}
    if json:
        write_json(json, {"out": str(out), **counts, "files": [str(path) for path in files]})
    else:
        typer.echo(f"{out}: {counted(counts['pairs'], 'pair')}, {counted(counts['annotators'], 'annotator')}")
