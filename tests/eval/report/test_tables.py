from __future__ import annotations

from eval.commands.studies.calibration import METRICS as CALIBRATION_METRICS
from eval.commands.studies.retrieval import METRICS
from eval.report.render import markdown
from eval.report.tables import Table, differences_table, figures_table, metrics_table, rows_tables, shown


def interval(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 1, "high": value + 1}


ROW = {metric.name: interval(2.0) for metric in METRICS}
RESULT = {
    "command": "pearl eval retrieval --model a",
    "n": 1200,
    "users": 80,
    "resampled": "users",
    "models": [{"model": "a", **ROW}, {"model": "b", **ROW, "pearson_r": None}],
    "baselines": [{"model": "random (expected)", **ROW}],
    "differences": [{"model": "a", "top1_gain": {"against": "b", **interval(-0.5)}, "pearson_r": None}],
}
CAPTION = "1,200 requests of 80 users; 95% intervals by bootstrap over users."


def test_an_interval_is_shown_with_its_digits():
    assert shown(interval(17.64), 1) == "17.6 [16.6, 18.6]"
    assert shown(interval(0.5), 2, sign=True) == "+0.50 [-0.50, +1.50]"
    assert shown(None, 2) == "-"


def test_markdown_says_what_made_the_table():
    table = Table("A caption.", ("model", "gain"), (("a|b", "1"), ("c", "2")), "pearl eval x")
    assert markdown(table) == (
        "| model | gain |\n| --- | ---: |\n| a\\|b | 1 |\n| c | 2 |\n\nA caption. `pearl eval x`\n"
    )


def test_figures():
    table = figures_table(RESULT, METRICS)
    assert (table.caption, table.command) == (CAPTION, RESULT["command"])
    assert table.columns == ("model", *(metric.title for metric in METRICS))
    assert [row[0] for row in table.rows] == ["a", "b", "random (expected)"]
    assert table.rows[0][1] == "2.0 [1.0, 3.0]"
    assert table.rows[1][4] == "-"


def test_users_are_not_counted_where_no_record_names_one():
    caption = figures_table(RESULT | {"n": 1, "users": 0, "resampled": "requests"}, METRICS).caption
    assert caption == "1 request; 95% intervals by bootstrap over requests."


def test_a_part_of_the_result_says_which():
    aside = RESULT | {"threshold": 0.5, "documents_set_aside": 1234, "records_left_without_documents": 2, "n": 1198}
    caption = figures_table(RESULT, METRICS, aside).caption
    assert caption.startswith("1,198 requests of 80 users")
    assert "(1,234)" in caption
    assert "50%" in caption
    part = RESULT | {"by": "request_words", "low": 2, "high": 6}
    assert figures_table(RESULT, METRICS, part).caption == f"{CAPTION} Request words from 2 to 6."


def test_differences_name_their_baseline():
    (row,) = differences_table(RESULT, METRICS[:4]).rows
    assert row == ("a", "-0.5 [-1.5, +0.5] b", "-", "-", "-")


def test_rows_have_the_fields_that_are_declared():
    rows = [
        {"name": "a", "n": 1200, "right": True, "of": ["x", "y"], "share": {"one": {"x": 1}, "two": interval(0.5)}},
        {"name": "", "n": 0.25, "right": False, "of": [], "share": {}, "gap": {"value": {"against": "b"}}},
    ]
    declared = {"rows": ("Rows.", "name n right of share gap.value.against"), "none": ("None.", "name")}
    (table,) = rows_tables({"rows": rows, "none": []}, declared)
    assert table.columns == ("name", "n", "right", "of", "share", "gap value against")
    assert table.rows == (
        ("a", "1,200", "yes", "x, y", "one (x 1); two 0.500 [-0.500, 1.500]", "-"),
        ("-", "0.250", "no", "-", "-", "b"),
    )
    assert Table.facts("", {"gain": interval(0.5), "n": None}).rows == (("gain", "0.500 [-0.500, 1.500]"), ("n", "-"))


def test_what_the_figures_are():
    for metrics in (METRICS, CALIBRATION_METRICS):
        assert [row[0] for row in metrics_table(metrics).rows] == [metric.title for metric in metrics]
