"""The tables of the reward model that ships, for docs/judging.md."""

from __future__ import annotations

import json
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUALITY = HERE / "results" / "quality.json"
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
    return "\n".join([*lines, "", f"95% intervals over original texts; `{found['command']}` of commit edbcd598."])


def _interval(estimate: dict[str, float], form: str = ".2f") -> str:
    return f"{estimate['value']:{form}} [{estimate['low']:{form}}, {estimate['high']:{form}}]"
