"""``pearl eval style``"""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from eval.commands.scored import Resamples, Seed, write_or_show
from pearl.options import JSON_OPTION, check_writable

EXAMPLES = """The judgements are those that pearl judge style-detect and style-rank write. A line of people's ratings:

\b
  {"item": "text 1", "style": "storytelling", "rater": "Ann", "label": "somewhat"}
  {"item": "pair 7", "style": "storytelling", "rater": "Ben", "label": "a_slightly"}

Labels: very, somewhat, not, cant_tell, or present, absent; of two texts a_much, a_slightly, tie, b_slightly, b_much, or
a, b. Presets: as_published votes on levels before they become labels; corrected the other way round. The file of
--ability is an object, {"model": {"score": 0.7, "family": "..."}}, of judges and of writers.

Examples:

\b
  pearl eval style --judgements judged.jsonl.gz --human people.jsonl
  pearl eval style --judgements a.jsonl --judgements b.jsonl --human people.jsonl --json - | jq .f1
  pearl eval style --judgements judged.jsonl --human people.jsonl --ability models.json --report style.html
"""


def style(
    judgements: list[Path] = typer.Option(
        ..., "--judgements", metavar="J.jsonl", help="Recorded judgements; repeatable."
    ),
    human: Path | None = typer.Option(
        None, "--human", metavar="H.jsonl", help="Labels that people gave to the same texts."
    ),
    ability: Path | None = typer.Option(None, "--ability", metavar="A.json", help="Scores and families of models."),
    preset: str = typer.Option("corrected", "--preset", help="Preset: corrected or as_published."),
    votes: str | None = typer.Option(
        None, "--votes", help="Vote on levels or labels, if not the preset's: levels_first or labels_first."
    ),
    cant_tell: str | None = typer.Option(
        None, "--cant-tell", help="Treatment of cant_tell, if not the preset's: left_out, absent or own."
    ),
    even: str | None = typer.Option(
        None, "--even", help="Label of an even vote, if not the preset's: no_label or cautious."
    ),
    half: str | None = typer.Option(
        None, "--half", help="Treatment of a draw answered in one order only, if not the preset's: dropped or tie."
    ),
    resamples: Resamples = 2000,
    seed: Seed = 0,
    picture: Path | None = typer.Option(None, metavar="FILE.svg", help="Draw how far judges and people agree."),
    report: Path | None = typer.Option(None, metavar="FILE.html", help="Write everything as one page."),
    json: str | None = JSON_OPTION,
) -> None:
    """Measure how well judges of style agree with people and with themselves, and whose texts they judge best."""
    from eval.recorded.style.ability import read_abilities
    from eval.recorded.style.choices import chosen
    from eval.recorded.style.more_tables import more_tables
    from eval.recorded.style.picture import style_figure
    from eval.recorded.style.report import StyleOptions, style_report
    from eval.recorded.style.tables import style_tables
    from eval.report.page import write_page
    from eval.report.pictures import check_format, draw, svg
    from pearl import __version__

    check_format(picture)
    for option, target in (("--picture", picture), ("--report", report), ("--json", json)):
        check_writable(option, target)
    options = StyleOptions(chosen(preset, votes=votes, cant_tell=cant_tell, even=even, half=half), resamples, seed)
    words = ["pearl", "eval", "style", *(word for path in judgements for word in ("--judgements", str(path)))]
    words += [*(["--human", str(human)] if human else []), *(["--ability", str(ability)] if ability else [])]
    words += ["--preset", preset]
    for name, value in options.choices.to_json().items():
        words += [f"--{name.replace('_', '-')}", value]
    words += ["--resamples", str(resamples), "--seed", str(seed)]
    made_by = {"command": shlex.join(words), "version": __version__}
    abilities = read_abilities(ability) if ability else {}
    result = made_by | style_report(judgements, human, abilities, options)
    if picture:
        draw(style_figure, result, picture)
    if report:
        tables = (*style_tables(result), *more_tables(result))
        write_page(report, "Judges of style", result["command"], [svg(style_figure, result)], tables)
    write_or_show(json, result, style_tables)
