"""The rest of the figures of ``pearl eval style`` as tables: whose texts, which labels, what personas do."""

from __future__ import annotations

from collections.abc import Iterator

from eval.recorded.style.tables import (
    ALL_TASKS,
    f1_cell,
    judge_pairs_table,
    people_table,
    relations_table,
    rows_by,
    scheme_of,
    some,
)
from eval.report.tables import NOTHING, Json, Table, shown

MOST = 10  # correlations of one judge


def more_tables(result: Json) -> Iterator[Table]:
    """The rest, for the page."""
    yield from some(
        judge_pairs_table(result),
        people_table(result, [row for row in result["people_agreement"] if row["style"] is not None]),
        relations_table(result, [row for row in result["contrasts"] if row["task"] is not None]),
    )
    for by in ("persona", "conditioning", "generator", "style"):
        yield from some(breakdown_table(result, by))
    yield from some(
        frequencies_table(result),
        sensitivity_table(result),
        reflection_table(result),
        attributes_table(result),
        style_correlations_table(result),
        persona_labels_table(result),
        trigrams_table(result),
    )


def breakdown_table(result: Json, by: str) -> Table:
    """A row a group, a column a scheme."""
    found = rows_by(result, (by,))
    schemes = list(dict.fromkeys(scheme_of(row) for row in found))
    cells = {(row["group"][by], scheme_of(row)): row for row in found}
    rows = tuple(
        (name, *(f1_cell(cells.get((name, scheme))) for scheme in schemes))
        for name in dict.fromkeys(row["group"][by] for row in found)
    )
    return Table(f"F1 by {by}, pooled over judges.", (by, *schemes), rows)


def frequencies_table(result: Json) -> Table:
    rows = tuple(
        (
            row["group"].get("judge", ""),
            scheme_of(row),
            row["group"]["task"],
            "; ".join(_frequency(label, each) for label, each in row["labels"].items()),
        )
        for row in rows_by(result, ("judge", "task"))
    )
    return Table("How often a judge gives each label, and people.", ("judge", "scheme", "task", "judge / people"), rows)


def _frequency(label: str, each: Json) -> str:
    return f"{label} {_share(each['judge'])} / {_share(each['people'])}"


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.0%}"


def sensitivity_table(result: Json) -> Table:
    rows = tuple(
        (
            row["judge"],
            scheme_of(row),
            row["task"] or ALL_TASKS,
            str(row["personas"]),
            shown(row["mean"], 3),
            NOTHING if row["se"] is None else f"{row['se']:.3f}",
        )
        for row in result["persona_sensitivity"]
    )
    caption = "How far F1 depends on the persona a text was written for: the standard error is over personas."
    return Table(caption, ("judge", "scheme", "task", "personas", "mean F1", "SE"), rows)


def reflection_table(result: Json) -> Table:
    rows = tuple(
        (
            row["judge"],
            scheme_of(row),
            row["task"] or ALL_TASKS,
            shown(row["f1"], 3),
            shown(row["f1_reflected"], 3),
            shown(row["difference"], 3, sign=True),
        )
        for row in result["reflection"]
    )
    return Table("F1 before and after reflection.", ("judge", "scheme", "task", "before", "after", "difference"), rows)


def attributes_table(result: Json) -> Table:
    rows = tuple(
        (
            row["judge"],
            scheme_of(row),
            row["judge_persona"],
            row["attribute"] or NOTHING,
            shown(row["f1"], 3),
            shown(row["relative_change"], 3, sign=True),
        )
        for row in result["irrelevant_attributes"]
    )
    caption = "F1 of a judge told to be somebody; the change is relative to a human and a typical person."
    return Table(caption, ("judge", "scheme", "told to be", "attribute", "F1", "relative change"), rows)


def style_correlations_table(result: Json) -> Table:
    """The strongest of each."""
    found: dict[str, list[Json]] = {}
    for row in result["style_correlations"]:
        if row["rho"]:
            found.setdefault(_who(row), []).append(row)
    rows = tuple(
        (who, " and ".join(row["styles"]), str(row["n"]), shown(row["rho"], 2))
        for who, every in found.items()
        for row in sorted(every, key=lambda row: -abs(row["rho"]["value"]))[:MOST]
    )
    return Table("Styles that go together: Spearman's rho.", ("of", "styles", "texts", "rho"), rows)


def _who(row: Json) -> str:
    return f"{row['of']}, {row['scheme']}" if row["scheme"] else str(row["of"])


def persona_labels_table(result: Json) -> Table:
    rows = tuple(
        (
            _who(row),
            row["persona"],
            row["style"],
            f"{row['n']:,}",
            "; ".join(f"{level} {shown(each, 2)}" for level, each in row["levels"].items()),
        )
        for row in result["labels_by_persona"]
    )
    return Table("P(label | persona), over ratings or draws.", ("of", "persona", "style", "n", "labels"), rows)


def trigrams_table(result: Json) -> Table:
    rows = tuple(
        (
            f"{row['of']}, {row['kind']}",
            row["style"] or NOTHING,
            f"{row['n']:,}",
            ", ".join(each["trigram"] for each in row["trigrams"]),
        )
        for row in result["trigrams"]
    )
    return Table("Trigrams of justifications, by TF-IDF.", ("of", "style", "texts", "trigrams"), rows)
