"""The last steps of a training: choosing margin and theta by drafts for dev's requests, and measuring on held-back
users.

``pearl eval`` measures; training does not import it but runs it through the command line.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from pearl.cli.main import run
from pearl.clock import Budget
from pearl.errors import PearlError
from pearl.settings import settings_with
from pearl.text.history.partition import DEV, TEST
from pearl.text.templates import template_names
from retriever.calibrated.artifact import Artifact, load_artifact, read_manifest, read_whole, write_manifest
from training.choose.operating_point import MACRO_F1, set_margin, set_threshold
from training.data.histories import corpus_name
from training.run import TrainingOptions, gains_file

DRAFTED_AS = {"comment": "message"}  # the template of drafts, where the auxiliary model's prompts have no namesake
SHOWN = ("top1_gain", "topk_gain", "ndcg", "pearson_r", "median_top1_gain", "share_of_best", "win_rate")
DRAFTED = 120  # requests of dev that both are chosen on


def with_margin(options: TrainingOptions, llm: str, metric: str, minutes: float | None) -> None:
    """Choose the margin (how far below the best score a document may be shown) by drafts for as many of dev's requests
    as ``minutes`` allow. Raises PearlError if drafts cannot be written or measured; the artifact is then unchanged."""
    report = _report(options, "generation", DEV, "--by-count", *_drafting(options, llm, metric, minutes))
    set_margin(options.out, report, metric)


def with_threshold(options: TrainingOptions, llm: str, metric: str, minutes: float | None) -> None:
    """Choose theta (the score below which a draft is revised) by drafts for as many of dev's requests as ``minutes``
    allow. Raises PearlError if drafts cannot be written or measured; the artifact is then unchanged."""
    picture = ["--metric", metric, "--picture", str(options.work / "revision-dev.svg")]
    report = _report(options, "revision", DEV, *_drafting(options, llm, metric, minutes), *picture)
    set_threshold(options.out, report, metric)


def _drafting(options: TrainingOptions, llm: str, metric: str, minutes: float | None) -> list[str]:
    words = ["--model", str(options.out), "--llm", llm, "--limit", str(DRAFTED)]
    words += ["--template", draft_template(options.template)]
    words += ["--stances", "corrected"] if metric == MACRO_F1 else []
    return words + ([] if minutes is None else ["--budget-minutes", str(minutes)])


def draft_template(name: str) -> str:
    """Return the draft template that goes with the auxiliary model's template ``name``; "free" if there is none."""
    name = DRAFTED_AS.get(name, name)
    return name if name in template_names() else "free"


def measured(options: TrainingOptions, budget: Budget, console: Console) -> Artifact:
    """Measure the artifact on held-back users and write the figures into it, if there are such users and time is left.
    Raises PearlError if measuring fails, and InputError for an incomplete artifact."""
    artifact = read_whole(options.out)
    if not artifact.training["test_requests"]:
        return artifact
    if budget.seconds_until(1.0) == 0.0:
        note = "the budget ended before the figures were measured; the same command with more minutes measures them"
        console.print(f"Note: {note}.", highlight=False, soft_wrap=True)
        write_manifest(
            options.out,
            replace(artifact, training=artifact.training | {"notes": [*artifact.training["notes"], note]}),
        )
        return read_manifest(options.out)
    models = [word for model in (str(options.out), "bm25", "dense", "recent") for word in ("--model", model)]
    measured = json.loads(_report(options, "retrieval", TEST, *models).read_text(encoding="utf-8"))
    own = measured["models"][0]
    figures = {name: own[name] for name in SHOWN if own.get(name)}
    figures |= {"requests": measured["n"], "users": measured["users"]}
    write_manifest(options.out, replace(artifact, figures=figures))
    return read_manifest(options.out)


def _report(options: TrainingOptions, command: str, split: str, *words: str) -> Path:
    """Run a command of ``pearl eval`` on the split's requests, and return its report; a history without a request in
    the split has no file of gains."""
    files = [gains_file(options.work, split, corpus_name(path)) for path in options.histories]
    gains = [word for file in files if file.exists() for word in ("--gains", str(file))]
    report = options.work / f"{command}-{split}.json"
    load_artifact.cache_clear()  # the step before may have changed it
    try:
        with settings_with(encoder=options.encoder, ray=options.ray):
            run(["eval", command, *gains, *words, "--json", str(report)])
    except PearlError as error:
        error.message += f" The artifact is whole, but without what 'pearl eval {command}' measures."
        raise
    return report
