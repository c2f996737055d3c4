"""The README's picture of the sample user's voice card."""

from __future__ import annotations

from html import escape

from svg_pictures import svg

from pearl.manner.habits import Habit, habits
from pearl.manner.reference import MESSAGE, shipped
from pearl.manner.trait import TraitUnit
from pearl.manner.traits import BY_NAME
from pearl.manner.usual_rates import UsualRates
from service.sample import sample_documents

LINES = 9
WIDTH, LEFT, RIGHT, ROW, TOP = 910, 330, 656, 30, 54


def card_picture() -> str:
    """The most unusual habits by rule of the sample user's mails: their rate, its interval and the usual rate."""
    reference = shipped(MESSAGE)
    documents = sorted(
        (document for document in sample_documents() if document.voice == "email"),
        key=lambda document: document.timestamp or 0.0,
    )
    listed = habits(documents, UsualRates.of_authors(reference)).listed

    def unusual(habit: Habit) -> float:
        spread = reference.traits[habit.name]
        return -abs(habit.rate.value - spread.mean) / max(spread.sd, 1e-9)

    shown = sorted((habit for habit in listed if habit.name in BY_NAME), key=unusual)[:LINES]
    title = f"The voice card of the sample user, from {len(documents)} mails, against {reference.authors} authors"
    parts = [f'<text class="strong" x="14" y="22">{escape(title)}</text>']
    said = "blue: Otti, with the 95% interval; grey: other authors on average"
    parts.append(f'<text class="soft" x="14" y="42">{said}</text>')
    for row, habit in enumerate(shown):
        parts += _row(habit, BY_NAME[habit.name].unit, TOP + ROW * row + ROW / 2)
    return svg(WIDTH, TOP + ROW * len(shown) + 10, title, parts)


def _row(habit: Habit, unit: TraitUnit, y: float) -> list[str]:
    """A habit's rate and the usual one on a scale from nothing to the greater of the two."""
    most = max(habit.rate.high, habit.usual)

    def place(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * value / most

    trait = BY_NAME[habit.name]
    does = trait.more if habit.direction == "more" else trait.less
    said = f"{unit.shown(habit.rate.value)}, others {unit.shown(habit.usual).partition(' ')[0]}"
    return [
        f'<line class="axis" x1="{LEFT}" y1="{y}" x2="{RIGHT}" y2="{y}"/>',
        f'<text x="{LEFT - 14}" y="{y + 5}" text-anchor="end">{escape(does)}</text>',
        f'<circle class="dot" cx="{place(habit.usual):.1f}" cy="{y}" r="5"/>',
        f'<g class="own"><line class="line" x1="{place(habit.rate.low):.1f}" y1="{y}" '
        f'x2="{place(habit.rate.high):.1f}" y2="{y}"/>'
        f'<circle class="dot" cx="{place(habit.rate.value):.1f}" cy="{y}" r="5"/></g>',
        f'<text class="soft" x="{RIGHT + 14}" y="{y + 5}">{escape(said)}</text>',
    ]
