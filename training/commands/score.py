"""The command ``pearl train score``: compute gains of candidates by equation 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from pearl.cli.options import RAY_OPTION, bundled, check_apart
from training.config import (
    CHOOSE_OPTION,
    CONFIG_OPTION,
    EXTENT_CHOICES,
    SCORED_CHOICES,
    TrainingConfig,
    choices_help,
    read_config,
)
from training.progress import progress_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pearl.records import Document

CHOSEN = ("preset", "aux", *SCORED_CHOICES, "template", "dtype", "least_candidates", "users", "device", "seed")
ABOUT = (
    choices_help(TrainingConfig, CHOSEN)
    + """

Without a preset the targets are the latest 8 texts of a user."""
)
EXAMPLES = """
  pearl train score --history history.jsonl.gz --choose template=commit --out work/scores.parquet
  pearl train score --history history.jsonl.gz --split test --out test.parquet --gains test.jsonl.gz
  pearl train score --history history.jsonl.gz --choose preset=as_published --choose device=cuda --out s.parquet
"""


@bundled
def score(
    history: Path = typer.Option(..., metavar="H.jsonl.gz", help="History file."),
    out: Path = typer.Option(
        ..., metavar="SCORES.parquet", help="Write the scores to this file; parts are kept beside it."
    ),
    gains: Path | None = typer.Option(
        None, metavar="GAINS.jsonl.gz", help="Also write the gains with their texts, as pearl eval reads them."
    ),
    aux: str | None = typer.Option(None, help="Auxiliary model, as --choose aux= names it."),
    split: str | None = typer.Option(None, help="Split: train, dev or test; by users, or by time if there are few."),
    config: Path | None = CONFIG_OPTION,
    choose: list[str] = CHOOSE_OPTION,
    ray: str | None = RAY_OPTION,
) -> None:
    """Score candidates by how much they help the auxiliary model to write the target (equation 1).

    Repeat an interrupted command and it goes on where it stopped.
    """
    from pearl.settings import load_settings
    from pearl.text.history.files import read_histories
    from pearl.text.history.partition import LATEST, SPLITS, TARGETS_PER_USER, check_split
    from pearl.text.usable import counted
    from retriever.templates import auxiliary_template
    from training.data.histories import fingerprint
    from training.data.records import write_gains
    from training.data.split import BY_USERS, way_of
    from training.files import alone_in, check_file
    from training.gains.auxiliary import auxiliary_model
    from training.gains.scores import merge_scores, read_scores, scored_examples
    from training.gains.scoring import dtype_for, prepared, score_units
    from training.gains.units import GainOptions, plan_units, target_texts

    check_file("out", out, [history])
    if gains is not None:
        check_file("gains", gains, [history])
        check_apart({"--out": out, "--gains": gains})
    check_split(split)
    chosen, given = read_config(TrainingConfig, config, choose, CHOSEN, aux=aux)
    if "preset" not in given:
        chosen |= {"partition": LATEST, "targets": TARGETS_PER_USER} | given
    prompts = auxiliary_template(chosen["template"])
    seed = chosen["seed"]
    content, histories = fingerprint(history), read_histories(history)
    way = BY_USERS if split is None else way_of([histories], dict.fromkeys(SPLITS, chosen["least_candidates"]), seed)
    options = GainOptions(
        chosen["template"],
        split,
        chosen["partition"],
        chosen["targets"],
        chosen["candidates"] or None,
        chosen["least_candidates"],
        chosen["users"] or None,
        **{name: chosen[name] for name in EXTENT_CHOICES},
        seed=seed,
        way=way,
    )
    units = plan_units(histories, options)
    folder = out.with_name(f"{out.name.removesuffix('.parquet')}.parts")
    console = Console(stderr=True)
    explain_split(histories, split, way, seed, console)
    with console.status("Loading the auxiliary model..."):
        dtype = dtype_for(chosen["dtype"], [folder])
        model = auxiliary_model(chosen["aux"], chosen["device"], dtype, ray or load_settings().ray)
    scorer, description = prepared(model, prompts, options, histories, target_texts(units), content)
    with alone_in(folder, "out"):
        with progress_of("scoring", sum(unit.size for unit in units), console) as advance:
            score_units(units, scorer, folder, description, advance)
        rows = merge_scores(units, folder, out, description)
        if gains is not None:
            write_gains(scored_examples(histories, read_scores(out)[0]), gains)
    users = len({unit.user_id for unit in units})
    typer.echo(f"{counted(rows, 'pair')} of {counted(users, 'user')} in {out}", err=True)


def explain_split(
    histories: Mapping[str, Sequence[Document]], split: str | None, way: str, seed: int, console: Console
) -> None:
    """Print a note if the split is by time, and a note if documents without a timestamp make it random."""
    from pearl.text.history.partition import users_of
    from training.data.histories import untimed_users
    from training.data.split import BY_TIME, BY_USERS, PARTS

    if way == BY_TIME and split is not None:
        part = PARTS[split]
        console.print(
            f"Too few users for a split by users ({len(histories):,}): '{split}' are the texts between "
            f"{part.first:.0%} and {part.last:.0%} of each history.",
            soft_wrap=True,
            highlight=False,
        )
    if untimed := untimed_users(users_of(histories, split) if way == BY_USERS else histories):
        console.print(
            f"{len(untimed):,} users have a document without a timestamp ('{untimed[0]}' is one): which of their texts "
            f"are targets and which candidates is chosen at random, by seed {seed}.",
            soft_wrap=True,
            markup=False,
            highlight=False,
        )
