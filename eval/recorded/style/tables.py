"""The figures of ``pearl eval style`` as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eval.recorded.style.consistency import PEOPLE
from eval.report.tables import NOTHING, Json, Table, shown

CONTRASTS = {
    "self_less_other": "its own texts less others'",
    "same_less_different_family": "its family's texts less others'",
    "stronger_less_weaker": "texts of weaker writers less of stronger ones",
}
ALL_TASKS = "all tasks"


def style_tables(result: Json) -> Iterator[Table]:
    """The tables a reader needs first: over all styles and, for judges related to writers, over all tasks."""
    yield from some(
        f1_table(result),
        judges_table(result),
        consistency_table(result),
        with_people_table(result),
        people_table(result, [row for row in result["people_agreement"] if row["style"] is None]),
        relations_table(result, [row for row in result["contrasts"] if row["task"] is None]),
        ability_table(result),
        preflight_table(result),
    )


def some(*tables: Table) -> Iterator[Table]:
    return (table for table in tables if table.rows)


def f1_table(result: Json) -> Table:
    """Scheme by scheme, in all tasks and in each."""
    rows = tuple(
        (
            scheme_of(row),
            row["group"].get("task", ALL_TASKS),
            f"{row['n']:,}",
            str(row["over_judges"]["n"]),
            _mean_and_error(row["over_judges"]),
            shown(row["f1"], 3),
            shown(row["accuracy"], 3),
            _against(row),
        )
        for row in rows_by(result, (), ("task",))
    )
    choices = ", ".join(f"{name} {value}" for name, value in result["choices"].items())
    caption = (
        f"F1 of the judges against people ({_averages(result)}). Preset {result['preset']}: {choices}. 95% intervals "
        "by bootstrap over texts; the standard error is over judges."
    )
    columns = ("scheme", "task", "labels", "judges", "mean F1 (SE)", "pooled F1", "accuracy", "less the best rule")
    return Table(caption, columns, rows, result["command"])


def _averages(result: Json) -> str:
    return "; ".join(dict.fromkeys(f"{row['kind']}: {row['average']}" for row in result["f1"])) or "nobody rated a text"


def _mean_and_error(over: Json) -> str:
    error = NOTHING if over["se"] is None else f"{over['se']:.3f}"
    return NOTHING if over["mean"] is None else f"{over['mean']['value']:.3f} ({error})"


def _against(row: Json) -> str:
    best = row["less_baseline"]
    return NOTHING if best is None else f"{shown(best, 3, sign=True)} {best['against']}"


def rows_by(result: Json, *groupings: tuple[str, ...]) -> list[Json]:
    return [row for row in result["f1"] if tuple(row["by"]) in groupings]


def scheme_of(row: Json) -> str:
    return f"{row['kind']}: {row['scheme']}"


def judges_table(result: Json) -> Table:
    """A row a judge and scheme, a column a task."""
    tasks = sorted({row["group"]["task"] for row in rows_by(result, ("judge", "task"))})
    cells = {
        (row["kind"], row["scheme"], row["group"]["judge"], row["group"].get("task")): row
        for row in rows_by(result, ("judge",), ("judge", "task"))
    }
    rows = tuple(
        (
            row["group"]["judge"],
            scheme_of(row),
            f"{row['n']:,}",
            f"{row['no_label']:,}",
            shown(row["f1"], 3),
            *(f1_cell(cells.get((row["kind"], row["scheme"], row["group"]["judge"], task))) for task in tasks),
            _against(row),
        )
        for row in rows_by(result, ("judge",))
    )
    columns = ("judge", "scheme", "labels", "none", "F1", *tasks, "less the best rule")
    return Table("F1 of each judge; 'none' are texts it gave no label.", columns, rows)


def f1_cell(row: Json | None) -> str:
    return NOTHING if row is None else shown(row["f1"], 3)


def consistency_table(result: Json) -> Table:
    own = result["self_consistency"]
    tasks = sorted({row["task"] for row in own if row["task"]})
    cells = {(row["kind"], row["scheme"], row["judge"], row["task"]): row for row in own}
    rows = [
        (
            row["judge"],
            scheme_of(row),
            str(row["ratings"] or NOTHING),
            _kappa(row),
            *(_kappa(cells.get((row["kind"], row["scheme"], row["judge"], task))) for task in tasks),
            row["band"] or row.get("undefined", ""),
        )
        for row in own
        if row["task"] is None
    ]
    means = {(row["kind"], row["scheme"], row["task"]): row for row in result["self_consistency_over_judges"]}
    rows += [
        (
            f"mean of {mean['judges']}",
            scheme_of(mean),
            "",
            f"{mean['mean']:.2f}",
            *(_mean(means.get((kind, scheme, each))) for each in tasks),
            f"{mean['lowest']:.2f} to {mean['highest']:.2f}",
        )
        for (kind, scheme, task), mean in means.items()
        if task is None and mean["judges"] > 1
    ]
    columns = ("judge", "scheme", "draws", "kappa", *tasks, "band")
    return Table("Randolph's kappa of a judge's draws; bands of Landis and Koch.", columns, tuple(rows))


def _kappa(row: Json | None) -> str:
    return NOTHING if row is None else shown(row["kappa"], 2)


def _mean(row: Json | None) -> str:
    return NOTHING if row is None else f"{row['mean']:.2f}"


def with_people_table(result: Json) -> Table:
    rows = tuple(
        (_other(pair), scheme_of(found), *_agreed(pair))
        for found in result["agreement"]
        for pair in found["pairs"]
        if PEOPLE in (pair["rater"], pair["against"])
    )
    return Table("The labels of each judge and of people's vote.", ("judge", "scheme", *AGREED), rows)


def judge_pairs_table(result: Json) -> Table:
    rows = tuple(
        (f"{pair['rater']}, {pair['against']}", scheme_of(found), *_agreed(pair))
        for found in result["agreement"]
        for pair in found["pairs"]
        if PEOPLE not in (pair["rater"], pair["against"])
    )
    return Table("The labels of every two judges.", ("judges", "scheme", *AGREED), rows)


AGREED = ("labels", "raw agreement", "Randolph's kappa", "Cohen's kappa", "band (Randolph)")


def _other(pair: Json) -> str:
    return str(pair["against"] if pair["rater"] == PEOPLE else pair["rater"])


def _agreed(pair: Json) -> tuple[str, ...]:
    return (
        f"{pair['items']:,}",
        shown(pair["agreement"], 3),
        shown(pair["randolph_kappa"], 2),
        shown(pair["cohen_kappa"], 2),
        pair["randolph_band"] or pair["reason"] or "",
    )


def people_table(result: Json, found: Sequence[Json]) -> Table:
    rows = tuple(
        (
            f"{row['kind']}: {row['style'] or 'all styles'}",
            row["task"] or ALL_TASKS,
            f"{row['units']:,}",
            str(row["ratings"] or NOTHING),
            _kappa(row),
            row["band"] or row.get("undefined", ""),
            _kappa(row["labels"]),
        )
        for row in found
    )
    columns = ("style", "task", "texts", "ratings", "kappa of levels", "band", "kappa of labels")
    return Table("How far people agree: Randolph's kappa over texts with as many ratings.", columns, rows)


def relations_table(result: Json, found: Sequence[Json]) -> Table:
    rows = tuple(
        (
            CONTRASTS[row["contrast"]],
            scheme_of(row),
            row["task"] or ALL_TASKS,
            *(f"{shown(side['f1'], 3)} ({side['n']:,})" for side in row["sides"]),
            shown(row["difference"], 3, sign=True),
            f"{shown(row['within_judges']['difference'], 3, sign=True)} ({row['within_judges']['judges']})",
        )
        for row in found
        if any(side["n"] for side in row["sides"])
    )
    columns = ("F1 on", "scheme", "task", "the first", "the second", "difference", "within judges (how many)")
    return Table("Whose texts a judge judges best. Families and strengths are those of --ability.", columns, rows)


def ability_table(result: Json) -> Table:
    rows = tuple(
        (
            f"{row['kind']}: {row['scheme'] or 'all schemes'}",
            row["task"] or ALL_TASKS,
            str(row["judges"]),
            shown(row["pearson_r"], 2),
            row.get("undefined", ""),
        )
        for row in result["correlations"]
    )
    caption = "Pearson's r of the judges' F1 with their ability; Fisher's 95% intervals, over judges."
    return Table(caption, ("scheme", "task", "judges", "r", ""), rows)


def preflight_table(result: Json) -> Table:
    rows = tuple(
        (found["check"], found["level"], f"{found['count']:,}", found["message"], _few(found["of"]))
        for found in result["preflight"]
    )
    return Table("What is wrong with the files.", ("check", "", "count", "finding", "of"), rows)


def _few(names: Sequence[str]) -> str:
    return "; ".join(names[:3]) + ("; ..." if len(names) > 3 else "")
