"""The README's picture: the way from a history to a draft, and back."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from svg_pictures import svg

WIDTH, HEIGHT = 920, 292
TOP, BELOW, BOX_WIDTH, BOX_HEIGHT, GAP = 46, 172, 152, 80, 38
HEAD = (
    '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
    'orient="auto-start-reverse"><path class="head" d="M0 0 L10 5 L0 10 z"/></marker></defs>'
)


@dataclass(frozen=True, slots=True)
class Box:
    """A step: its name and two short lines, in a column and at a height."""

    column: int
    y: int
    name: str
    lines: tuple[str, str]
    own: bool = False

    @property
    def left(self) -> int:
        return 4 + self.column * (BOX_WIDTH + GAP)

    @property
    def middle(self) -> int:
        return self.left + BOX_WIDTH // 2

    def drawn(self) -> str:
        first, second = self.lines
        return (
            f'<rect class="{"own " if self.own else ""}box" x="{self.left}" y="{self.y}" width="{BOX_WIDTH}" '
            f'height="{BOX_HEIGHT}" rx="8"/>'
            f'<text class="strong" x="{self.middle}" y="{self.y + 26}" text-anchor="middle">{self.name}</text>'
            f'<text class="soft" x="{self.middle}" y="{self.y + 48}" text-anchor="middle">{first}</text>'
            f'<text class="soft" x="{self.middle}" y="{self.y + 65}" text-anchor="middle">{second}</text>'
        )


HISTORY = Box(0, TOP, "Your history", ("mail, posts, commits:", "only what you wrote"))
RETRIEVER = Box(1, TOP, "Retriever", ("scores how much", "each text will help"), own=True)
PROMPT = Box(2, TOP, "Prompt", ("the request, and the", "best texts as data"))
MODEL = Box(3, TOP, "Language model", ("embedded, or any", "OpenAI endpoint"))
DRAFT = Box(4, TOP, "Draft", ("and the texts and", "scores behind it"), own=True)
REVISION = Box(3, BELOW, "Best score low?", ("you are asked, or it is", "revised where it pays"), own=True)
STEPS = (HISTORY, RETRIEVER, PROMPT, MODEL, DRAFT)


def flow_picture() -> str:
    parts = [HEAD, *(box.drawn() for box in (*STEPS, REVISION))]
    across = TOP + BOX_HEIGHT // 2
    parts += [_arrow(f"M{one.left + BOX_WIDTH} {across} H{other.left - 3}") for one, other in pairwise(STEPS)]
    parts += [_arrow(f"M{RETRIEVER.middle} 24 V{TOP - 3}"), _said(RETRIEVER.middle, 17, "request")]
    level = BELOW + BOX_HEIGHT // 2
    parts += [
        _arrow(f"M{RETRIEVER.middle} {TOP + BOX_HEIGHT} V{level} H{REVISION.left - 3}"),
        _said((RETRIEVER.middle + REVISION.left) // 2, level - 8, "the best score, known before a word is written"),
        _arrow(f"M{REVISION.left + BOX_WIDTH} {level} H{DRAFT.middle - 30} V{TOP + BOX_HEIGHT + 3}"),
    ]
    bottom = HEIGHT - 14
    parts += [
        _arrow(f"M{DRAFT.middle + 30} {TOP + BOX_HEIGHT} V{bottom} H{HISTORY.middle} V{TOP + BOX_HEIGHT + 3}"),
        _said((HISTORY.middle + DRAFT.middle) // 2, bottom - 7, "what you send becomes history"),
    ]
    return svg(WIDTH, HEIGHT, "The way from a history to a draft, and back", parts)


def _arrow(path: str) -> str:
    return f'<path class="arrow" d="{path}" marker-end="url(#head)"/>'


def _said(x: int, y: int, text: str) -> str:
    return f'<text class="soft" x="{x}" y="{y}" text-anchor="middle">{text}</text>'
