"""The figures of the authorship judge as tables."""

from __future__ import annotations

from collections.abc import Iterator

from eval.judges.self_preference import self_preference_tables
from eval.report.tables import NOTHING, Json, Table, shown

OUTCOMES = ("proposed", "baseline", "tie")


def authorship_tables(result: Json) -> Iterator[Table]:
    """Win rates, what the judge is worth, the rules beside it, what is wrong with the items."""
    yield _rates(result)
    yield _worth(result)
    yield _rules(result)
    yield from self_preference_tables(result["self_preference"])
    if result["preflight"]:
        rows = [(row["check"], row["level"], f"{row['count']:,}", row["message"]) for row in result["preflight"]]
        yield Table("Checks of the items.", ("check", "level", "items", "what"), tuple(rows))


def _rates(result: Json) -> Table:
    proposed, baseline = result["systems"]["proposed"], result["systems"]["baseline"]
    rows = [
        (title, *(shown(of[name], 3) if name in of else NOTHING for name in (*OUTCOMES, "no_answer")), f"{of['n']:,}")
        for title, of in (
            ("every judgement", result["rates_invalid_counted"]),
            ("those with an answer", result["rates_invalid_dropped"]),
            ("both orders must agree", result["rates_orders_must_agree"]),
        )
        if of is not None
    ]
    caption = (
        f"{result['items']:,} items of {result['users']:,} users, {result['runs']} runs, order {result['order']}, "
        f"judged by {result['judge']}; 95% intervals by bootstrap over {result['resampled']}."
    )
    columns = ("share", f"{proposed} (P)", f"{baseline} (B)", "tie (T)", "no answer", "n")
    return Table(caption, columns, tuple(rows), result["command"])


def _worth(result: Json) -> Table:
    rows = (
        ("P less B", shown(result["margin"], 3, sign=True), "of the judgements with an answer"),
        ("Krippendorff's alpha", _alpha(result, "alpha"), "of all that is said of an item; 0: as by chance"),
        ("alpha within an order", _alpha(result, "alpha_within_order"), "of the runs alone"),
        ("takes POST ONE", shown(result["p_first"], 3), "0.5 where position does not matter"),
        ("flip rate", shown(result["flip_rate"], 3), "the other order changes the answer"),
        ("takes the longer draft", shown(result["prefers_longer"], 3), "0.5 where length does not matter"),
    )
    return Table("What the judge is worth.", ("figure", "value", "reading"), rows)


def _alpha(result: Json, name: str) -> str:
    if name in result["undefined"]:
        return f"{NOTHING} ({result['undefined'][name]})"
    return shown(result.get(name), 2)


def _rules(result: Json) -> Table:
    rows = [
        (row["name"], *(f"{row[name]:.3f}" for name in OUTCOMES), shown(row["same_as_judge"], 3), row["description"])
        for row in result["baselines"]
    ]
    return Table("Rules that need no judge.", ("rule", "P", "B", "T", "same as the judge", "what"), tuple(rows))
