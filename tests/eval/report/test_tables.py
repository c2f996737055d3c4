from __future__ import annotations

from eval.commands.studies.calibration import METRICS as CALIBRATION_METRICS
from eval.commands.studies.calibration import reliability_table
from eval.commands.studies.retrieval import METRICS, slices_tables
from eval.report.render import markdown
from eval.report.tables import Table, differences_table, figures_table, metrics_table, pairs_tables, shown


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
    "pairs": [
        {"model": "a", "against": "b", "win_rate": interval(0.75), "top1_gain": interval(1.0)},
        {"model": "b", "against": "a", "win_rate": interval(0.25), "top1_gain": interval(-1.0)},
    ],
    "slices": [
        {"by": "documents", "low": 2, "high": 9, "n": 5, "models": [{"model": "a", **ROW}], "baselines": []},
        {"by": "documents", "low": 10, "high": 20, "n": 6, "models": [{"model": "a", **ROW}], "baselines": []},
    ],
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


def test_pairs():
    wins, gains = pairs_tables(RESULT)
    assert wins.columns == ("model", "a", "b")
    assert wins.rows == (("a", "", "0.75 [-0.25, 1.75]"), ("b", "0.25 [-0.75, 1.25]", ""))
    assert gains.rows[0] == ("a", "", "1.0 [0.0, 2.0]")
    assert list(pairs_tables(RESULT | {"models": RESULT["models"][:1]})) == []


def test_slices():
    (table,) = slices_tables(RESULT)
    assert table.columns == ("model", "2 to 9 (n = 5)", "10 to 20 (n = 6)")
    assert table.rows == (("a", "2.0 [1.0, 3.0]", "2.0 [1.0, 3.0]"),)


def test_reliability():
    bins = [{"n": 3, "low": 0.1, "high": 0.25, "s1": interval(0.2), "gain": interval(4.0)}]
    table = reliability_table(RESULT, {"model": "a", "reliability": bins})
    assert table.rows == (("0.10 to 0.25", "3", "0.20 [-0.80, 1.20]", "4.0 [3.0, 5.0]"),)


def test_what_the_figures_are():
    for metrics in (METRICS, CALIBRATION_METRICS):
        assert [row[0] for row in metrics_table(metrics).rows] == [metric.title for metric in metrics]
