"""The pictures beside the result files: where a draft's time goes, and how waiting grows with the history."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")  # before pyplot looks for a screen

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks import first_stage
from benchmarks.figures import read_result
from benchmarks.report import PICTURES
from benchmarks.retrieval import SHAPES, SIZES

COLOURS = {"retrieve": "#3b6ea5", "prompt": "#8ab0d6", "LLM (mock)": "#c9c9c9", "API layer": "#d98c3f"}
LETTERS = 250  # of the smallest size, in a row of a flame graph


def draw(name: str, results_dir: Path) -> None:
    """Draw the picture of a benchmark, if it has one."""
    if name in DRAWN:
        # the same file for the same figures, and text that stays text
        with plt.rc_context({"svg.hashsalt": "pearl", "svg.fonttype": "none", "font.family": "sans-serif"}):
            figure = DRAWN[name](results_dir / f"{name}.json")
            figure.savefig(results_dir / PICTURES[name][0], metadata={"Date": None})
            plt.close(figure)


def draw_draft(path: Path) -> Figure:
    """Draw a median draft as one bar, its stages in order, over the same call to the mock alone."""
    result = read_result(path)
    widths = {
        "retrieve": result.figure("retrieve_p50").value,
        "prompt": result.figure("prompt_p50").value,
        "LLM (mock)": result.figure("bare_p50").value,
        "API layer": result.figure("api_p50").value,
    }
    figure, axes = plt.subplots(figsize=(8, 2.2), layout="constrained")
    left = 0.0
    for name, width in widths.items():
        axes.barh("a draft", width, left=left, color=COLOURS[name], label=f"{name} {width:.1f} ms")
        left += width
    axes.barh("the bare mock", widths["LLM (mock)"], color=COLOURS["LLM (mock)"])
    axes.invert_yaxis()
    axes.set_xlabel("milliseconds, median")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=len(widths), loc="upper center", bbox_to_anchor=(0.5, 1.3), fontsize=9)
    return figure


def draw_first_stage(path: Path) -> Figure:
    """Milliseconds against the size of the history: what ships, the same with AVX2 alone, and the plain way."""
    known = {each.name: each.value for each in read_result(path).figures}
    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    ways = (("p50", "-", "PEARL"), ("avx2_p50", ":", "PEARL, AVX2 alone"), ("plain_p50", "--", "SentenceTransformer"))
    for name, style, what in ways:
        values = [known[f"{size}_{name}"] for size in first_stage.SIZES]
        axes.plot(first_stage.SIZES, values, style, color="#3b6ea5", marker="o", markersize=4, label=what)
    axes.set(xscale="log", ylim=(0, None))
    _by_size(axes, first_stage.SIZES)
    return figure


def draw_retrieval(path: Path) -> Figure:
    """Milliseconds against the size of the history, one line a method, both axes logarithmic."""
    known = {each.name: each.value for each in read_result(path).figures}
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    for shape, colour in zip(SHAPES, ("#3b6ea5", "#d98c3f"), strict=True):
        for suffix, style, what in (("_ms", "-", "ours"), ("_plain_ms", "--", "CrossEncoder.predict")):
            points = [(size, known[key]) for size in SIZES if (key := f"{shape.name}_{size}{suffix}") in known]
            sizes, values = zip(*points, strict=True)
            axes.plot(sizes, values, style, color=colour, marker="o", markersize=4, label=f"{what}, {shape.title}")
    axes.set(xscale="log", yscale="log")
    _by_size(axes, SIZES)
    return figure


def draw_flame(path: Path) -> Figure:
    """Draw a row for each depth of calls, from below; a bar is as wide as its share of the samples."""
    figure, axes = plt.subplots(figsize=(12, 7), layout="constrained")
    calls = read_result(path).input["stacks"]
    whole = sum(count for _, count, _ in calls)

    def bars(calls: list[Any], left: int, depth: int) -> None:
        for name, count, inner in calls:
            ours = any(f"({package}/" in name for package in ("service", "pearl", "retriever"))
            colour = COLOURS["API layer" if ours else "prompt"]
            axes.barh(depth, count, left=left, height=1, color=colour, edgecolor="white", linewidth=0.4)
            letters = int(LETTERS * count / whole)
            if letters > 2:
                axes.text(left, depth, f" {name.partition(' (')[0]}"[:letters], va="center", fontsize=6)
            bars(inner, left, depth + 1)
            left += count

    bars(calls, 0, 0)
    axes.set(xlim=(0, whole))
    axes.axis("off")
    return figure


def _by_size(axes: Axes, sizes: Sequence[int]) -> None:
    """Label the axes, and mark the sizes that were measured on the lower one."""
    axes.set(xlabel="documents of the history", ylabel="milliseconds a request, median")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.grid(axis="y", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)


DRAWN = {
    "draft_overhead": draw_draft,
    "first_stage": draw_first_stage,
    "flame": draw_flame,
    "retrieval": draw_retrieval,
}
