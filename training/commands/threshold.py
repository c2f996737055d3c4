"""The command ``pearl train threshold``: choose theta, below which a draft is revised."""

from __future__ import annotations

from pathlib import Path

import typer

from pearl.cli.options import JSON_OPTION, check_writable, write_json

EXAMPLES = """
  pearl eval revision --gains MODEL.work/gains-dev-mine.jsonl.gz --model MODEL --json dev.json --picture dev.svg
  pearl train threshold --model MODEL --revision dev.json --metric rouge2
  pearl train threshold --model MODEL --metric bertscore
  pearl train threshold --model bm25 --revision dev-bm25.json
"""


def threshold(
    model: str = typer.Option(
        ..., metavar="MODEL", help="Artifact to write theta into; or a scorer by name, such as bm25, which keeps none."
    ),
    revision: Path | None = typer.Option(
        None,
        metavar="REPORT.json",
        help="Report of pearl eval revision on dev, for this model; by default the curve that the artifact keeps.",
    ),
    chat_model: str | None = typer.Option(
        None, metavar="NAME", help="Chat model whose curve to choose from, where the artifact keeps several."
    ),
    metric: str = typer.Option("rouge2", help="Metric to raise: rouge1, rouge2, bertscore or macro_f1."),
    json: str | None = JSON_OPTION,
) -> None:
    """Choose theta, the score below which a draft is revised; "never" if no theta raises the metric on dev by more than
    chance.

    For a scorer by name, theta is only printed: give it to 'pearl eval revision --threshold'.

    Theta is that of the chat model whose drafts the report measured; repeat the command for each model. The report has
    the figures of every theta and, with --picture, their curve.
    """
    from pearl.theta import theta_words
    from retriever.registry import is_named
    from training.choose.operating_point import scorer_threshold, set_threshold

    check_writable("--json", json, [revision] if revision else ())
    if is_named(model):
        chosen = scorer_threshold(model, revision, metric)
    else:
        chosen = set_threshold(Path(model), revision, metric, chat_model)
    choice = "never revise" if chosen.number is None else f"theta {theta_words(chosen.number, 3)}"
    sentence = chosen.words(choice, f"theta {theta_words(chosen.best, 3)}")
    typer.echo(f"{sentence}; {100 * chosen.coverage:.3g}% of the drafts revised", err=True)
    if json:
        write_json(json, chosen.to_json())
