"""Styles that go together, and styles found for each persona that was asked for.

Dimensions in comments: N units, K levels, R resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from eval.recorded.style.breakdowns import NULL
from eval.recorded.style.choices import StyleChoices
from eval.recorded.style.counts import Texts, grouped
from eval.recorded.style.judged import Unit
from eval.recorded.style.labels import DETECTION, LABELS
from eval.recorded.style.people import People, Subject
from pearl.stats import Estimate, Floats

PEOPLE = "people"
SAME = "one of the two has the same label everywhere"


@dataclass(frozen=True, slots=True)
class Said:
    """The levels of style that one rater gave to texts: ``levels`` from the least to the most, ``votes`` how often each
    was given, ``level`` the one that won, None if none did."""

    who: str
    scheme: str | None
    levels: tuple[str, ...]
    subjects: tuple[Subject, ...]
    votes: Floats
    level: tuple[int | None, ...]


def said_by_all(units: Sequence[Unit], people: People, choices: StyleChoices) -> list[Said]:
    """People, where they say something of styles, then every judge with every scheme."""
    found = []
    subjects = tuple(subject for subject in people.ratings if subject.kind == DETECTION)
    if subjects:
        levels = people.scale(DETECTION, choices)
        counted = [people.counted(subject, choices) for subject in subjects]
        votes = np.array([[each.get(level, 0) for level in levels] for each in counted], float)
        found.append(Said(PEOPLE, None, levels, subjects, votes, tuple(map(_won, votes))))
    for judge, scheme in sorted({(unit.key.judge, unit.key.scheme) for unit in units}):
        among = [unit for unit in units if (unit.key.judge, unit.key.scheme) == (judge, scheme)]
        labels = LABELS[DETECTION]
        votes = np.array([[unit.votes(choices).get(label, 0) for label in labels] for unit in among], float)
        of = tuple(Subject(DETECTION, unit.key.item, unit.key.style) for unit in among)
        won = tuple(None if label is None else labels.index(label) for label in (unit.label(choices) for unit in among))
        found.append(Said(judge, scheme, labels, of, votes, won))
    return found


def _won(votes: Floats) -> int | None:
    most = np.flatnonzero(votes == votes.max())
    return int(most[0]) if len(most) == 1 else None


def correlations(said: Said, *, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Spearman's rho of every two styles, over the texts that both are labelled of."""
    by_style: dict[str, dict[str, int]] = {}
    for subject, level in zip(said.subjects, said.level, strict=True):
        if level is not None:
            by_style.setdefault(subject.style, {})[subject.item] = level
    pairs = list(combinations(sorted(by_style), 2))
    size = len(said.levels)
    met = [
        (item, place, level * size + by_style[other][item])
        for place, (one, other) in enumerate(pairs)
        for item, level in by_style[one].items()
        if item in by_style[other]
    ]
    if not met:
        return
    named = {"of": said.who, "scheme": said.scheme}
    items, group, codes = zip(*met, strict=True)
    texts = Texts(items, resamples=resamples, seed=seed)
    totals = texts.totals(np.array(group), len(pairs), np.eye(size * size)[list(codes)])
    rho, again = spearman(totals.value), spearman(totals.resampled)
    for place, (one, other) in enumerate(pairs):
        number = int(totals.value[place].sum())
        value = Estimate(float(rho[place]), again[:, place]).to_json()
        row = named | {"styles": [one, other], "n": number, "rho": value}
        yield row | ({} if value else {"undefined": SAME if number else "no text is labelled of both"})


def spearman(tables: Floats) -> Floats:
    """Spearman's r from counts of level i of one with level j of the other, (..., K * K): Pearson's r of mean ranks."""
    size = int(np.sqrt(tables.shape[-1]))
    table = tables.reshape(*tables.shape[:-1], size, size)
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    x, y = (each.cumsum(axis=-1) - each / 2 - each.sum(axis=-1, keepdims=True) / 2 for each in (rows, columns))
    both = (table * x[..., :, None] * y[..., None, :]).sum(axis=(-2, -1))
    spread = (rows * x**2).sum(axis=-1) * (columns * y**2).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(spread > 1e-9, both / np.sqrt(spread), np.nan))


def by_persona(
    said: Said, personas: Mapping[Subject, str | None], *, resamples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """P(level | persona) of each style, over single ratings or draws; of texts whose persona the judgements say."""
    keys = [(personas[subject] or NULL, subject.style) if subject in personas else None for subject in said.subjects]
    names, group = grouped(keys)
    if not names:
        return
    texts = Texts([subject.item for subject in said.subjects], resamples=resamples, seed=seed)
    totals = texts.totals(group, len(names), said.votes)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = totals.value / totals.value.sum(axis=-1, keepdims=True)
        again = totals.resampled / totals.resampled.sum(axis=-1, keepdims=True)
    for place, (persona, style) in enumerate(names):
        yield {
            "of": said.who,
            "scheme": said.scheme,
            "persona": persona,
            "style": style,
            "n": int(totals.value[place].sum()),
            "levels": {
                level: Estimate(float(shares[place, i]), again[:, place, i]).to_json()
                for i, level in enumerate(said.levels)
            },
        }
