from __future__ import annotations

from typing import Any

from eval.report.render import show
from eval.report.tables import Table


def test_a_narrow_terminal_hides_nothing(monkeypatch: Any, capsys: Any) -> None:
    for name, value in (("TTY_COMPATIBLE", "1"), ("COLUMNS", "40")):
        monkeypatch.setenv(name, value)
    rows = (("reciprocal_rank_fusion", "0.512 [0.401, 0.622]", "1,020,304,050,607"),) * 2
    show([Table("Two retrievers.", ("retriever", "recall", "documents"), rows)])
    shown = capsys.readouterr().out
    assert "…" not in shown
    pieces = [line.split() for line in shown.splitlines()]
    for value in ("reciprocal_rank_fusion", "1,020,304,050,607"):
        assert "".join(word for line in pieces for word in line if word in value).count(value) == 2


def test_names_stand_as_they_are(capsys: Any) -> None:
    """Square brackets and colons are no markup; a number beside an Arabic name keeps its place by a mark."""
    show([Table("By [/b].", ("[name]", "n"), (("[ann]", "1"), ("[/b] :smile:", "2"), ("ليلى", "3")))])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    for row in (["[name]", "n"], ["[ann]", "1"], ["[/b]", ":smile:", "2"], ["ليلى\u200e", "3"], ["By", "[/b]."]):
        assert row in lines


def test_names_do_not_control_the_terminal(capsys: Any) -> None:
    show([Table("By \x1b[31mann.", ("name\x07", "n"), (("a\x1b[2Jnn", "1"),))])
    shown = capsys.readouterr().out
    assert "a\N{REPLACEMENT CHARACTER}[2Jnn" in shown
    assert not {"\x1b", "\x07"} & set(shown)
