"""``pearl eval likeness``"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from eval.commands.options import EncoderName, Resamples, Seed
from eval.commands.reporting import reporting
from eval.report.report import Report
from pearl.cli.options import known
from pearl.errors import InputError
from pearl.text.usable import counted

ABOUT = """A history file has many people's texts, as 'pearl import jsonl' reads them. A hash of their ids makes
two fifths of them impostors, and two fifths are tested; the fifth called dev chose the package's coefficients."""
EXAMPLES = """
  pearl eval likeness --history chat.jsonl.gz --history mail.jsonl.gz --json likeness.json
  pearl eval likeness --history team.jsonl --impostors others.jsonl --method likeness --words 60
  pearl eval likeness --history team.jsonl --shipped --picture likeness.svg
  pearl eval likeness --history team.jsonl --method lambdag --words 60 --people 20
"""
METHODS = ("likeness", "words", "characters", "embeddings", "tfidf", "lambdag")
SLOW = "lambdag"
LENGTHS = (60, 100, 200, 400)


@dataclass(frozen=True, slots=True, kw_only=True)
class LikenessFlags:
    history: Annotated[list[Path], Option(metavar="H.jsonl.gz", help="Many people's histories; repeatable.")]
    method: Annotated[
        list[str],
        Option(
            metavar="NAME",
            help=f"Method to measure beside likeness: {', '.join(METHODS[1:])}; repeatable. By default all but {SLOW}.",
        ),
    ] = field(default_factory=lambda: [name for name in METHODS if name != SLOW])
    words: Annotated[list[int], Option(min=1, help="Length of the passages; repeatable.")] = field(
        default_factory=lambda: list(LENGTHS)
    )
    impostors: Annotated[
        list[Path], Option(metavar="H.jsonl.gz", help="Histories of other people to tell apart from; repeatable.")
    ] = field(default_factory=list)
    shipped: Annotated[
        bool, Option("--shipped", help="Tell people apart from the package's registers, as the service does.")
    ] = False
    part: Annotated[str, Option(help="People to measure: test, or dev to tune on.")] = "test"
    people: Annotated[int, Option(min=2, help="Number of people of each file at most.")] = 60
    encoder: EncoderName = None
    resamples: Resamples = 2000
    seed: Seed = 0


@reporting("eval", "likeness", picture="Draw AUC by length, and calibration.")
def likeness(options: LikenessFlags) -> Report:
    """Measure how well people's later texts are told from other people's, by length, with the calibration.

    A person's first texts are the history, the last third is asked about; nobody is their own impostor.
    """
    from rich.console import Console

    from eval.likeness.report import LikenessOptions, likeness_report
    from eval.likeness.tables import likeness_figure, likeness_tables
    from pearl.likeness.impostors import AGAINST_FEW, FEW, shipped_references
    from pearl.settings import load_settings
    from retriever.models.encoder import SentenceEncoder

    if options.shipped and options.impostors:
        raise InputError("--shipped and --impostors name two kinds of impostors; give one.", param="impostors")
    if options.shipped and SLOW in options.method:
        raise InputError("--method lambdag needs texts of impostors; leave --shipped out.", param="method")
    chosen = LikenessOptions(
        tuple(dict.fromkeys((METHODS[0], *(known("method", name, METHODS) for name in options.method)))),
        tuple(dict.fromkeys(options.words)),
        known("part", options.part, ("test", "dev")),
        options.people,
        tuple(options.impostors),
        options.shipped,
        options.resamples,
        options.seed,
    )
    encoder = load_settings(encoder=options.encoder).encoder
    with Console(stderr=True).status("Reading...") as status:
        figures = likeness_report(options.history, chosen, SentenceEncoder(encoder), status.update)
    numbers = [(file["file"], file["impostors"]) for file in figures["files"]]
    if options.shipped:
        taken = {name for _, registers in numbers for name in registers}
        numbers = [(f"the register {one.name}", one.authors) for one in shipped_references() if one.name in taken]
    for name, number in numbers:
        if number < FEW:
            typer.echo(f"Note: {name} has {counted(number, 'impostor')}; {AGAINST_FEW}", err=True)
    held = {"method": list(chosen.methods), "words": list(chosen.lengths), "encoder": encoder}
    return Report(figures, likeness_tables, picture=likeness_figure, options=held)
