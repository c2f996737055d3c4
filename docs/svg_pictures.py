"""Pictures of the documentation as SVG text: intervals on one axis, and boxes with arrows.

Made by hand, without a drawing library, so they are small, the same bytes everywhere, and follow the reader's light or
dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

STYLE = """<style>
text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
.soft { fill: #59636e; font-size: 12.5px; }
.strong { font-weight: 600; }
.axis { stroke: #d1d9e0; }
.line { stroke: #8b949e; stroke-width: 2; }
.dot { fill: #8b949e; }
.own .line { stroke: #0969da; }
.own .dot { fill: #0969da; }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc; }
.soft { fill: #9198a1; }
.axis { stroke: #3d444d; }
.own .line { stroke: #4493f8; }
.own .dot { fill: #4493f8; }
}
</style>"""

AXIS, ROW, HEAD, GAP = 380, 28, 12, 14
LETTER, SMALL = 8.8, 7.8  # width of a letter at most on average, strong and soft, in the widest of the usual fonts
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a picture: its name and its interval. ``own``: it is PEARL's, and stands out."""

    label: str
    interval: Mapping[str, Any]
    own: bool = False


def intervals_picture(title: str, bars: Sequence[Bar], digits: int, *, sign: bool = False) -> str:
    """A dot and a line an interval, on an axis that begins at 0, with its figures beside it."""
    low = min(0.0, *(bar.interval["low"] for bar in bars))
    high = max(0.0, *(bar.interval["high"] for bar in bars))
    step = next(size for size in _steps((high - low) / 5) if size * 5 >= high - low)
    low, high = step * math.floor(low / step), step * math.ceil(high / step)
    form = f"{'+' if sign else ''}.{digits}f"
    numbers = [[bar.interval[name] for name in ("value", "low", "high")] for bar in bars]
    figures = [f"{value:{form}} [{start:{form}}, {end:{form}}]" for value, start, end in numbers]
    bottom = HEAD + ROW * len(bars)
    left = round(GAP + LETTER * max(len(bar.label) for bar in bars))
    right = left + AXIS

    def place(value: float) -> float:
        return left + AXIS * (value - low) / (high - low)

    parts = []
    for count in range(round((high - low) / step) + 1):
        value = low + count * step
        x = f"{place(value):.1f}"
        parts.append(f'<line class="axis" x1="{x}" y1="{HEAD}" x2="{x}" y2="{bottom}"/>')
        parts.append(f'<text class="soft" x="{x}" y="{bottom + 18}" text-anchor="middle">{value:g}</text>')
    for row, (bar, (value, start, end), said) in enumerate(zip(bars, numbers, figures, strict=True)):
        y = HEAD + ROW * row + ROW / 2
        kind, weight = ("own", "strong") if bar.own else ("other", "plain")
        parts.append(f'<g class="{kind}">')
        end_of_label = f'x="{left - GAP}" y="{y + 5}" text-anchor="end"'
        parts.append(f'<text class="{weight}" {end_of_label}>{escape(bar.label)}</text>')
        parts.append(f'<line class="line" x1="{place(start):.1f}" y1="{y}" x2="{place(end):.1f}" y2="{y}"/>')
        parts.append(f'<circle class="dot" cx="{place(value):.1f}" cy="{y}" r="5"/>')
        parts.append(f'<text class="soft" x="{right + GAP}" y="{y + 5}">{said}</text></g>')
    parts.append(f'<text class="soft" x="{left}" y="{bottom + 38}">{escape(title)}</text>')
    width = right + GAP + round(SMALL * max(map(len, figures)))
    return svg(width, bottom + 48, title, parts)


def _steps(least: float) -> Iterable[float]:
    """Round numbers for the ticks of an axis, the least first that is worth trying."""
    power = 10.0 ** math.floor(math.log10(least))
    return (float(f"{power * step:.6g}") for step in STEPS)


def svg(width: int, height: float, title: str, parts: Iterable[str]) -> str:
    """The parts as a picture that says what it shows to those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" '
        f'height="{height:g}" role="img" aria-label="{escape(title)}">\n{STYLE}\n' + "\n".join(parts) + "\n</svg>\n"
    )
