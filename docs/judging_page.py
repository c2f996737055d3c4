"""The tables and the picture of docs/judging.md: the reward model that ships, and corrected rates, simulated."""

from __future__ import annotations

from results_page import read, table_head, tried
from svg_pictures import Bar, intervals_picture

from eval.report.tables import Json, shown
from eval.stats.proportions import wilson_json
from pearl.settings import EMBEDDED

OTHERS = ("surface", "perplexity", "shorter")
RULES = ("shorter", "longer", "first")
PICTURED = 100  # labels


def quality_table() -> str:
    """The shipped reward model beside the strongest of the other scorers, on the validation pairs."""
    found = read("quality")
    named = found["sets"][0]["accuracy"], found["equal_length"]["accuracy"], found["length_regressed"]["accuracy"]
    titles = [
        f"{found['n']} pairs",
        f"{found['equal_length']['n']} of about equal length",
        "length regressed out",
        "the reward model less it",
    ]
    lines = table_head(("scorer", *titles))
    for scorer in (EMBEDDED, *OTHERS):
        ahead = "" if scorer == EMBEDDED else shown(found["differences"][scorer], 2, sign=True)
        cells = [*(shown(accuracy[scorer], 2) for accuracy in named), ahead]
        lines.append(f"| {scorer} | {' | '.join(cells)} |")
    told = f"{found['originals']} original texts, 95% intervals over them; `{found['command']}`."
    return "\n".join([*lines, "", told])


def kinds_table() -> str:
    """The shipped reward model by kind of pair, beside what length says."""
    found = tried("reward_kinds")
    titles = ("pairs", EMBEDDED, *RULES, "surface", f"{EMBEDDED}, about equal length", "length regressed out")
    lines = table_head(("kind of pair", *titles))
    for kind in found["kinds"]:
        every, equal = kind["all"], kind["equal_length"]
        cells = [str(kind["pairs"]), shown(every[EMBEDDED], 2)]
        cells += [f"{every[name]['value']:.2f}" for name in (*RULES, "surface")]
        cells.append(f"{shown(equal['accuracy'][EMBEDDED], 2)} ({equal['n']})")
        cells.append(shown(kind["length_regressed"][EMBEDDED], 2))
        lines.append(f"| {kind['kind']} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"95% intervals over original texts; `{found['command']}` of commit edbcd598."])


def corrected_picture() -> str:
    result = read("corrected")
    bars = [
        Bar(f"{title}, {row['labels']} labels", _held(row, name), own=name in ("corrected", "prediction_powered"))
        for row in result["coverages"]
        if row["judge"] == "drawn" and row["labelled"] == PICTURED
        for name, title in result["ways"].items()
        if name != "plain_bootstrap"
    ]
    return intervals_picture(f"judges whose 95% interval holds the true rate, {PICTURED} labelled items", bars, 3)


def _held(row: Json, name: str) -> Json:
    """The coverage with Wilson's interval over the judges."""
    number = row["judges"] - row["label_missing"] - (row["no_correction"] if name == "corrected" else 0)
    interval = wilson_json(round(row["coverage"][name] * number), number)
    assert interval is not None
    return interval
