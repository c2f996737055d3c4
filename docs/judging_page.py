"""The tables of docs/judging.md, from docs/results/personalized.json, authorship.json and others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from corrected_page import coverage_table, promise_table, read_corrected, trust_table
from published_page import published_tables

from eval.asking.choices import Presets
from eval.recorded.quality.expert_tables import expert_tables
from eval.report.render import markdown

HERE = Path(__file__).resolve().parent
FAMILIES = {"ap": "PR (Public Reddit)", "ec": "EC (Empathic Conversations)"}


def recorded_block() -> str:
    """What recordings say, by file."""
    command = "`pearl eval personalized --records FILE [...] --threshold 80`"
    return f"{_judgements(_read('personalized')['files'])}\n\n{command}"


def findings_block() -> str:
    """What the preflight finds in the recordings."""
    return _findings(_read("personalized")["files"])


def published_block() -> str:
    """The printed figures beside those of the recordings."""
    return published_tables(_read("personalized-published")["files"])


def authorship_block() -> str:
    """The authorship judge's report."""
    found = _read("authorship")
    return f"{_authorship(found)}\n\n`{found['command']}`"


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((HERE / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def corrected_block() -> str:
    """Tables of the coverage of corrected rates, of kept promises of thresholds, and of what recordings allow."""
    result = read_corrected()
    ways = ("raw", "labelled_only", "corrected", "prediction_powered")
    tables = coverage_table(result, ways), promise_table(result), trust_table(result)
    return "\n".join([*map(markdown, tables), f"`{result['command']}`"])


def experts_block() -> str:
    """Agreement by gap, the printed figures beside ours, and the agreement of other scores."""
    result = _read("experts")
    agreement, _, _, _, printed, others, by_gap = expert_tables(result)
    tables = (replace(agreement, command=""), printed, others, by_gap)
    return "\n".join([*map(markdown, tables), f"`{result['command']}`"])


def choices_block() -> str:
    """The choices of every command that has some, from their declarations."""
    return "\n\n".join(f"{title}:\n\n{presets.markdown()}" for title, presets in declared_choices().items())


def declared_choices() -> dict[str, Presets]:
    """The choices by the commands that have them."""
    from eval.benchmarks import choices as items
    from eval.commands.judge.made import presets_of
    from eval.drafts import stance
    from eval.judges import authorship, discover, personalized, quality, style_detect, style_rank, style_write, traits
    from eval.recorded.personalized import presets as recorded
    from eval.recorded.quality import compose, experts
    from eval.recorded.style import choices as style
    from eval.recorded.style.styles import PERSONA_PRESETS

    judges = (authorship, personalized, quality, style_detect, style_rank, style_write)
    declared = {f"`pearl judge {each.JUDGE.name}` ({each.JUDGE.source})": presets_of(each.JUDGE) for each in judges}
    return declared | {
        f"`pearl forensics discover`, and all but the last two `annotate` ({traits.JUDGE.source})": discover.PRESETS,
        "`pearl judge style-pairs`": PERSONA_PRESETS,
        "`pearl judge persona-items`": items.PRESETS,
        "`pearl judge quality-items`": compose.PRESETS,
        "`pearl eval personalized`": recorded.PRESETS,
        "`pearl eval style`": style.PRESETS,
        "`pearl eval experts`": experts.PRESETS,
        "`pearl eval generation --stances --stance-rules PRESET`": stance.PRESETS,
    }


def _authorship(found: dict[str, Any]) -> str:
    """The rates, and below them what the judge's word is worth."""
    lines = ["| of | n | ours (P) | BM25 (B) | tie (T) | no answer |", "| --- |" + " ---: |" * 5]
    for title, name in (
        ("every judgement", "rates_invalid_counted"),
        ("those with an answer", "rates_invalid_dropped"),
        ("pairs of orders that must agree", "rates_orders_must_agree"),
    ):
        rates = found[name]
        cells = [_shown(rates.get(part)) for part in ("proposed", "baseline", "tie", "no_answer")]
        lines.append(f"| {title} | {rates['n']:,} | " + " | ".join(cells) + " |")
    lines += ["", "| the judge | |", "| --- | ---: |"]
    for title, name in (
        ("P less B, of those with an answer", "margin"),
        ("Krippendorff's alpha over all that is said of an item", "alpha"),
        ("alpha within an order", "alpha_within_order"),
        ("another answer in the other order (flip rate)", "flip_rate"),
        ("POST ONE, where one of the two is taken", "p_first"),
        ("the longer draft, where one of the two is taken", "prefers_longer"),
    ):
        lines.append(f"| {title} | {_shown(found[name])} |")
    lines += ["", "| needs no judge | P | B | T | says what the judge says |", "| --- |" + " ---: |" * 4]
    for rule in found["baselines"]:
        rates = " | ".join(f"{rule[part]:.2f}" for part in ("proposed", "baseline", "tie"))
        lines.append(f"| {rule['description']} | {rates} | {_shown(rule['same_as_judge'])} |")
    counted = f"{found['items']:,} items of {found['users']:,} users, {found['runs']} runs, in both orders"
    return "\n".join([*lines, "", f"{counted}; judged by {found['judge']}."])


def _shown(estimate: dict[str, Any] | None) -> str:
    return "-" if estimate is None else f"{estimate['value']:.2f} [{estimate['low']:.2f}, {estimate['high']:.2f}]"


def _judgements(files: list[dict[str, Any]]) -> str:
    lines = [
        "| file | right | high | the others | AUROC | shorter | rarer | commoner |",
        "| --- |" + " ---: |" * 7,
    ]
    for each in files:
        own = each["intervals"]["accuracy"]
        baselines = {found["name"]: found["accuracy"] for found in each["baselines"]}
        auroc = "-" if each["auroc"] is None else f"{each['auroc']:.2f}"
        cells = [
            Path(each["file"]).name.removesuffix(".jsonl.gz"),
            f"{each['correct']}/{each['n']} = {own['value']:.3f} [{own['low']:.3f}, {own['high']:.3f}]",
            *(f"{each[part]['correct']}/{each[part]['total']}" for part in ("high", "low")),
            auroc,
            *(f"{baselines[name]:.3f}" if name in baselines else "-" for name in ("shorter", "rarer", "commoner")),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _findings(files: list[dict[str, Any]]) -> str:
    """Each check once a family of files, in the file where it finds most."""
    worst: dict[tuple[str, str], tuple[int, dict[str, Any]]] = {}
    for each in files:
        family = Path(each["file"]).name.partition("_")[0]
        for finding in each["preflight"]:
            key = family, finding["check"]
            if key not in worst or finding["count"] > worst[key][1]["count"]:
                worst[key] = each["n"], finding
    lines = ["| files | check | records | finding |", "| --- | --- | ---: | --- |"]
    for (family, check), (size, finding) in sorted(worst.items()):
        lines.append(
            f"| {FAMILIES.get(family, family)} | {check} | {finding['count']} of {size} | {finding['message']} |"
        )
    return "\n".join(lines)
