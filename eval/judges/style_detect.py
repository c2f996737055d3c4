"""The figures of ``pearl judge style-detect``: which styles a judge finds, and how far its draws agree.

Dimensions in comments: N draws.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from eval.asking.json_lines import Lines
from eval.asking.verdict import Failed, Invalid, counts
from eval.judges.style_detect_checks import preflight
from eval.judges.style_detect_items import StyleItem
from eval.judges.style_detect_trials import Judged, JudgedRound, Trials
from eval.judges.style_scales import LABELS, majority
from eval.recorded.style.choices import NO_LABEL
from eval.stats.consistency import self_consistency
from pearl.stats import Bootstrap


def detection_report(
    items: Lines[StyleItem], trials: Trials, rounds: Sequence[JudgedRound], labels: int, seed: int
) -> dict[str, Any]:
    """The items judged and how, their checks, and the figures of each scheme; ``rounds``: the first, and the
    reflection if there was one."""
    figures = Figures(trials, labels, seed)
    return {
        "preset": trials.choices.name,
        "choices": trials.choices.to_json(),
        "draws": trials.draws,
        "labels": list(LABELS[labels]),
        "lines": len(items.parsed),
        "items": len(trials.items),
        "texts": len({item.id for item in trials.items}),
        "passed_over": dict(items.passed_over),
        "preflight": [finding.to_json() for finding in preflight(trials.items)],
        "schemes": [figures.scheme(scale.name, rounds) for scale in trials.scales],
    }


class Figures:
    """Intervals are by bootstrap over the texts, which several styles share; that of the kappa over the items."""

    def __init__(self, trials: Trials, labels: int, seed: int) -> None:
        self._trials = trials
        self._size = labels
        self._labels = LABELS[labels]
        self._seed = seed

    def scheme(self, name: str, rounds: Sequence[JudgedRound]) -> dict[str, Any]:
        first, *more = ([judged for judged in each.judged if judged.trial.scale.name == name] for each in rounds)
        items = self._trials.items
        personas = [persona for persona in self._trials.judge_personas if persona is not None]
        return {
            "scheme": name,
            **self.of(first),
            "styles": [
                {"style": style} | self.of([each for each in first if items[each.trial.place].style == style])
                for style in sorted({item.style for item in items})
            ],
            "judge_personas": [
                {"judge_persona": persona} | self.of([each for each in first if each.trial.judge_persona == persona])
                for persona in personas
            ],
            "reflection": self.of(more[0]) | self.changes(first, more[0]) if more and more[0] else None,
            "detected": self.detected(first),
        }

    def of(self, judged: Sequence[Judged]) -> dict[str, Any]:
        """Labels of the draws; of the items (as often as there is a persona to judge as), by the majority of theirs."""
        votes = self._votes(judged)
        said = Counter(each.label(self._size) for each in judged)
        labelled = [self._majority(cast) for cast in votes.values()]
        unread = [each.said for each in judged if isinstance(each.said, (Invalid, Failed))]
        return {
            "n": len(judged),
            "draw_labels": {label: said[label] for label in self._labels},
            "invalid": counts(each.reason for each in unread if isinstance(each, Invalid)),
            "failed": counts(each.reason for each in unread if isinstance(each, Failed)),
            **self._shares(judged),
            "majority": {label or NO_LABEL: labelled.count(label) for label in (*self._labels, None)},
            "mostly_unread": sum(2 * cast.total() < self._trials.draws for cast in votes.values()),
            **self._consistency(judged),
        }

    def detected(self, judged: Sequence[Judged]) -> list[dict[str, Any]]:
        """The label of each item, and the votes."""
        items = self._trials.items
        return [
            {
                "item": items[place].id,
                "style": items[place].style,
                **({"judge_persona": persona} if persona else {}),
                "label": self._majority(cast),
                "draws": {label: cast[label] for label in self._labels},
            }
            for (place, persona), cast in self._votes(judged).items()
        ]

    def _votes(self, judged: Sequence[Judged]) -> dict[tuple[int, str | None], Counter[str]]:
        """Count the labels of the draws by item and persona of the judge."""
        votes: dict[tuple[int, str | None], Counter[str]] = defaultdict(Counter)
        for each in judged:
            label = each.label(self._size)
            votes[each.trial.place, each.trial.judge_persona].update([label] if label else [])
        return votes

    def _majority(self, cast: Counter[str]) -> str | None:
        return majority(cast, self._trials.choices.even, self._labels)

    def _shares(self, judged: Sequence[Judged]) -> dict[str, Any]:
        """The share of draws that find a style, of those with an answer, and the share without a readable one."""
        bootstrap = Bootstrap([self._trials.items[each.trial.place].id for each in judged], seed=self._seed)
        labels = np.array([each.label(self._size) or "" for each in judged])  # (N,)
        invalid = np.array([isinstance(each.said, Invalid) for each in judged], float)
        replied = np.array([not isinstance(each.said, Failed) for each in judged], float)
        present = (labels != self._labels[0]) & (labels != "")
        return {
            "present": bootstrap.ratio(present, labels != "").to_json(),
            "invalid_share": bootstrap.ratio(invalid, replied).to_json(),
        }

    def _consistency(self, judged: Sequence[Judged]) -> dict[str, Any]:
        """Randolph's kappa of the labels of an item's draws."""
        given = {
            (f"{each.trial.place} {each.trial.judge_persona or ''}", str(each.trial.draw)): label
            for each in judged
            if (label := each.label(self._size)) is not None
        }
        return self_consistency(given, self._labels, self._seed)

    def changes(self, first: Sequence[Judged], second: Sequence[Judged]) -> dict[str, Any]:
        """The share of draws with two answers in which the judge changes its answer on seeing it again."""
        before = {each.trial: each.label(self._size) for each in first}
        pairs = [
            (self._trials.items[each.trial.place].id, before[each.trial], after)
            for each in second
            if (after := each.label(self._size)) is not None
        ]
        if not pairs:
            return {"reflected": 0, "changed": None, "changes": {}}
        changed = [old != new for _, old, new in pairs]
        bootstrap = Bootstrap([text for text, _, _ in pairs], seed=self._seed)
        return {
            "reflected": len(pairs),
            "changed": bootstrap.mean(changed).to_json(),
            "changes": counts(f"{old} to {new}" for _, old, new in pairs if old != new),
        }
