"""The figures of the style ranking judge as tables."""

from __future__ import annotations

from collections.abc import Iterator

from eval.report.tables import NOTHING, Json, Table, shown

LABELS = ("a", "tie", "b", "no_label")


def ranking_tables(result: Json) -> Iterator[Table]:
    """The labels of all items and of each task, what the judge is worth, what is wrong with the items."""
    yield _labels(result)
    yield _worth(result)
    if result["preflight"]:
        rows = [(row["check"], row["level"], f"{row['count']:,}", row["message"]) for row in result["preflight"]]
        yield Table("Checks of the items.", ("check", "level", "items", "what"), tuple(rows))


def _labels(result: Json) -> Table:
    parts = [("all", result), *((part["task"], part) for part in result["tasks"])]
    rows = [(name, *(_share(part["labels"][label]) for label in LABELS), _kappa(part)) for name, part in parts]
    caption = (
        f"{result['items']:,} pairs for {result['requests']:,} requests, {result['draws']} draws by {result['judge']}, "
        f"scheme {result['scheme']}, preset {result['preset']}; 95% intervals by bootstrap over requests."
    )
    columns = ("task", "a", "tie", "b", "no label", "Randolph's kappa of the draws")
    return Table(caption, columns, tuple(rows), result["command"])


def _share(label: Json) -> str:
    return f"{shown(label, 3)} ({label['count']:,})"


def _kappa(part: Json) -> str:
    undefined = part["undefined"].get("randolph_kappa")
    return f"{NOTHING} ({undefined})" if undefined else f"{shown(part['randolph_kappa'], 2)}, {part['band']}"


def _worth(result: Json) -> Table:
    unread = result["verdicts"].get("invalid", 0) + result["verdicts"].get("error", 0)
    rows = [
        ("judgements", f"{result['n']:,}", "all that were asked for"),
        ("without an answer", f"{unread:,}", _reasons(result)),
        ("ranks the longer text higher", shown(result["prefers_longer"], 3), "0.5 where length does not matter"),
    ]
    if result["scores"] is None:
        rows += [
            ("takes Output (a)", shown(result["p_first"], 3), "0.5 where position does not matter"),
            ("flip rate", shown(result["flip_rate"], 3), "the other order changes the choice"),
        ]
    else:
        rows += [
            (f"mean score of text {text}", _mean(of["mean"]), "0 to 5 points") for text, of in result["scores"].items()
        ]
    return Table("What the judge is worth.", ("figure", "value", "reading"), tuple(rows))


def _reasons(result: Json) -> str:
    return (
        ", ".join(f"{name} {count:,}" for name, count in {**result["invalid"], **result["failed"]}.items()) or NOTHING
    )


def _mean(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"
