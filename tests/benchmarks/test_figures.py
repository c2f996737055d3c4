from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.figures import Figure, Result, over_repetitions, percentile, read_result, write_result
from benchmarks.machine import cpu_model, this_machine
from benchmarks.report import markdown, table


def result(*figures: Figure) -> Result:
    return Result("it", "It", "python -m benchmarks it", False, this_machine(), 3, {"documents": 1_234}, figures)


def test_a_figure_is_the_median_with_its_spread() -> None:
    figure = over_repetitions("speed", "speed", "x", [3.0, 1.0, 8.0])
    assert (figure.value, figure.low, figure.high) == (3.0, 1.0, 8.0)
    assert over_repetitions("even", "even", "x", [1.0, 2.0]).value == 1.5


@pytest.mark.parametrize(
    ("given", "shown"), [(0.123456, 0.1235), (12.3456, 12.35), (9999.4, 9999.0), (26664.6, 26665.0), (0.0, 0.0)]
)
def test_figures_have_four_digits(given: float, shown: float) -> None:
    assert over_repetitions("x", "x", "x", [given]).value == shown


@pytest.mark.parametrize(("percent", "value"), [(50, 5), (90, 9), (99, 10), (100, 10), (1, 1)])
def test_percentile_is_the_nearest_rank(percent: float, value: float) -> None:
    assert percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], percent) == value


def test_whether_a_goal_is_reached() -> None:
    values = [2.0]
    assert over_repetitions("x", "x", "x", values).reached is None
    assert over_repetitions("x", "x", "x", values, at_least=2).reached is True
    assert over_repetitions("x", "x", "x", values, at_least=2.1).reached is False
    assert over_repetitions("x", "x", "x", values, at_most=2).reached is True
    assert over_repetitions("x", "x", "x", values, at_most=0).reached is False


def test_a_result_comes_back_from_its_file(tmp_path: Path) -> None:
    written = result(
        over_repetitions("fast", "fast", "ms", [1.0, 2.0, 3.0], at_most=2.5),
        over_repetitions("plain", "plain", "ms", [1.0]),
    )
    path = write_result(written, tmp_path)
    assert read_result(path) == written
    fast, plain = json.loads(path.read_text(encoding="utf-8"))["figures"]
    assert (fast["at_most"], fast["reached"]) == (2.5, True)
    assert not {"at_most", "at_least", "reached"} & plain.keys()


def test_the_report_says_what_was_missed(tmp_path: Path) -> None:
    missed = result(over_repetitions("rate", "rate", "documents/s", [2_000.0, 2_500.0], at_least=3_000))
    assert "| rate | 2,250 documents/s [2,000, 2,500] | at least 3,000: **missed** |" in table(missed)
    write_result(missed, tmp_path)
    page = markdown(tmp_path)
    assert "## It\n" in page
    assert "documents: 1,234" in page
    assert f"`python -m benchmarks it`, commit {missed.machine.commit or 'unknown'}" in page


def test_the_report_begins_with_what_is_asked_first_and_links_to_it(tmp_path: Path) -> None:
    for benchmark, title in (
        ("cascade", "What is left out"),
        ("load", "64 clients, at once"),
        ("draft_overhead", "A draft"),
    ):
        write_result(replace(result(), benchmark=benchmark, title=title), tmp_path)
    links = (
        "- [A draft](#a-draft)\n- [64 clients, at once](#64-clients-at-once)\n- [What is left out](#what-is-left-out)\n"
    )
    head, *sections = markdown(tmp_path).split("\n## ")
    assert head.endswith(links)
    assert [section.partition("\n")[0] for section in sections] == [
        "A draft",
        "64 clients, at once",
        "What is left out",
    ]


def test_the_report_of_nothing(tmp_path: Path) -> None:
    assert markdown(tmp_path).startswith("# Performance")


def test_the_machine_names_itself() -> None:
    machine = this_machine()
    assert machine.cpu
    assert machine.cores >= 1
    assert machine.memory_gib > 0
    assert machine.python == ".".join(map(str, sys.version_info[:3]))
    assert machine.libraries["torch"]


def test_the_processor_by_name_and_numbers(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nmodel name\t: Some CPU\ncpu family\t: 26\nmodel\t\t: 2\n", encoding="utf-8")
    assert cpu_model(cpuinfo) == "Some CPU (cpu family 26 model 2)"
    assert cpu_model(tmp_path / "missing")
