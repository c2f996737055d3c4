"""The last steps of a training, which measure: margin and theta on dev's drafts, and the figures on users held back.

What measures is ``pearl eval``, which training does not import: it is run as a user runs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from pearl.errors import InputError, PearlError
from pearl.history.split import DEV, TEST
from pearl.templates import template_names
from retriever.calibrated.artifact import Artifact, read_manifest, read_whole, write_manifest
from training.choose.curves import MACRO_F1
from training.choose.operating_point import set_margin, set_threshold
from training.data.histories import corpus_name
from training.options import TrainingOptions, gains_file

DRAFTED_AS = {"comment": "message"}  # the template of drafts, where the auxiliary model's prompts have no namesake
SHOWN = ("top1_gain", "topk_gain", "ndcg", "pearson_r", "median_top1_gain", "share_of_best", "win_rate")
DRAFTED = 120  # requests of dev that both are chosen on


def with_margin(options: TrainingOptions, llm: str, metric: str, minutes: float | None) -> None:
    """Choose the margin on drafts of dev's requests, as many as there are minutes for. Raises PearlError where they
    cannot be written or measured; the artifact is then as it was."""
    report = options.work / "shown-dev.json"
    _run(["shown", *_drafting(options, llm, metric, minutes)], report)
    set_margin(options.out, report, metric)


def with_threshold(options: TrainingOptions, llm: str, metric: str, minutes: float | None) -> None:
    """Choose theta on drafts and revisions of dev's requests, as many as there are minutes for. Raises PearlError where
    they cannot be written or measured; the artifact is then as it was."""
    report = options.work / "revision-dev.json"
    picture = ["--metric", metric, "--picture", str(options.work / "revision-dev.svg")]
    _run(["revision", *_drafting(options, llm, metric, minutes), *picture], report)
    set_threshold(options.out, report, metric)


def _drafting(options: TrainingOptions, llm: str, metric: str, minutes: float | None) -> list[str]:
    arguments = [*_gains(options, DEV), "--model", str(options.out), "--llm", llm]
    arguments += ["--encoder", options.encoder, "--limit", str(DRAFTED)]
    arguments += ["--generations", str(options.work / "generations.sqlite")]
    arguments += ["--template", draft_template(options.template)]
    if metric == MACRO_F1:
        arguments += ["--stances"]
    if minutes is not None:
        arguments += ["--budget-minutes", str(minutes)]
    return arguments


def draft_template(name: str) -> str:
    """The template of drafts that goes with the auxiliary model's template ``name``, or with a file's."""
    name = DRAFTED_AS.get(name, name)
    return name if name in template_names() else "free"


def measured(options: TrainingOptions) -> Artifact:
    """Write the figures on held-back users into the artifact; none where there are none. Raises PearlError where they
    cannot be measured, and InputError for an artifact that is not whole."""
    artifact = read_whole(options.out)
    if not artifact.training["test_requests"]:
        return artifact
    report = options.work / "retrieval-test.json"
    arguments = ["retrieval", *_gains(options, TEST), "--encoder", options.encoder]
    for model in (str(options.out), "bm25", "dense", "recent"):
        arguments += ["--model", model]
    measured = _run(arguments, report)
    own = measured["models"][0]
    figures = {name: own[name] for name in SHOWN if own.get(name)}
    figures |= {"requests": measured["n"], "users": measured["users"]}
    write_manifest(options.out, replace(artifact, figures=figures))
    return read_manifest(options.out)


def _gains(options: TrainingOptions, split: str) -> list[str]:
    """The options that name the split's files; a history without a request in it has none."""
    files = [gains_file(options.work, split, corpus_name(path)) for path in options.histories]
    return [word for file in files if file.exists() for word in ("--gains", str(file))]


def _run(arguments: list[str], report: Path) -> dict[str, Any]:
    # -P: without it Python would import modules of the folder that the command runs in before its own and ours
    program = [sys.executable, "-P", "-c", "from pearl.cli.main import main; main()"]
    command = [*program, "eval", *arguments, "--json", str(report)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        error = InputError if done.returncode == InputError.exit_status else PearlError
        raise error(f"pearl eval {arguments[0]} failed, for what is said above; the artifact is whole, but without it.")
    measured: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    return measured
