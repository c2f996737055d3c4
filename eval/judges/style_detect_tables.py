"""The figures of the style detection judge as tables."""

from __future__ import annotations

from collections.abc import Iterator

from eval.report.tables import NOTHING, Json, Table, shown


def detection_tables(result: Json) -> Iterator[Table]:
    """All styles on each scale, each style, whom the judge was told to be, the reflection, what is wrong with the
    items."""
    caption = (
        f"{result['items']:,} items of {result['texts']:,} texts, {result['draws']} draws by {result['judge']}, preset "
        f"{result['preset']}; 95% intervals by bootstrap over texts. A style is found where a draw says more than "
        f"{result['labels'][0]}; the items have the label of most of their draws."
    )
    rows = [(part["scheme"], part) for part in result["schemes"]]
    yield _table(caption, "scheme", rows, result, command=result["command"])
    for part in result["schemes"]:
        styles = [(each["style"], each) for each in part["styles"]]
        yield _table(f"Style by style, {part['scheme']}.", "style", styles, result)
        if part["judge_personas"]:
            personas = [(each["judge_persona"], each) for each in part["judge_personas"]]
            yield _table(f"As whom the judge was told to judge, {part['scheme']}.", "judge", personas, result)
    if any(part["reflection"] for part in result["schemes"]):
        yield _reflection(result)
    if result["preflight"]:
        checks = [(row["check"], row["level"], f"{row['count']:,}", row["message"]) for row in result["preflight"]]
        yield Table("Checks of the items.", ("check", "level", "items", "what"), tuple(checks))


def _table(caption: str, first: str, parts: list[tuple[str, Json]], result: Json, *, command: str = "") -> Table:
    labels = (*result["labels"], "no_label")
    rows = [
        (
            name,
            shown(part["present"], 3),
            *(f"{part['majority'][label]:,}" for label in labels),
            _kappa(part),
            shown(part["invalid_share"], 3),
            f"{part['n']:,}",
        )
        for name, part in parts
    ]
    columns = (first, "found", *(f"items {label.replace('_', ' ')}" for label in labels), "Randolph's kappa", "invalid")
    return Table(caption, (*columns, "draws"), tuple(rows), command)


def _kappa(part: Json) -> str:
    undefined = part["undefined"].get("randolph_kappa")
    return f"{NOTHING} ({undefined})" if undefined else f"{shown(part['randolph_kappa'], 2)}, {part['band']}"


def _reflection(result: Json) -> Table:
    rows = []
    for part in result["schemes"]:
        again = part["reflection"]
        if again:
            changes = ", ".join(f"{name} {count:,}" for name, count in again["changes"].items()) or NOTHING
            before, after = shown(part["present"], 3), shown(again["present"], 3)
            rows.append((part["scheme"], before, after, shown(again["changed"], 3), changes, f"{again['reflected']:,}"))
    columns = ("scheme", "found", "found in the second round", "changed", "changes", "draws with two answers")
    return Table("With the judge's own answer shown to it again.", columns, tuple(rows))
