"""Cross-encoders beside the shipped head, for docs/experiments.md: a table, and a picture of gains with their costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from svg_pictures import Bar, intervals_picture

RESULT = Path(__file__).resolve().parent / "experiments" / "cross_encoders.json"


def marked(name: str, result: dict[str, Any]) -> str:
    """The name of a row, with the marks that ``read_as`` explains."""
    learned = any(told["name"] in name for told in result["trainings"]) or name.endswith("and both")
    relevance = "RelevanceCE" in name and result["reading"]["relevance_own_requests"]
    return f"{name}{' ¹' * learned}{' ²' * relevance}"


def read_as(result: dict[str, Any]) -> str:
    """What the cross-encoders of a result read of requests and documents, where it is not what they should."""
    reading = result["reading"]
    longer = ", ".join(f"{share:.0%} of {name}'s" for name, share in reading.get("longer", {}).get("test", {}).items())
    said = f"¹ Made on cut requests: read were the first {reading['request_words']} words"
    said += f" ({longer} test requests are longer)." if longer else "."
    if reading["relevance_own_requests"]:
        said += " ² Learned from texts alone, and read with the requests that these answered in front of them."
    return f"{said} Not made again."


def cross_encoders_table() -> str:
    """Every scorer's figures on dev, and what each cross-encoder learned in its minutes."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    domains = list(result["requests"])
    titles = ["top-1 gain", "above the head", "r", *domains, "better in", "ms", "MiB in memory", "MiB carried"]
    lines = [f"| | {' | '.join(titles)} |", "| --- |" + " ---: |" * len(titles)]
    for row in result["rows"]:
        gain, above = row["top1_gain"], row["above_head"]
        of_domains = [f"{row['domains'][domain]:.1f}" for domain in domains]
        costs = [f"{row['cpu_ms']:.0f}", f"{row['memory_mib']:.0f}", f"{row['carried_mib']:.1f}"]
        first = row is result["rows"][0]
        cells = [
            _shown(gain),
            "-" if first else _shown(above),
            f"{row['pearson_r']:.2f}",
            *of_domains,
            "-" if first else f"{row['better_in']:.0%}",
            *costs,
        ]
        lines.append(f"| {marked(row['name'], result)} | {' | '.join(cells)} |")
    asked = ", ".join(f"{count} of {domain}" for domain, count in result["requests"].items())
    lines += [
        "",
        f"{sum(result['requests'].values())} requests of {result['users']} users ({asked}), {result['candidates']} "
        f"candidates each, of which one at random gains {_shown(result['random'])}; 95% intervals by bootstrap over "
        f"users. ms: of one core, beside the head's, to read {result['read']} documents. {read_as(result)} "
        f"`{result['command']}`.",
        "",
        "| training | seconds of a processor | steps on relevance | loss | steps on gains | loss |",
        "| --- | ---: | ---: | --- | ---: | --- |",
    ]
    for told in result["trainings"]:
        stages = [told[name] for name in ("relevance", "gains") if name in told]
        cells = [f"{stage['steps']} | {' to '.join(map(str, _ends(stage['losses'])))}" for stage in stages]
        lines.append(f"| {told['name']} | {told['cpu_seconds']} | {' | '.join(cells + ['- | -'] * (2 - len(cells)))} |")
    groups = result["groups"]
    lines += [
        "",
        f"{result['minutes']:g} minutes each by the clock, 4 groups a step; {groups['relevance']:,} groups to learn "
        f"relevance from and {groups['gains']:,} with gains; the loss on dev's groups before and at its best.",
    ]
    return "\n".join(lines)


def cross_encoders_picture() -> str:
    """The gain of the head and of each cross-encoder alone, with milliseconds and MiB a draft."""
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    bars = [
        Bar(f"{row['name']}: {row['cpu_ms']:.0f} ms, {row['memory_mib']:.0f} MiB", row["top1_gain"], own=place == 0)
        for place, row in enumerate(result["rows"])
        if not row["name"].startswith("head and")
    ]
    return intervals_picture("top-1 gain on dev (nats), with what a draft costs beside the head", bars, 1)


def _shown(interval: dict[str, Any]) -> str:
    return f"{interval['value']:.1f} [{interval['low']:.1f}, {interval['high']:.1f}]"


def _ends(losses: list[float]) -> tuple[float, float]:
    return losses[0], min(losses)
