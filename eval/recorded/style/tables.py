"""Tables of the figures of ``pearl eval style``, declared as data: rows of the result, and the fields shown of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eval.recorded.style.consistency import PEOPLE
from eval.report.tables import Declared, Json, Table, named, rows_tables

MOST = 50  # correlations of styles
GROUP = "kind scheme group n no_label f1 accuracy less_baseline"
PAIR = "kind scheme rater against items agreement randolph_kappa cohen_kappa randolph_band reason"
FIRST: Declared = {
    "by_judge": ("F1 of each judge; texts that it gave no label are counted.", GROUP),
    "three_labels": (
        "Three labels: the judge's for each of people's.",
        "kind scheme group n no_label f1 accuracy confusion",
    ),
    "self_consistency": (
        "Randolph's kappa of a judge's draws; bands of Landis and Koch.",
        "judge kind scheme task ratings kappa band undefined",
    ),
    "self_consistency_over_judges": ("The mean over judges.", "kind scheme task judges mean lowest highest"),
    "with_people": ("The labels of each judge and of people's vote.", PAIR),
    "people_agreement": (
        "How far people agree: Randolph's kappa over texts with two ratings or more.",
        "kind style task units ratings kappa band undefined labels.kappa",
    ),
    "contrasts": (
        "Whose texts a judge judges best. Families and strengths are those of --ability.",
        "contrast kind scheme task first.n first.f1 second.n second.f1 difference within_judges.difference",
    ),
    "correlations": (
        "Pearson's r of the judges' F1 with their ability; Fisher's 95% intervals, over judges.",
        "kind scheme task judges pearson_r undefined",
    ),
    "preflight": ("What is wrong with the files.", "check level count message of"),
}
MORE: Declared = {
    "among_judges": ("The labels of every two judges.", PAIR),
    **{name: FIRST[name] for name in ("people_agreement", "contrasts")},
    "f1": ("F1 by task, judge, persona, generator and style, pooled over judges.", GROUP),
    "by_judge_and_task": ("How often a judge gives each label, and people.", "kind scheme group labels"),
    "persona_sensitivity": (
        "How far F1 depends on the persona a text was written for: the standard error is over personas.",
        "judge kind scheme task personas mean se",
    ),
    "reflection": (
        "F1 before and after reflection.",
        "judge kind scheme task f1 f1_reflected difference",
    ),
    "irrelevant_attributes": (
        "F1 of a judge told to be somebody; the change is relative to a human and a typical person.",
        "judge kind scheme judge_persona attribute f1 relative_change",
    ),
    "style_correlations": (
        f"Styles that go together: the {MOST} strongest of Spearman's rho.",
        "of scheme styles n rho",
    ),
    "labels_by_persona": ("P(label | persona), over ratings or draws.", "of scheme persona style n levels"),
    "trigrams": ("Trigrams of justifications, by TF-IDF.", "of kind style n trigrams"),
}


def style_tables(result: Json) -> Iterator[Table]:
    """Yield the tables that a reader needs first, over all styles; on judges and writers, over all tasks."""
    choices = ", ".join(f"{name} {value}" for name, value in result["choices"].items())
    averages = dict.fromkeys(f"{row['kind']}: {row['average']}" for row in result["f1"])
    caption = (
        f"F1 of the judges against people ({'; '.join(averages) or 'nobody rated a text'}). Preset {result['preset']}: "
        f"{choices}. 95% intervals by bootstrap over texts; the standard error is over judges."
    )
    rows = [row for row in result["f1"] if row["by"] in ([], ["task"])]
    columns = named(f"{GROUP} over_judges.n over_judges.mean over_judges.se")
    yield Table.of(caption, rows, columns, result["command"])
    whole = {
        "people_agreement": [row for row in result["people_agreement"] if row["style"] is None],
        "contrasts": [row for row in _arranged(result)["contrasts"] if row["task"] is None],
    }
    yield from rows_tables(_arranged(result) | whole, FIRST)


def more_tables(result: Json) -> Iterator[Table]:
    """Yield the remaining tables, which only the page shows."""
    yield from rows_tables(_arranged(result), MORE)


def _arranged(result: Json) -> dict[str, Any]:
    """The result with added rows for the tables: selected rows, and rows taken from inside other rows."""
    pairs = [
        {**pair, "kind": part["kind"], "scheme": part["scheme"]}
        for part in result["agreement"]
        for pair in part["pairs"]
    ]
    known = [row for row in result["style_correlations"] if row["rho"]]
    return {
        **result,
        "by_judge": [row for row in result["f1"] if row["by"] == ["judge"]],
        "by_judge_and_task": [row for row in result["f1"] if row["by"] == ["judge", "task"]],
        "three_labels": [row for row in result["three_labels"] if row["by"] == ["judge"]],
        "with_people": [pair for pair in pairs if PEOPLE in (pair["rater"], pair["against"])],
        "among_judges": [pair for pair in pairs if PEOPLE not in (pair["rater"], pair["against"])],
        "contrasts": [
            {**row, **dict(zip(("first", "second"), row["sides"], strict=True))}
            for row in result["contrasts"]
            if any(side["n"] for side in row["sides"])
        ],
        "style_correlations": sorted(known, key=lambda row: -abs(row["rho"]["value"]))[:MOST],
        "trigrams": [{**row, "trigrams": [one["trigram"] for one in row["trigrams"]]} for row in result["trigrams"]],
    }
