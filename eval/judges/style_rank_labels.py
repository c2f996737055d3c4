"""One label per item from the draws of the style ranking judge: a, b or a tie (papers/style-judges.txt, 4.2).

Of two texts in both orders, a draw takes one of them or ties, and most draws decide. Of a rubric, the means of all
scores decide; a draw has a label too, for what the judge says again of itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean

from eval.asking.verdict import Answer, Given, Points, Score, Verdict
from eval.judges.style_rank_presets import Preset
from eval.judges.style_rank_prompt import Scheme
from eval.judges.style_rank_trials import Judged
from eval.recorded.style.choices import TIES, chosen
from eval.recorded.style.labels import RANKING, TIE, A, B, draws_label, ordered_label, scored_label

Said = Verdict | Points


@dataclass(frozen=True, slots=True)
class Ranked:
    """``draws`` holds the label of each draw, None where it has none; ``means`` of the scores of both texts."""

    label: str | None
    draws: tuple[str | None, ...]
    means: tuple[float, float] | None = None

    @property
    def votes(self) -> dict[str, int]:
        counted = Counter(self.draws)
        return {name: counted[name] for name in (A, TIE, B)} | {"no_label": counted[None]}


def rank(judged: Iterable[Judged], items: int, scheme: Scheme, preset: Preset) -> list[Ranked]:
    """The label of each item, from its draws."""
    said: list[dict[int, dict[bool, Said]]] = [defaultdict(dict) for _ in range(items)]
    for each in judged:
        said[each.trial.place][each.trial.draw][each.trial.second] = each.said
    return [_of_choices(draws.values(), preset) if scheme.pairs else _of_scores(draws.values()) for draws in said]


def _of_choices(draws: Iterable[Mapping[bool, Said]], preset: Preset) -> Ranked:
    labels = tuple(_by_choices(draw, preset) for draw in draws)
    counts = Counter(label for label in labels if label is not None)
    return Ranked(draws_label(RANKING, counts, chosen("corrected", [f"even={preset.even}"])), labels)


def _of_scores(draws: Iterable[Mapping[bool, Said]]) -> Ranked:
    """The means are of the scores that can be read."""
    draws = list(draws)
    labels = tuple(map(_by_scores, draws))
    first, second = ([said.value for draw in draws if isinstance(said := draw[of_b], Score)] for of_b in (False, True))
    if not (first and second):
        return Ranked(None, labels)
    means = mean(first), mean(second)
    return Ranked(scored_label(*means), labels, means)


def _by_scores(draw: Mapping[bool, Said]) -> str | None:
    first, second = draw[False], draw[True]
    if isinstance(first, Score) and isinstance(second, Score):
        return scored_label(first.value, second.value)
    return None


def _by_choices(draw: Mapping[bool, Said], preset: Preset) -> str | None:
    taken = {("ba" if second else "ab"): text for second, said in draw.items() if (text := _text(said, second))}
    if len(taken) == 1 and preset.half == TIES:
        return TIE
    return ordered_label(taken)


def _text(said: Said, second: bool) -> str | None:
    """The text that was taken, whatever the order was; None if none was."""
    if not isinstance(said, Given):
        return None
    return A if (said.answer is Answer.A) != second else B
