"""The result files as a page: ``docs/performance.md`` is what :func:`markdown` gives."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.figures import Figure, Result, read_results
from pearl.text.usable import counted

HEAD = """# Performance

Measured on the real processes, as a person starts them. A figure is the median over the repetitions; brackets hold the
least and the most where they differ. The command below a table measures it again, `make bench` all of them.
`benchmarks/results` names the machines, their load and the libraries; each module in `benchmarks/` says how it
measures. What names a tag is frozen.
"""
# what a reader asks first; the others follow by name
FIRST = (
    "draft_overhead",
    "first_stage",
    "load",
    "rag",
    "beside_litellm",
    "workers",
    "many_users",
    "serving",
    "install",
    "startup",
    "page",
    "import",
)
APART = "many_machines"  # is on a page of its own
# file and what it shows, by benchmark
PICTURES = {
    "first_stage": ("first_stage.svg", "How long a request waits for its documents"),
}


def markdown(results_dir: Path) -> str:
    """The page, from the result files in the folder; it may be rendered in ``docs/``."""
    every = [result for result in read_results(results_dir) if result.benchmark != APART]
    results = sorted(every, key=lambda result: _place(result.benchmark))
    lines = [HEAD, "\n".join(f"- [{result.title}](#{_anchor(result.title)})" for result in results) + "\n"]
    for result in results:
        lines += section(result, results_dir)
    return "\n".join(lines)


def _place(benchmark: str) -> tuple[int, str]:
    return (FIRST.index(benchmark), "") if benchmark in FIRST else (len(FIRST), benchmark)


def _anchor(title: str) -> str:
    """The fragment by which GitHub links to a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def section(result: Result, results_dir: Path) -> list[str]:
    """A benchmark's part of a page in ``docs/``."""
    lines = [f"## {result.title}\n", _described(result) + "\n", table(result) + "\n"]
    file, shows = PICTURES.get(result.benchmark, ("", ""))
    if file and (results_dir / file).exists():
        lines.append(f"![{shows}](../benchmarks/results/{file})\n")
    return [*lines, f"`{result.command}`, {_machine(result)}.\n"]


def table(result: Result) -> str:
    goals = any(figure.reached is not None for figure in result.figures)
    head = ["| | median | goal |", "| --- | ---: | --- |"] if goals else ["| | median |", "| --- | ---: |"]
    return "\n".join(head + [_row(figure) + (f" {_goal(figure)} |" if goals else "") for figure in result.figures])


def _row(figure: Figure) -> str:
    low, value, high = map(_number, (figure.low, figure.value, figure.high))
    return f"| {figure.label} | {value} {figure.unit}{'' if low == high else f' [{low}, {high}]'} |"


def _goal(figure: Figure) -> str:
    if figure.reached is None:
        return ""
    bounds = (("at least", figure.at_least), ("at most", figure.at_most))
    wanted = ", ".join(f"{words} {_number(bound)}" for words, bound in bounds if bound is not None)
    return f"{wanted}: {'reached' if figure.reached else '**missed**'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"


def _described(result: Result) -> str:
    words = [counted(result.repetitions, "repetition")]
    for name, value in result.input.items():
        if not isinstance(value, list):
            shown = _number(value) if isinstance(value, (int, float)) else value
            words.append(f"{name.replace('_', ' ')}: {shown}")
    return "; ".join(words) + "."


def _machine(result: Result) -> str:
    machine = result.machine
    return f"commit {machine.commit or 'unknown'}, {machine.date[:10]}, on {machine.cpu}, {machine.cores} cores"
