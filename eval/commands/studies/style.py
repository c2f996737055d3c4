"""``pearl eval style``: judges of style against people, and against themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from eval.commands.options import Overrides, PresetName, Resamples, Seed
from eval.commands.reporting import reporting
from eval.recorded.style import analysis, checks, consistency
from eval.recorded.style.ability import Abilities, contrasts, correlations
from eval.recorded.style.breakdowns import RULES, breakdowns, irrelevant_attributes, reflections, sensitivity
from eval.recorded.style.choices import PRESETS, StyleOptions, chosen
from eval.recorded.style.counts import columns_of
from eval.recorded.style.judged import JudgedUnit, StyleJudgements, read_judged
from eval.recorded.style.labels import DETECTION, LABELS
from eval.recorded.style.people import NOBODY, Subject, read_people
from eval.recorded.style.three_labels import three_labels
from eval.report.report import Report
from eval.report.tables import Json, Table

ABOUT = """The judgements are those that pearl judge style-detect and style-rank write. A line of people's ratings:

\b
  {"item": "text 1", "style": "storytelling", "rater": "Ann", "label": "somewhat"}
  {"item": "pair 7", "style": "storytelling", "rater": "Ben", "label": "a_slightly"}

Labels: very, somewhat, not, cant_tell, or present, absent; of two texts a_much, a_slightly, tie, b_slightly, b_much, or
a, b. The file of --ability is an object, {"model": {"score": 0.7, "family": "..."}}, of judges and of writers.

With --prompts system prompts are ranked. For each request, let the generator write with a system prompt meant to steer
it to the styles, and without (`pearl judge style-write --prompt ...`). `pearl judge items --choose targets=prompts`
puts both into an item of `pearl judge style-rank` with all styles that were wanted, and into one for each style alone,
targets=prompts_all only into the first; "prompt_a" (or "prompt_b") names the prompt that steered text a (or b):

\b
  {"id": "1", "task": "email", "style": ["storytelling", "poetic and lyrical"], "request": "What is a prime number?",
   "text_a": "...", "text_b": "...", "prompt_a": "prefer", "generator": "ours"}

Judge them by validation_style (or ab_style), and those with all styles by validation_default (or ab_helpfulness), too.
A text that was steered well is taken when its styles are asked for, and not otherwise: the score is
(all + single + 100 - default) / 3, in percent.

""" + PRESETS.help()
EXAMPLES = """
  pearl eval style --judgements judged.jsonl.gz --human people.jsonl
  pearl eval style --judgements a.jsonl --judgements b.jsonl --human people.jsonl --json - | jq .f1
  pearl eval style --judgements judged.jsonl --human people.jsonl --ability models.json --report style.html
  pearl eval style --judgements styles.jsonl --judgements default.jsonl --prompts
"""


@reporting("eval", "style", picture="Draw how far judges and people agree.", page=True, presets=PRESETS)
def style(
    judgements: list[Path] = typer.Option(..., metavar="J.jsonl", help="Recorded judgements; repeatable."),
    human: Path | None = typer.Option(None, metavar="H.jsonl", help="Labels that people gave to the same texts."),
    prompts: bool = typer.Option(
        False, "--prompts", help="Also rank system prompts by how well they steer a generator to wanted styles."
    ),
    ability: Path | None = typer.Option(None, metavar="A.json", help="Scores and families of models."),
    preset: PresetName = "corrected",
    choose: Overrides = None,
    resamples: Resamples = 2000,
    seed: Seed = 0,
) -> Report:
    """Measure how well judges of style agree with people and with themselves, and whose texts they judge best."""
    from eval.judges.style_prompts import prompts_report, prompts_table
    from eval.recorded.style.ability import read_abilities
    from eval.recorded.style.tables import more_tables, style_figure, style_tables

    options = chosen(preset, choose, resamples=resamples, seed=seed)
    abilities = read_abilities(ability) if ability else {}
    ranked = {"prompts": prompts_report(judgements, seed)} if prompts else {}
    figures = {**style_report(judgements, human, abilities, options), **ranked}

    def tables(result: Json) -> Iterator[Table]:
        yield from style_tables(result)
        if prompts:
            yield prompts_table(result["prompts"])

    return Report(figures, tables, "Judges of style", style_figure, more_tables)


Rows = list[dict[str, Any]]
Labels = Mapping[Subject, str | None]


def style_report(
    judgements: Sequence[Path], human: Path | None, abilities: Abilities, options: StyleOptions
) -> dict[str, Any]:
    """Every line is accounted for: units, rated or not, verdicts, and fields passed over. Raises InputError for a file
    that cannot be read."""
    judged = read_judged(judgements)
    people = read_people(human) if human else NOBODY
    labels = people.labels(options)
    findings = [*checks.check_judged(judged, options), *checks.check_absent(judged)]
    if human:
        findings += [*checks.check_people(people, labels), *checks.check_matched(judged, people, options)]
    if abilities:
        findings += checks.check_abilities(judged, abilities)
    by_subject = {unit.subject: unit for unit in judged.units}
    counts = Counter((subject.kind, label or "no_label") for subject, label in labels.items())
    plain = {kind: units for kind in LABELS if (units := _plain(judged, kind))}
    detected = plain.get(DETECTION, [])
    consistencies = [row for kind, units in plain.items() for row in consistency.self_consistency(kind, units, options)]
    raters = list(analysis.levels_of_raters(detected, people, options))
    personas = {unit.subject: unit.about.persona for unit in detected}
    return {
        "preset": options.preset,
        "choices": PRESETS.values_in(options),
        "judgements": {
            "lines": judged.lines,
            "lines_without_label": sum(unit.unused for unit in judged.units),
            "units": len(judged.units),
            "units_rated_by_people": sum(unit.subject in labels for unit in judged.units),
            "units_not_rated": sum(unit.subject not in labels for unit in judged.units),
            "units_without_vote_of_people": sum(labels.get(unit.subject, "") is None for unit in judged.units),
            "units_of_a_judge_told_to_be_somebody": sum(unit.key.judge_persona is not None for unit in judged.units),
            "verdicts": [
                {"kind": kind, "judge": judge, "scheme": scheme, "verdicts": dict(sorted(counts.items()))}
                for (kind, judge, scheme), counts in sorted(judged.verdicts.items())
            ],
            "fields_passed_over": dict(judged.passed_over),
        },
        "people": {
            "lines": people.lines,
            "missing": people.missing,
            "raters": people.raters,
            "subjects": len(labels),
            "subjects_not_judged": len(labels.keys() - by_subject.keys()),
            "labels": {
                kind: {label: counts[kind, label] for label in (*LABELS[kind], "no_label")} for kind in people.scales
            },
            "fields_passed_over": dict(people.passed_over),
        },
        "preflight": [finding.to_json() for finding in findings],
        "rules": dict(RULES),
        "self_consistency": consistencies,
        "self_consistency_over_judges": list(consistency.over_judges(consistencies)),
        "people_agreement": list(consistency.among_people(people, by_subject, options)),
        "agreement": [
            row for kind, units in plain.items() for row in consistency.with_each_other(kind, units, labels, options)
        ],
        **_compared(judged, labels, abilities, options),
        "three_labels": list(three_labels(detected, people.levels(options), options)),
        "style_correlations": [row for rated in raters for row in analysis.correlations(rated, options)],
        "labels_by_persona": [row for rated in raters for row in analysis.by_persona(rated, personas, options)],
        "trigrams": [*analysis.of_people(people.justifications), *analysis.of_judges(judged.justifications)],
    }


def _plain(judged: StyleJudgements, kind: str) -> list[JudgedUnit]:
    """The units without those in which the judge was told to be somebody: a separate table has them."""
    return [unit for unit in judged.units if unit.key.kind == kind and unit.key.judge_persona is None]


def _compared(judged: StyleJudgements, labels: Labels, abilities: Abilities, options: StyleOptions) -> dict[str, Rows]:
    rows: dict[str, Rows] = {
        name: []
        for name in ("f1", "reflection", "persona_sensitivity", "correlations", "contrasts", "irrelevant_attributes")
    }
    for kind in LABELS:
        if columns := columns_of(kind, _plain(judged, kind), labels, options):
            rows["f1"] += breakdowns(columns)
            rows["reflection"] += reflections(columns)
            rows["persona_sensitivity"] += sensitivity(columns)
            rows["contrasts"] += contrasts(columns, abilities)
            rows["correlations"] += correlations(columns, abilities) if abilities else ()
        with_persona = [unit for unit in judged.units if unit.key.kind == kind and unit.key.judge_persona]
        if as_somebody := columns_of(kind, with_persona, labels, options):
            rows["irrelevant_attributes"] += irrelevant_attributes(as_somebody)
    return rows
