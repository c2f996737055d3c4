"""One report, written everywhere that a command's options name."""

from __future__ import annotations

import json

import pytest

from eval.report.head import Head
from eval.report.report import Outputs, Report
from eval.report.tables import Table
from pearl.errors import InputError

FIGURES = {"rows": [{"name": "a|b", "share": 0.5}, {"name": "<c>", "share": None}]}


def tables(result):
    columns = {"name": lambda row: row["name"], "share": lambda row: str(row["share"] or "-")}
    yield Table.of("Shares.", result["rows"], columns, result["command"])


def more(result):
    yield Table("More of it.", ("n",), ((str(len(result["rows"])),),))


def picture(result):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().set_title(result["rows"][0]["name"])
    return figure


HEAD = Head.of("eval", "shares", seed=3)
REPORT = Report(FIGURES, tables, "Shares", picture, more)


def test_json_and_nothing_else_on_standard_output(capsys):
    Outputs("-").write(HEAD, REPORT)
    found = json.loads(capsys.readouterr().out)
    assert found == {"command": "pearl eval shares --seed 3", "version": found["version"], **FIGURES}


def test_tables_where_no_file_is_named(capsys):
    Outputs(None).write(HEAD, REPORT)
    out = capsys.readouterr().out
    assert "a|b" in out
    assert "Shares." in out
    assert "More of it." not in out


def test_a_picture_and_a_page(tmp_path, capsys):
    outputs = Outputs(str(tmp_path / "r.json"), tmp_path / "p.svg", tmp_path / "p.html")
    outputs.check([], {})
    outputs.write(HEAD, REPORT)
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "r.json").read_text())["rows"] == FIGURES["rows"]
    page = (tmp_path / "p.html").read_text()
    assert "a|b" in (tmp_path / "p.svg").read_text()
    for text in ("<h1>Shares</h1>", "pearl eval shares --seed 3", "&lt;c&gt;", "More of it.", "<svg"):
        assert text in page


@pytest.mark.parametrize(
    ("outputs", "complaint"),
    [
        (("no/such/r.json",), "--json no/such/r.json: there is no folder"),
        ((None, "p.gif"), r"--picture p.gif: a picture ends in"),
        ((None, None, "no/such/p.html"), "--report no/such/p.html: there is no folder"),
    ],
)
def test_a_file_that_cannot_be_written_is_named_before_the_work(outputs, complaint):
    from pathlib import Path

    json_file, *paths = outputs
    with pytest.raises(InputError, match=complaint):
        Outputs(json_file, *(path and Path(path) for path in paths)).check([], {})
