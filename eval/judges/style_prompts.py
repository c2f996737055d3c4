"""Ranking system prompts by how well they steer a generator to wanted styles (papers/style-judges.txt, appendix D).

A text that a prompt steered is compared with a text written without: by all its styles, by each style alone, and by
helpfulness, where the steered text should lose, since a judge that is not told the styles prefers the usual style. ⚠
Five of the 48 scores in tables 14 to 16 do not follow from their own rates: one is another figure of its row (Claude's
tweets, prompt 1), and for OLMo's summaries they are the shares of short ones. Table 13 has the right ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from eval.asking.json_lines import check_fields, optional_id, optional_string, read_lines
from eval.report.tables import NOTHING, Cell, Columns, Json, Table, interval
from pearl.errors import InputError
from pearl.stats.bootstrap import Bootstrap, Floats
from pearl.text.usable import check_id

ALL, SINGLE, DEFAULT = "all", "single", "default"
RATES = (ALL, SINGLE, DEFAULT)
STYLED, UNSTYLED = ("ab_style", "validation_style"), ("ab_helpfulness", "validation_default")


def alignment(all_styles: float, single_style: float, default: float) -> float:
    """Compute a prompt's score from the percentages of comparisons that choose its text: 100 if its text is always
    chosen when the styles are asked for, and never when they are not."""
    return (all_styles + single_style + 100 - default) / 3


@dataclass(frozen=True, slots=True)
class Comparison:
    """One judgement. ``rate``: the name in RATES that it counts for; ``taken``: whether the steered text was chosen."""

    task: str
    generator: str
    prompt: str
    item: str
    rate: str
    taken: bool | None


def prompts_report(paths: Sequence[Path]) -> dict[str, Any]:
    """Compute the rates and the score of every prompt, by task and generator. Raises InputError."""
    judgements = [judged for path in paths for judged in read_lines(path, frozenset(), _parse, "judgement").parsed]
    by_prompt: dict[tuple[str, str, str], list[Comparison]] = defaultdict(list)
    for comparison in filter(None, judgements):
        by_prompt[comparison.task, comparison.generator, comparison.prompt].append(comparison)
    if not by_prompt:
        raise InputError(
            f'{paths[0]}: no judgement by {", ".join((*STYLED, *UNSTYLED))} has an item with "prompt_a" or "prompt_b".'
        )
    rows = [
        {"task": task, "generator": generator or None, "prompt": prompt} | _figures(comparisons)
        for (task, generator, prompt), comparisons in sorted(by_prompt.items())
    ]
    for _, of_generator in groupby(rows, lambda row: (row["task"], row["generator"])):
        scored = [(row, row["alignment"] and row["alignment"]["value"]) for row in of_generator]
        highest = max((score for _, score in scored if score is not None), default=None)
        for row, score in scored:  # of equal ones all are the best
            row["best"] = score is not None and score == highest
    return {"lines": len(judgements), "lines_used": sum(map(len, by_prompt.values())), "prompts": rows}


def _figures(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Compute the rates and the score of one prompt, and count the judgements without an answer, which are left out."""
    of_rate = np.array([[comparison.rate == rate for rate in RATES] for comparison in comparisons], float)  # (N, 3)
    taken = of_rate * np.array([[comparison.taken is True] for comparison in comparisons])
    answered = of_rate * np.array([[comparison.taken is not None] for comparison in comparisons])
    counts = np.array([of_rate.sum(axis=0), answered.sum(axis=0), taken.sum(axis=0)]).T  # (3, 3)
    rates = {
        rate: {
            "percent": float(100 * wins / number) if number else None,
            "taken": int(wins),
            "answered": int(number),
            "not_answered": int(asked - number),
        }
        for rate, (asked, number, wins) in zip(RATES, counts, strict=True)
    }
    if lacking := [rate for rate in RATES if rates[rate]["percent"] is None]:
        return rates | {"alignment": None, "undefined": f"there is no judgement for {', '.join(lacking)}"}

    def fold(sums: Floats) -> Floats:  # (R, 6)
        percent = 100 * sums[:, :3] / sums[:, 3:]
        return np.asarray(alignment(percent[:, 0], percent[:, 1], percent[:, 2]))  # type: ignore[arg-type]

    bootstrap = Bootstrap([comparison.item for comparison in comparisons])
    score = bootstrap.sums(np.concatenate((taken, answered), axis=1), fold)
    return rates | {"alignment": score.to_json(), "undefined": None}


def _parse(value: dict[str, Any], number: int) -> Comparison | None:
    """Read one judgement; None if it does not compare a prompt."""
    check_fields(value, "item", "task", "scheme", "verdict")
    prompts = [optional_id(value, name) for name in ("prompt_a", "prompt_b")]
    if value["scheme"] not in (*STYLED, *UNSTYLED) or prompts == [None, None]:
        return None
    if None not in prompts:
        raise InputError('stands beside "prompt_b"; one of the two texts is steered by no prompt.', param="prompt_a")
    side = "a" if prompts[0] else "b"
    first = value.get("order")
    if first not in ("ab", "ba"):
        raise InputError("must be 'ab' or 'ba'.", param="order")
    answer = {"A": first[0], "B": first[1]}.get(optional_string(value, "verdict") or "")
    generator = optional_id(value, "generator") or optional_id(value, f"generator_{side}")
    several = isinstance(value.get("style"), list) and len(value["style"]) > 1
    return Comparison(
        check_id(value["task"], param="task"),
        generator or "",
        prompts[0] or prompts[1] or "",
        check_id(value["item"], param="item"),
        DEFAULT if value["scheme"] in UNSTYLED else ALL if several else SINGLE,
        None if answer is None else answer == side,
    )


def prompts_table(result: Json) -> Table:
    def percent(name: str) -> Cell:
        return lambda row: (
            f"{NOTHING if (share := row[name]['percent']) is None else format(share, '.1f')} "
            f"({row[name]['taken']:,} of {row[name]['answered']:,})"
        )

    columns: Columns = {
        "prompt": lambda row: " ".join(filter(None, (row["task"], row["generator"], row["prompt"]))),
        **{rate: percent(rate) for rate in RATES},
        "alignment": interval("alignment", 1),
        "": lambda row: "best" if row["best"] else row["undefined"] or "",
    }
    caption = (
        "How often the steered text is taken, in percent: by all its styles, by each, by helpfulness; and the "
        "alignment score, (all + single + 100 - default) / 3, with its 95% interval by bootstrap over items."
    )
    return Table.of(caption, result["prompts"], columns)
