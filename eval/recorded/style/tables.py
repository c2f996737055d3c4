"""The figures of ``pearl eval style`` as tables, declared: rows of the result, and the columns made of a row; and the
picture, how far every two judges, and people, agree, a panel a scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Any

from eval.recorded.style.choices import LEARNED
from eval.recorded.style.consistency import PEOPLE
from eval.recorded.style.labels import THREE
from eval.report.pictures import agreement_panel
from eval.report.tables import NOTHING, Cell, Columns, Json, Table, field, gap_cell, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL_TASKS = "all tasks"
CONTRASTS = {
    "self_less_other": "its own texts less others'",
    "same_less_different_family": "its family's texts less others'",
    "stronger_less_weaker": "texts of weaker writers less of stronger ones",
}
MOST = 10  # correlations of one judge


def style_tables(result: Json) -> Iterator[Table]:
    """The tables that a reader needs first, over all styles; those of judges related to writers, over all tasks."""
    yield from _some(
        f1_table(result),
        judges_table(result),
        three_labels_table(result),
        consistency_table(result),
        agreement_table(result, with_people=True),
        people_table(result, styles=False),
        contrasts_table(result, tasks=False),
        plain_table(result, "correlations"),
        plain_table(result, "preflight"),
    )


def more_tables(result: Json) -> Iterator[Table]:
    """Yield the other tables, for the page."""
    yield from _some(
        agreement_table(result, with_people=False),
        people_table(result, styles=True),
        contrasts_table(result, tasks=True),
        *(breakdown_table(result, by) for by in ("persona", "conditioning", "generator", "style")),
        frequencies_table(result),
        *(plain_table(result, name) for name in ("persona_sensitivity", "reflection", "irrelevant_attributes")),
        style_correlations_table(result),
        *(plain_table(result, name) for name in ("labels_by_persona", "trigrams")),
    )


def _some(*tables: Table) -> Iterator[Table]:
    return (table for table in tables if table.rows)


# cells that several tables have


def task(row: Json) -> str:
    return str(row["task"] or ALL_TASKS)


def scheme(row: Json) -> str:
    return f"{row['kind']}: {row['scheme'] or 'all schemes'}"


def band(row: Json) -> str:
    """The band, or the reason why there is none."""
    return str(row.get("band") or row.get("undefined", ""))


def who(row: Json) -> str:
    return ", ".join(filter(None, (row["of"], row.get("scheme") or row.get("kind"))))


def less_best(row: Json) -> str:
    """The difference from the best rule that needs no judge."""
    return gap_cell(row["less_baseline"], 3)


def across(titles: Iterable[str], cells: Mapping[Any, str], key: Callable[[Json], tuple[str, ...]]) -> Columns:
    """A column for each of the titles: the cell of the row's key and the title."""

    def column(title: str) -> Cell:
        return lambda row: cells.get((*key(row), title), NOTHING)

    return {title: column(title) for title in titles}


def few(row: Json) -> str:
    return "; ".join(row["of"][:3]) + ("; ..." if len(row["of"]) > 3 else "")


def levels(row: Json) -> str:
    return "; ".join(f"{level} {shown(share, 2)}" for level, share in row["levels"].items())


def trigrams(row: Json) -> str:
    return ", ".join(trigram["trigram"] for trigram in row["trigrams"])


JUDGED: Columns = {"judge": "judge", "scheme": scheme, "task": task}

# tables of all rows of one name in the result: the caption and the columns

PLAIN: Mapping[str, tuple[str, Columns]] = {
    "correlations": (
        "Pearson's r of the judges' F1 with their ability; Fisher's 95% intervals, over judges.",
        {"scheme": scheme, "task": task, "judges": "judges", "r": "pearson_r", "": band},
    ),
    "preflight": (
        "What is wrong with the files.",
        {"check": "check", "": "level", "count": "count", "finding": "message", "of": few},
    ),
    "persona_sensitivity": (
        "How far F1 depends on the persona a text was written for: the standard error is over personas.",
        {**JUDGED, "personas": "personas", "mean F1": "mean", "SE": "se"},
    ),
    "reflection": (
        "F1 before and after reflection.",
        {**JUDGED, "before": "f1", "after": "f1_reflected", "difference": "difference"},
    ),
    "irrelevant_attributes": (
        "F1 of a judge told to be somebody; the change is relative to a human and a typical person.",
        {
            "judge": "judge",
            "scheme": scheme,
            "told to be": "judge_persona",
            "attribute": "attribute",
            "F1": "f1",
            "relative change": "relative_change",
        },
    ),
    "labels_by_persona": (
        "P(label | persona), over ratings or draws.",
        {"of": who, "persona": "persona", "style": "style", "n": "n", "labels": levels},
    ),
    "trigrams": (
        "Trigrams of justifications, by TF-IDF.",
        {"of": who, "style": "style", "texts": "n", "trigrams": trigrams},
    ),
}


def plain_table(result: Json, name: str) -> Table:
    caption, columns = PLAIN[name]
    return Table.of(caption, result[name], columns)


# tables of some rows, or with a column for each task or scheme


def rows_by(result: Json, *by: str) -> list[Json]:
    """The rows of F1 by these groups, whose names are fields of the row."""
    return [{**row, **row["group"]} for row in result["f1"] if tuple(row["by"]) == by]


def f1_table(result: Json) -> Table:
    """F1 by scheme, in all tasks and in each."""
    choices = ", ".join(f"{name} {value}" for name, value in result["choices"].items())
    averages = dict.fromkeys(f"{row['kind']}: {row['average']}" for row in result["f1"])
    caption = (
        f"F1 of the judges against people ({'; '.join(averages) or 'nobody rated a text'}). Preset {result['preset']}: "
        f"{choices}. 95% intervals by bootstrap over texts; the standard error is over judges."
    )

    def mean(row: Json) -> str:
        over = row["over_judges"]
        return NOTHING if over["mean"] is None else f"{over['mean']['value']:.3f} ({field('se', over)})"

    columns: Columns = {"scheme": scheme, "task": lambda row: row["group"].get("task", ALL_TASKS)}
    columns |= {"labels": "n", "judges": lambda row: str(row["over_judges"]["n"]), "mean F1 (SE)": mean}
    columns |= {"pooled F1": "f1", "accuracy": "accuracy", "less the best rule": less_best}
    rows = [row for row in result["f1"] if row["by"] in ([], ["task"])]
    return Table.of(caption, rows, columns, result["command"])


def judges_table(result: Json) -> Table:
    cells = {(scheme(row), row["judge"], row["task"]): shown(row["f1"], 3) for row in rows_by(result, "judge", "task")}
    tasks = across(sorted({task for _, _, task in cells}), cells, lambda row: (scheme(row), row["judge"]))
    columns: Columns = {"judge": "judge", "scheme": scheme, "labels": "n", "none": "no_label", "F1": "f1"}
    columns |= {**tasks, "less the best rule": less_best}
    return Table.of("F1 of each judge; 'none' are texts it gave no label.", rows_by(result, "judge"), columns)


def three_labels_table(result: Json) -> Table:
    """A row for each judge and scheme: F1 over three labels, and the judge's labels for each of people's."""

    def judged(label: str) -> Cell:
        return lambda row: " / ".join(f"{row['confusion'][label][given]:,}" for given in THREE)

    columns: Columns = {"judge": "judge", "scheme": scheme, "labels": "n", "none": "no_label", "macro F1": "f1"}
    columns |= {f"people: {label}": judged(label) for label in THREE}
    columns |= {"accuracy": "accuracy", "less the best rule": less_best}
    rows = [{**row, **row["group"]} for row in result["three_labels"] if row["by"] == ["judge"]]
    bounds = "learned on other texts" if result["choices"]["bins"] == LEARNED else "as recorded"
    caption = f"Three labels, bounds {bounds}: the judge's {', '.join(THREE)} for each of people's."
    return Table.of(caption, rows, columns)


def consistency_table(result: Json) -> Table:
    """Kappa of each judge, then the mean over judges, where there are several."""
    means = [
        row | {"judge": "", "band": f"{row['lowest']:.2f} to {row['highest']:.2f}"}
        for row in result["self_consistency_over_judges"]
    ]
    every = [*result["self_consistency"], *means]

    def key(row: Json) -> tuple[str, str]:
        return scheme(row), row["judge"]

    def kappa(row: Json) -> str:
        return f"{row['mean']:.2f}" if "mean" in row else shown(row["kappa"], 2)

    cells = {(*key(row), row["task"]): kappa(row) for row in every}
    columns: Columns = {"judge": lambda row: row["judge"] or f"mean of {row['judges']}", "scheme": scheme}
    columns |= {"draws": lambda row: "" if "mean" in row else field("ratings", row), "kappa": kappa}
    columns |= {**across(sorted({row["task"] for row in every if row["task"]}), cells, key), "band": band}
    rows = [row for row in every if row["task"] is None and row.get("judges", 2) > 1]
    return Table.of("Randolph's kappa of a judge's draws; bands of Landis and Koch.", rows, columns)


def agreement_table(result: Json, *, with_people: bool) -> Table:
    """Agreement of each judge with people's vote, or of every two judges."""
    pairs = [
        {**pair, "kind": part["kind"], "scheme": part["scheme"]}
        for part in result["agreement"]
        for pair in part["pairs"]
        if (PEOPLE in (pair["rater"], pair["against"])) == with_people
    ]
    columns: Columns = {"scheme": scheme, "labels": "items", "raw agreement": "agreement"}
    columns |= {"Randolph's kappa": "randolph_kappa", "Cohen's kappa": "cohen_kappa"}
    columns |= {"band (Randolph)": lambda row: row["randolph_band"] or row["reason"] or ""}
    if with_people:
        judge: Columns = {"judge": lambda row: row["against"] if row["rater"] == PEOPLE else row["rater"]}
        return Table.of("The labels of each judge and of people's vote.", pairs, judge | columns)
    judges: Columns = {"judges": lambda row: f"{row['rater']}, {row['against']}"}
    return Table.of("The labels of every two judges.", pairs, judges | columns)


def people_table(result: Json, *, styles: bool) -> Table:
    """Agreement of people over all styles, or by style."""
    columns: Columns = {"style": lambda row: f"{row['kind']}: {row['style'] or 'all styles'}", "task": task}
    columns |= {"texts": "units", "ratings": "ratings", "kappa of levels": "kappa", "band": band}
    columns["kappa of labels"] = lambda row: shown(row["labels"]["kappa"], 2)
    rows = [row for row in result["people_agreement"] if (row["style"] is not None) == styles]
    return Table.of("How far people agree: Randolph's kappa over texts with two ratings or more.", rows, columns)


def contrasts_table(result: Json, *, tasks: bool) -> Table:
    """Contrasts of F1 in all tasks, or by task."""

    def side(index: int) -> Cell:
        return lambda row: f"{shown(row['sides'][index]['f1'], 3)} ({row['sides'][index]['n']:,})"

    def within(row: Json) -> str:
        return f"{field('difference', row['within_judges'])} ({row['within_judges']['judges']})"

    columns: Columns = {"F1 on": lambda row: CONTRASTS[row["contrast"]], "scheme": scheme, "task": task}
    columns |= {
        "the first": side(0),
        "the second": side(1),
        "difference": "difference",
        "within judges (how many)": within,
    }
    there = (row for row in result["contrasts"] if any(side["n"] for side in row["sides"]))
    rows = [row for row in there if (row["task"] is not None) == tasks]
    return Table.of("Whose texts a judge judges best. Families and strengths are those of --ability.", rows, columns)


def breakdown_table(result: Json, by: str) -> Table:
    """F1 with a row for each group and a column for each scheme."""
    rows = rows_by(result, by)
    cells = {(row[by], scheme(row)): shown(row["f1"], 3) for row in rows}
    schemes = across(dict.fromkeys(map(scheme, rows)), cells, lambda row: (row[by],))
    groups = {row[by]: row for row in rows}
    return Table.of(f"F1 by {by}, pooled over judges.", groups.values(), {by: by, **schemes})


def frequencies_table(result: Json) -> Table:
    def share(value: float | None) -> str:
        return NOTHING if value is None else f"{value:.0%}"

    def shares(row: Json) -> str:
        return "; ".join(f"{label} {share(of['judge'])} / {share(of['people'])}" for label, of in row["labels"].items())

    rows = rows_by(result, "judge", "task")
    caption = "How often a judge gives each label, and people."
    return Table.of(caption, rows, JUDGED | {"judge / people": shares})


def style_correlations_table(result: Json) -> Table:
    """The strongest correlations of each rater."""
    known = [row for row in result["style_correlations"] if row["rho"]]
    strongest = [
        row
        for _, rows in groupby(known, key=who)
        for row in sorted(rows, key=lambda row: -abs(row["rho"]["value"]))[:MOST]
    ]
    columns: Columns = {"of": who, "styles": lambda row: " and ".join(row["styles"]), "texts": "n", "rho": "rho"}
    return Table.of("Styles that go together: Spearman's rho.", strongest, columns)


ACROSS = 4  # panels


def style_figure(result: Json) -> Figure:
    """Draw Randolph's kappa of every two raters, a panel for each scheme."""
    from matplotlib.figure import Figure

    panels: Sequence[Json] = result["agreement"]
    across = max(1, min(ACROSS, len(panels)))
    down = max(1, ceil(len(panels) / across))
    most = max((len(panel["raters"]) for panel in panels), default=1)
    size = 1.8 + 0.5 * most
    figure = Figure(figsize=(size * across + 1.0, size * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for index, axes in enumerate(grid.flat):
        if index < len(panels):
            image = agreement_panel(axes, panels[index], "randolph_kappa")
            axes.set_title(f"{panels[index]['kind']}: {panels[index]['scheme']}", fontsize=9)
        else:
            axes.set_axis_off()
    if panels:
        figure.colorbar(image, ax=grid, label="Randolph's kappa")
    return figure
