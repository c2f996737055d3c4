"""The figures of ``pearl judge style-rank``: which text of each pair is ranked higher, and what the judge is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from eval.asking.json_lines import Lines
from eval.asking.verdict import Answer, Failed, Given, Invalid, Verdict, counts, kind
from eval.judges import authorship_trials as authorship
from eval.judges.authorship import Found, position, prefers_longer
from eval.judges.authorship_items import Item, Items
from eval.judges.style_rank_checks import preflight
from eval.judges.style_rank_items import RankItem
from eval.judges.style_rank_labels import Ranked, rank
from eval.judges.style_rank_reply import Points, Scored
from eval.judges.style_rank_trials import Judged, Trials
from eval.recorded.style.choices import NO_LABEL
from eval.recorded.style.labels import TIE, A, B
from eval.recorded.style.lines import SCORED
from eval.stats.consistency import self_consistency
from pearl.stats import Bootstrap

LABELS = (A, TIE, B)
NOTHING = Invalid(NO_LABEL)
# as the authorship judge would have said it, who calls a tie both
ANSWERS: Mapping[str | None, Verdict] = {A: Given(Answer.A), B: Given(Answer.B), TIE: Given(Answer.BOTH)}


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
        "verdicts": counts(SCORED if isinstance(each.said, Scored) else kind(each.said) for each in judged),
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
    labels = _found(trials, ((place, 0, False, ANSWERS.get(each.label)) for place, each in enumerate(ranked)))
    habits = {"prefers_longer": prefers_longer(labels, Bootstrap(labels.names, seed=seed))}
    if not trials.scheme.pairs:
        return habits | {"p_first": None, "flip_rate": None, "pairs_of_orders": 0}
    choices = _found(trials, ((each.trial.place, each.trial.draw, each.trial.second, each.said) for each in judged))
    return habits | position(choices, Bootstrap(choices.names, seed=seed), seed)


def _found(trials: Trials, said: Iterable[tuple[int, int, bool, Verdict | Points | None]]) -> Found:
    """Judgements in the form of the authorship judge: text a as the proposed system's draft, b as the baseline's."""
    items = tuple(Item(item.line, item.id, item.cluster, item.request, item.texts) for item in trials.items)
    judged = (
        authorship.Judged(authorship.Trial(place, draw, swapped), answer if isinstance(answer, Given) else NOTHING)
        for place, draw, swapped, answer in said
    )
    return Found.of(Items((A, B), items, {}, len(items), {}), judged)


def _scores(judged: Iterable[Judged]) -> dict[str, Any]:
    """The points that were given to text a and to text b: their mean, and how often each."""
    by_text: dict[str, list[float]] = {A: [], B: []}
    for each in judged:
        if isinstance(each.said, Scored):
            by_text[B if each.trial.second else A].append(each.said.score)
    return {
        text: {"mean": fmean(scores) if scores else None, "counts": counts(f"{score:g}" for score in scores)}
        for text, scores in by_text.items()
    }
