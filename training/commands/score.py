"""``pearl train score``"""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from pearl.cli.options import RAY_OPTION, bundled, check_apart
from training.choices import CORRECTED, EXTENT_CHOICES, SCORED_CHOICES, choices_help, choices_of
from training.commands.options import CHOOSE_OPTION, AuxiliaryFlags, RunFlags, explain_split
from training.progress import progress_of

ABOUT = choices_help(("aux", *SCORED_CHOICES))
EXAMPLES = """
  pearl train score --history history.jsonl.gz --template commit --out work/scores.parquet
  pearl train score --history history.jsonl.gz --split test --out test.parquet --gains test.jsonl.gz
  pearl train score --history history.jsonl.gz --preset as_published --device cuda --out s.parquet
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
    auxiliary: AuxiliaryFlags = AuxiliaryFlags(),  # noqa: B008  (frozen)
    split: str | None = typer.Option(None, help="Split: train, dev or test; by users, or by time if there are few."),
    preset: str | None = typer.Option(
        None,
        help="Choices to begin with: corrected or as_published, as pearl train retriever has them.",
        show_default="corrected with the latest 8 texts of a user as targets",
    ),
    choose: list[str] = CHOOSE_OPTION,
    least_candidates: int = typer.Option(1, min=1, help="Leave out a request with fewer candidates before it."),
    users: int | None = typer.Option(None, min=1, help="Users to score; all by default."),
    run: RunFlags = RunFlags(),  # noqa: B008
    ray: str | None = RAY_OPTION,
) -> None:
    """Score candidates by how much they help the auxiliary model to write the target (equation 1).

    Repeat an interrupted command and it goes on where it stopped.
    """
    from pearl.history.files import read_histories
    from pearl.history.partition import LATEST, TARGETS_PER_USER
    from pearl.history.split import SPLITS, check_split
    from pearl.text.usable import counted
    from retriever.templates import auxiliary_template
    from training.data.histories import fingerprint
    from training.data.records import write_gains
    from training.data.split import BY_USERS, way_of
    from training.files import alone_in, check_file
    from training.gains.auxiliary import auxiliary_model
    from training.gains.scores import merge_scores, read_scores, scored_examples
    from training.gains.scoring import prepared, score_units
    from training.gains.units import GainOptions, plan_units, target_texts

    check_file("out", out, [history])
    if gains is not None:
        check_file("gains", gains, [history])
        check_apart({"--out": out, "--gains": gains})
    check_split(split)
    chosen, given = choices_of(preset or CORRECTED, choose, SCORED_CHOICES, aux=auxiliary.aux)
    if not preset:
        chosen |= {"partition": LATEST, "targets": TARGETS_PER_USER} | given
    prompts = auxiliary_template(auxiliary.template)
    content, histories = fingerprint(history), read_histories(history)
    way = BY_USERS if split is None else way_of([histories], dict.fromkeys(SPLITS, least_candidates), run.seed)
    options = GainOptions(
        auxiliary.template,
        split,
        chosen["partition"],
        chosen["targets"],
        chosen["candidates"] or None,
        least_candidates,
        users,
        **{name: chosen[name] for name in EXTENT_CHOICES},
        seed=run.seed,
        way=way,
    )
    units = plan_units(histories, options)
    console = Console(stderr=True)
    explain_split(histories, split, way, run.seed, console)
    with console.status("Loading the auxiliary model..."):
        model = auxiliary_model(chosen["aux"], run.device, auxiliary.dtype, ray)
    scorer, description = prepared(model, prompts, options, histories, target_texts(units), content)
    folder = out.with_name(f"{out.name.removesuffix('.parquet')}.parts")
    with alone_in(folder, "out"):
        with progress_of("scoring", sum(unit.size for unit in units), console) as advance:
            score_units(units, scorer, folder, description, advance)
        rows = merge_scores(units, folder, out, description)
        if gains is not None:
            write_gains(scored_examples(histories, read_scores(out)[0]), gains)
    users = len({unit.user_id for unit in units})
    typer.echo(f"{counted(rows, 'pair')} of {counted(users, 'user')} in {out}", err=True)
