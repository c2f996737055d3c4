"""The tables of reward models: the shipped one in docs/judging.md, all that were tried in docs/experiments.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).resolve().parent
QUALITY = HERE / "results" / "quality.json"
TRIED = HERE / "experiments" / "reward.json"
PUBLISHED = HERE / "experiments" / "reward_published.json"
LENGTH = HERE / "experiments" / "reward_length.json"
CUT = HERE / "experiments" / "reward_cut.json"
DRAFTED = HERE / "experiments" / "reward_drafted.json"
KINDS = HERE / "experiments" / "reward_kinds.json"
SHIPPED = "embedded"
OTHERS = ("surface", "perplexity", "shorter")
RULES = ("shorter", "longer", "first")


def quality_table() -> str:
    """The shipped reward model beside the strongest of the other scorers, on the validation pairs."""
    found = json.loads(QUALITY.read_text(encoding="utf-8"))
    named = found["sets"][0]["accuracy"], found["equal_length"]["accuracy"], found["length_regressed"]["accuracy"]
    titles = [
        f"{found['n']} pairs",
        f"{found['equal_length']['n']} of about equal length",
        "length regressed out",
        "the reward model less it",
    ]
    lines = [f"| scorer | {' | '.join(titles)} |", "| --- |" + " ---: |" * len(titles)]
    for scorer in (SHIPPED, *OTHERS):
        ahead = "" if scorer == SHIPPED else _interval(found["differences"][scorer], "+.2f")
        cells = [*(_interval(accuracy[scorer]) for accuracy in named), ahead]
        lines.append(f"| {scorer} | {' | '.join(cells)} |")
    told = f"{found['originals']} original texts, 95% intervals over them; `{found['command']}`."
    return "\n".join([*lines, "", told])


def kinds_table() -> str:
    """The shipped reward model by kind of pair, beside what length says."""
    found = json.loads(KINDS.read_text(encoding="utf-8"))
    titles = ("pairs", SHIPPED, *RULES, "surface", f"{SHIPPED}, about equal length", "length regressed out")
    lines = [f"| kind of pair | {' | '.join(titles)} |", "| --- |" + " ---: |" * len(titles)]
    for kind in found["kinds"]:
        every, equal = kind["all"], kind["equal_length"]
        cells = [str(kind["pairs"]), _interval(every[SHIPPED])]
        cells += [f"{every[name]['value']:.2f}" for name in (*RULES, "surface")]
        cells.append(f"{_interval(equal['accuracy'][SHIPPED])} ({equal['n']})")
        cells.append(_interval(kind["length_regressed"][SHIPPED]))
        lines.append(f"| {kind['kind']} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"95% intervals over original texts; `{found['command']}`."])


def lengths_table() -> str:
    """Models that learned from pairs cut to one length, by kind of pair and in folds, by the rule for shipping."""
    found = json.loads(KINDS.read_text(encoding="utf-8"))
    kinds = found["kinds"]
    titles = [*(kind["kind"] for kind in kinds), "may ship", "other kinds, more than shipped", "higher in"]
    titles += ["folds: may ship", "balanced", "length regressed out"]
    lines = [f"| learned from | {' | '.join(titles)} |", "| --- |" + " ---: |" * len(titles)]
    for row, folds in zip(found["tries"], found["folds"], strict=True):
        name = row["model"]
        both = ((kind["all"][name]["value"], kind["length_regressed"][name]["value"]) for kind in kinds)
        cells = [f"{value:.2f}, {regressed:.2f}" for value, regressed in both]
        cells += ["yes" if row["may_ship"] else "no", f"{row['more']:+.3f}", f"{row['higher_in']:.0%}"]
        cells += [f"{folds['may_ship']} of 5", f"{folds['balanced']:.3f}"]
        cells.append(f"{folds['length_regressed'][name]['value']:.3f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    best = (max(kind["all"][name]["value"] for name in RULES) for kind in kinds)
    lines.append(f"| best of {', '.join(RULES)} | {' | '.join(f'{value:.2f}' for value in best)} |" + "  |" * 6)
    told = "Of each kind accuracy, and accuracy with length regressed out; folds are of LAMP's training paragraphs; "
    return "\n".join([*lines, "", f"{told}`{found['command']}`."])


def tried_table() -> str:
    """Each kind of reward model that was trained, with the mean of its seeds, the least and the most."""
    found = json.loads(TRIED.read_text(encoding="utf-8"))
    rows = {model["model"]: [{**run, **run["dev"]} for run in model["runs"]] for model in found["models"]}
    seeds = len(found["models"][0]["runs"])
    told = f"Means of {seeds} seeds, least to most; trained on {found['trained_on']}, pairs of {found['pairs']}; "
    return _runs_table(rows) + told + "`python docs/experiments/reward.py TRAIN.json PAIRS.json WORK`."


def published_table() -> str:
    """The published presets, trained to their end, on two bases."""
    found = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    rows: dict[str, list[Any]] = {}
    for model in found["models"]:
        base = {"minilm": "MiniLM", "mpnet": "MPNet"}[model["base"]]
        rows.setdefault(f"{base}, `{model['preset']}`", []).append({**model, **model["figures"]})
    best = [model["training"]["best_epoch"] for model in found["models"]]
    pairs = [model["figures"]["dev_pairs"] for model in found["models"]]
    told = f"As above, of one or two seeds; dev has {min(pairs)} to {max(pairs)} pairs, and was best after "
    told += f"{min(best)} to {max(best)} of {found['models'][0]['training']['epochs']} epochs; "
    return _runs_table(rows) + told + "`python docs/experiments/reward_published.py TRAIN.json PAIRS.json WORK`."


def _runs_table(rows: Mapping[str, Sequence[Any]]) -> str:
    """The mean, the least and the most of each model's runs."""
    titles = ("pairs", "about equal length", "length regressed out", "dev: pairs", "dev: r of scores")
    names = ("accuracy", "equal_length", "length_regressed", "dev_accuracy", "dev_pearson_r")
    lines = [f"| model | {' | '.join(titles)} |", "| --- |" + " ---: |" * len(titles)]
    for model, runs in rows.items():
        cells = [_spread(run[name] for run in runs) if name in runs[0] else "-" for name in names]
        lines.append(f"| {model} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", ""])


def length_table() -> str:
    """Accuracy in folds by which text of a pair is the longer one, for the shipped head and remedies against length."""
    result = json.loads(LENGTH.read_text(encoding="utf-8"))
    columns = {
        f"{result['pairs']:,} pairs": "accuracy",
        f"better is longer ({result['better_is_longer']:,})": "longer",
        "better is shorter": "shorter",
        f"about equal length ({result['equal_length']:,})": "equal_length",
        "balanced": "balanced",
    }
    lines = [f"| model | {' | '.join(columns)} | balanced, more than PR |", "| --- |" + " ---: |" * (len(columns) + 1)]
    for row in result["models"]:
        more = "" if row["model"] == "PR" else _interval(row["balanced_more"], "+.3f")
        lines.append(f"| {row['model']} | {' | '.join(_interval(row[name]) for name in columns.values())} | {more} |")
    told = f"{result['folds']} folds of {result['trained_on']}, 95% intervals over original texts; "
    return "\n".join([*lines, "", told + "`python docs/experiments/reward_length.py TRAIN.json PAIRS.json WORK`."])


def cut_table() -> str:
    """The scores that the shipped reward model gives less of a text, beside the whole."""
    result = json.loads(CUT.read_text(encoding="utf-8"))
    lines = ["| of a paragraph | score | more than the whole | scores higher |", "| --- | ---: | ---: | ---: |"]
    lines.append(f"| the whole | {_interval(result['whole'])} |  |  |")
    for row in result["rows"]:
        name = f"its first {row['words']} words" if "words" in row else f"{row['kept']:.0%} of its sentences, at random"
        cells = _interval(row["score"]), _interval(row["more"], "+.2f"), _interval(row["higher"])
        lines.append(f"| {name} | {' | '.join(cells)} |")
    told = (
        f"{result['texts']} paragraphs edited by writers, {result['draws']} draws of the sentences; 95% intervals over "
    )
    return "\n".join(
        [*lines, "", f"{told}paragraphs; `python docs/experiments/reward_cut.py TRAIN.json PAIRS.json WORK`."]
    )


def remedy_table() -> str:
    """Heads on LAMP's pairs and on pairs of a text with fewer sentences of it, by the weight of the latter."""
    result = json.loads(CUT.read_text(encoding="utf-8"))
    columns = {"all pairs": "accuracy", "better is longer": "longer", "better is shorter": "shorter"}
    columns |= {"balanced": "balanced", "three quarters score higher": "higher"}
    lines = [
        f"| weight | {' | '.join(columns)} | all pairs, more than PR |",
        "| --- |" + " ---: |" * (len(columns) + 1),
    ]
    for row in result["remedy"]:
        if row["model"] != "shorter":
            more = "" if row["model"] == "PR" else _interval(row["accuracy_more"], "+.3f")
            name = "0 (PR)" if row["model"] == "PR" else row["model"]
            lines.append(f"| {name} | {' | '.join(_interval(row[of]) for of in columns.values())} | {more} |")
    told = f"{result['folds']} folds of {result['trained_on']}, 95% intervals over original texts; the same command."
    return "\n".join([*lines, "", told])


def drafted_table() -> str:
    """Heads on LAMP and on pairs with the embedded model's prose: what both kinds of pairs gain and lose."""
    result = json.loads(DRAFTED.read_text(encoding="utf-8"))
    counts = dict(result["pairs"])
    lamp = counts.pop("LAMP")
    titles = [f"LAMP's {lamp:,} pairs", "more than LAMP alone", f"{sum(counts.values())} drafted pairs", "more"]
    titles += [f"{source.partition('.')[0]} ({number})" for source, number in counts.items()]
    lines = [f"| layers | weight | {' | '.join(titles)} |", "| --- |" + " ---: |" * (len(titles) + 1)]
    for row in result["rows"]:
        cells = [row["layers"], f"{row['weight']:g}"]
        for part in ("lamp", "drafted"):
            more = _interval(row[part]["more"], "+.3f") if row["weight"] else ""
            cells += [_interval(row[part]["accuracy"], ".3f"), more]
        cells += [f"{row['sources'][source]:.2f}" for source in counts]
        lines.append(f"| {' | '.join(cells)} |")
    told = (
        f"LAMP's pairs in {result['folds']} folds; drafted ones by heads that saw none from their source, but all of "
        "LAMP's own pairs. 95% intervals over original texts; `python docs/experiments/reward_drafted.py DATA WORK`."
    )
    return "\n".join([*lines, "", told])


def _interval(estimate: dict[str, float], form: str = ".2f") -> str:
    return f"{estimate['value']:{form}} [{estimate['low']:{form}}, {estimate['high']:{form}}]"


def _spread(estimates: Any) -> str:
    values = [estimate["value"] for estimate in estimates]
    spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    return f"{mean(values):.2f}{spread}"
