"""``pearl train sets``"""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from pearl.options import ENCODER_OPTION, bundled
from training.choices import CORRECTED, EXTENT_CHOICES, choices_of
from training.commands.options import AuxiliaryFlags, RunFlags, explain_split
from training.progress import progress_of

ABOUT = """A line of the file is a gains record with scores and sets; a set names places in 'documents', best first;
'retriever' says whose scores they are:

\b
  {"request": "...", "documents": [{"text": "..."}, {"text": "..."}, {"text": "..."}], "gain": [2.9, 3.1, 0.2],
   "score": [0.4, 0.9, 0.1], "sets": [{"documents": [1, 0], "gain": 3.4}, {"documents": [1, 2], "gain": 3.9}],
   "retriever": "bm25"}"""
EXAMPLES = """
  pearl train sets --history history.jsonl.gz --template commit --split dev --users 30 --out work/sets.jsonl.gz
  pearl train sets --history history.jsonl.gz --retriever dense-sum --documents 5 --out sets.jsonl.gz
"""


@bundled
def sets(
    history: Path = typer.Option(..., metavar="H.jsonl.gz", help="History file."),
    out: Path = typer.Option(
        ..., metavar="SETS.jsonl.gz", help="Write the gains to this file; parts are kept beside it."
    ),
    retriever: str = typer.Option("embedded", help="Retriever that says which documents are the best."),
    encoder: str | None = ENCODER_OPTION,
    documents: int = typer.Option(6, min=3, help="Best documents of a request to measure."),
    auxiliary: AuxiliaryFlags = AuxiliaryFlags(),  # noqa: B008  (frozen)
    split: str | None = typer.Option(None, help="Split: train, dev or test; by users, or by time if there are few."),
    targets: int = typer.Option(1, min=1, help="Targets per user."),
    users: int | None = typer.Option(None, min=1, help="Users to measure; all by default."),
    run: RunFlags = RunFlags(),  # noqa: B008
) -> None:
    """Measure what the best documents of a request gain together: gains do not add.

    Each of them is measured alone, and so is every set of two or three that holds the best. Repeat an interrupted
    command and it goes on where it stopped.
    """
    from pearl.history import read_histories
    from pearl.partition import ROLLING
    from pearl.settings import load_settings
    from pearl.split import SPLITS, check_split
    from pearl.texts import counted
    from retriever.models.auxiliary import load_auxiliary
    from retriever.models.encoder import SentenceEncoder
    from retriever.registry import make_retriever
    from training.data.histories import fingerprint
    from training.data.split import BY_USERS, way_of
    from training.files import alone_in, check_file
    from training.gains.scoring import prepared, score_units
    from training.gains.sets import SetScorer, plan_sets, write_sets
    from training.gains.units import ScoringOptions
    from training.templates import auxiliary_template

    check_file("out", out, [history])
    check_split(split)
    chosen = choices_of(CORRECTED, auxiliary.choices())
    prompts = auxiliary_template(auxiliary.template)
    name = load_settings(encoder=encoder).encoder
    ranking = make_retriever(retriever, SentenceEncoder(name))
    content, histories = fingerprint(history), read_histories(history)
    way = BY_USERS if split is None else way_of([histories], dict.fromkeys(SPLITS, documents), run.seed)
    options = ScoringOptions(
        auxiliary.template,
        split,
        ROLLING,
        targets,
        None,
        documents,
        users,
        **{name: chosen[name] for name in EXTENT_CHOICES},
        seed=run.seed,
        way=way,
    )
    console = Console(stderr=True)
    explain_split(histories, split, way, run.seed, console)
    with console.status("Ranking the candidates..."):
        units = list(plan_sets(histories, options, ranking, documents))
    with console.status("Loading the auxiliary model..."):
        model = load_auxiliary(chosen["aux"], device=run.device, dtype=auxiliary.dtype)
    scorer, description = prepared(model, prompts, options, histories, {unit.target.text for unit in units}, content)
    description |= {"retriever": retriever, "encoder": name, "origin": ranking.origin, "documents": documents}
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = out.with_name(f"{out.name.removesuffix('.gz')}.parts")
    with alone_in(folder, "out"):
        with progress_of("measuring", sum(unit.size for unit in units), console) as advance:
            score_units(units, lambda: SetScorer(scorer), folder, description, advance)
        written = write_sets(units, folder, out, ranking.fingerprint)
    typer.echo(f"{counted(written, 'set')} of {counted(len(units), 'request')} in {out}", err=True)
