"""The figures of ``pearl judge style-rank``: which text of each pair is ranked higher, and what the judge is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from eval.asking.json_lines import Lines
from eval.asking.verdict import Failed, Given, Invalid, Score, counts, kind
from eval.judges.pairwise import CODES, FIRST, NOTHING, SECOND, PairColumns, position, prefers_longer
from eval.judges.pairwise import TIE as EVEN
from eval.judges.style_rank_checks import preflight
from eval.judges.style_rank_items import RankItem
from eval.judges.style_rank_labels import Ranked, rank
from eval.judges.style_rank_trials import Judged, Trials
from eval.recorded.style.choices import NO_LABEL
from eval.recorded.style.labels import TIE, A, B
from eval.stats.consistency import self_consistency
from pearl.stats import Bootstrap

LABELS = (A, TIE, B)
OF_LABEL: Mapping[str | None, int] = {A: FIRST, B: SECOND, TIE: EVEN, None: NOTHING}


def ranking_report(items: Lines[RankItem], judged: Iterable[Judged], trials: Trials, seed: int) -> dict[str, Any]:
    """The texts compared and how, the checks of the items, the figures, and the label of each item."""
    every = list(judged)
    ranked = rank(every, len(trials.items), trials.scheme, trials.preset)
    return {
        "scheme": trials.scheme.name,
        "preset": trials.preset.name,
        "choices": trials.preset.to_json(),
        "draws": trials.draws,
        "lines": len(items.parsed),
        "passed_over": dict(items.passed_over),
        "preflight": [finding.to_json() for finding in preflight(trials.items)],
        **ranking_figures(trials, every, ranked, seed),
        "ranked": [
            {"item": item.id, "label": each.label, "draws": each.votes, "mean_scores": each.means}
            for item, each in zip(trials.items, ranked, strict=True)
        ],
    }


def ranking_figures(
    trials: Trials, judged: Sequence[Judged], ranked: Sequence[Ranked], seed: int = 0
) -> dict[str, Any]:
    """Intervals are by bootstrap over the requests, which several pairs share; that of the kappa over the items."""
    items = trials.items
    tasks = sorted({item.task for item in items})
    return {
        "n": len(judged),
        "items": len(items),
        "requests": len({item.cluster for item in items}),
        "verdicts": counts(kind(each.said) for each in judged),
        "invalid": counts(each.said.reason for each in judged if isinstance(each.said, Invalid)),
        "failed": counts(each.said.reason for each in judged if isinstance(each.said, Failed)),
        **_labels(items, ranked, seed),
        **_habits(trials, judged, ranked, seed),
        "scores": None if trials.scheme.pairs else _scores(judged),
        "tasks": [{"task": task} | _labels(*_among(items, ranked, task), seed) for task in tasks],
    }


def _among(items: Sequence[RankItem], ranked: Sequence[Ranked], task: str) -> tuple[list[RankItem], list[Ranked]]:
    places = [place for place, item in enumerate(items) if item.task == task]
    return [items[place] for place in places], [ranked[place] for place in places]


def _labels(items: Sequence[RankItem], ranked: Sequence[Ranked], seed: int) -> dict[str, Any]:
    """The frequency of each label among items and their draws, and the agreement of an item's draws."""
    bootstrap = Bootstrap([item.cluster for item in items], seed=seed)
    said = [each.label or NO_LABEL for each in ranked]
    draws = Counter(label or NO_LABEL for each in ranked for label in each.draws)
    return {
        "labels": {
            name: {"count": said.count(name), **(bootstrap.mean([each == name for each in said]).to_json() or {})}
            for name in (*LABELS, NO_LABEL)
        },
        "draw_labels": {name: draws[name] for name in (*LABELS, NO_LABEL)},
        **_consistency(ranked, seed),
    }


def _consistency(ranked: Sequence[Ranked], seed: int) -> dict[str, Any]:
    """Agreement among the labels of an item's draws; three labels are possible."""
    given = {
        (str(place), str(draw)): label
        for place, each in enumerate(ranked)
        for draw, label in enumerate(each.draws)
        if label is not None
    }
    return self_consistency(given, LABELS, seed)


def _habits(trials: Trials, judged: Sequence[Judged], ranked: Sequence[Ranked], seed: int) -> dict[str, Any]:
    """The shares in which the longer text ranks higher, Output (a) is taken, and the other order changes the choice."""
    items, texts = trials.items, [item.texts for item in trials.items]
    labels = _columns(items, [(place, 0, False, OF_LABEL[each.label]) for place, each in enumerate(ranked)])
    habits = {"prefers_longer": prefers_longer(labels, texts, seed)}
    if not trials.scheme.pairs:
        return habits | {"p_first": None, "flip_rate": None, "pairs_of_orders": 0}
    choices = [(each.trial.place, each.trial.draw, each.trial.second, _code(each)) for each in judged]
    return habits | position(_columns(items, choices), seed)


def _code(judged: Judged) -> int:
    """The verdict on the item's own texts."""
    if not isinstance(judged.said, Given):
        return NOTHING
    code = CODES[judged.said.answer]
    return {FIRST: SECOND, SECOND: FIRST}.get(code, code) if judged.trial.second else code


def _columns(items: Sequence[RankItem], said: Sequence[tuple[int, int, bool, int]]) -> PairColumns:
    place, run, swapped, code = (np.array(column) for column in zip(*said, strict=True))
    return PairColumns(place, run, swapped, code, tuple(items[each].cluster for each in place))


def _scores(judged: Iterable[Judged]) -> dict[str, Any]:
    """The points that were given to text a and to text b: their mean, and how often each."""
    by_text: dict[str, list[float]] = {A: [], B: []}
    for each in judged:
        if isinstance(each.said, Score):
            by_text[B if each.trial.second else A].append(each.said.value)
    return {
        text: {"mean": fmean(scores) if scores else None, "counts": counts(f"{score:g}" for score in scores)}
        for text, scores in by_text.items()
    }
