"""The picture of where a draft's time goes, beside the result files."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("svg")  # before pyplot looks for a screen

from matplotlib import pyplot as plt

from benchmarks.figures import read_result
from benchmarks.report import PICTURE

COLOURS = {"retrieve": "#3b6ea5", "prompt": "#8ab0d6", "LLM (mock)": "#c9c9c9", "API layer": "#d98c3f"}


def draw(results_dir: Path) -> Path:
    """A median draft as one bar, its stages in order, over the same call to the mock alone."""
    result = read_result(results_dir / "draft_overhead.json")
    widths = {
        "retrieve": result.figure("retrieve_p50").value,
        "prompt": result.figure("prompt_p50").value,
        "LLM (mock)": result.figure("bare_p50").value,
        "API layer": result.figure("api_p50").value,
    }
    # the same file for the same figures, and text that stays text
    with plt.rc_context({"svg.hashsalt": "pearl", "svg.fonttype": "none", "font.family": "sans-serif"}):
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
        path = results_dir / PICTURE
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return path
