"""Correlations between styles, style by the persona that a text was written for, and typical trigrams of the judges'
and people's reasons.

Dimensions in comments: N units, K levels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from eval.recorded.style.breakdowns import NULL
from eval.recorded.style.choices import StyleOptions
from eval.recorded.style.counts import Texts
from eval.recorded.style.judged import JudgedUnit, Justification
from eval.recorded.style.labels import ABSENT, DETECTION, LABELS, PRESENT
from eval.recorded.style.people import People, Subject
from eval.stats.proportions import ratio
from pearl.stats.bootstrap import Floats

PEOPLE = "people"
TOP = 10  # trigrams of a style
STRONGEST = ("very", PRESENT)
SAME = "one of the two has the same label everywhere"


@dataclass(frozen=True, slots=True)
class RaterLevels:
    """The levels (how much of a style) that one judge, or people together, gave to texts."""

    rater: str
    scheme: str | None
    levels: tuple[str, ...]  # from the least to the most
    subjects: tuple[Subject, ...]
    votes: Floats  # for each level, (N, K)
    level: tuple[int | None, ...]  # index of the level that won, None if none did


def levels_of_raters(units: Sequence[JudgedUnit], people: People, options: StyleOptions) -> Iterator[RaterLevels]:
    """Yield the levels by people, if they rated styles, then the levels by every judge with every scheme."""
    subjects = tuple(subject for subject in people.ratings if subject.kind == DETECTION)
    if subjects:
        levels = people.scale(DETECTION, options)
        votes = people.votes(subjects, levels, options)
        yield RaterLevels(PEOPLE, None, levels, subjects, votes, tuple(map(_won, votes)))
    labels = LABELS[DETECTION]
    for judge, scheme in sorted({(unit.key.judge, unit.key.scheme) for unit in units}):
        among = [unit for unit in units if (unit.key.judge, unit.key.scheme) == (judge, scheme)]
        votes = np.array([[unit.votes(options).get(label, 0) for label in labels] for unit in among], float)
        won = (unit.label(options) for unit in among)
        level = tuple(None if label is None else labels.index(label) for label in won)
        yield RaterLevels(judge, scheme, labels, tuple(unit.subject for unit in among), votes, level)


def _won(votes: Floats) -> int | None:
    most = np.flatnonzero(votes == votes.max())
    return int(most[0]) if len(most) == 1 else None


def correlations(rated: RaterLevels) -> Iterator[dict[str, Any]]:
    """Spearman's rho between every two styles, over the texts that have a level for both."""
    by_style: dict[str, dict[str, int]] = defaultdict(dict)
    for subject, level in zip(rated.subjects, rated.level, strict=True):
        if level is not None:
            by_style[subject.style][subject.item] = level
    pairs = list(combinations(sorted(by_style), 2))
    size = len(rated.levels)
    shared = [
        (item, pair, level * size + by_style[pair[1]][item])
        for pair in pairs
        for item, level in by_style[pair[0]].items()
        if item in by_style[pair[1]]
    ]
    if not shared:
        return
    items, keys, codes = zip(*shared, strict=True)
    sums = Texts(items).sums(keys, np.eye(size * size)[list(codes)])
    for pair in pairs:
        both = sums.get(pair)
        value = both.estimate(spearman).to_json() if both else None
        n = int(both.value.sum()) if both else 0
        row = {"of": rated.rater, "scheme": rated.scheme, "styles": list(pair), "n": n, "rho": value}
        yield row | ({} if value else {"undefined": SAME if both else "no text is labelled of both"})


def spearman(tables: Floats) -> Floats:
    """Spearman's rho from the counts of texts with level i of one style and level j of another, (..., K * K)."""
    size = int(np.sqrt(tables.shape[-1]))
    table = tables.reshape(*tables.shape[:-1], size, size)
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    x, y = (counts.cumsum(axis=-1) - counts / 2 - counts.sum(axis=-1, keepdims=True) / 2 for counts in (rows, columns))
    both = (table * x[..., :, None] * y[..., None, :]).sum(axis=(-2, -1))
    spread = (rows * x**2).sum(axis=-1) * (columns * y**2).sum(axis=-1)
    return np.asarray(np.where(spread > 1e-9, ratio(both, np.sqrt(spread)), np.nan))


def by_persona(rated: RaterLevels, personas: Mapping[Subject, str | None]) -> Iterator[dict[str, Any]]:
    """P(level | persona) of each style, over single ratings or draws; texts of unknown persona are left out."""
    keys = [(personas[subject] or NULL, subject.style) if subject in personas else None for subject in rated.subjects]
    texts = Texts([subject.item for subject in rated.subjects])
    for (persona, style), sums in texts.sums(keys, rated.votes).items():
        yield {
            "of": rated.rater,
            "scheme": rated.scheme,
            "persona": persona,
            "style": style,
            "n": int(sums.value.sum()),
            "levels": {level: sums.estimate(_share(index)).to_json() for index, level in enumerate(rated.levels)},
        }


def _share(index: int) -> Callable[[Floats], Floats]:
    return lambda votes: ratio(votes[..., index], votes.sum(axis=-1))


def of_judges(justifications: Sequence[Justification]) -> Iterator[dict[str, Any]]:
    """Yield the most typical trigrams (TF-IDF) of judges' reasons for finding a style or for a comparison."""
    positive = ((reply.key.kind, reply.key.style, reply.text) for reply in justifications if reply.label != ABSENT)
    yield from _by_style("judges", positive)


def of_people(justifications: Sequence[tuple[Subject, str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the most typical trigrams (TF-IDF) of people's reasons for the highest level (table 17) or a comparison."""
    strong = (
        (subject.kind, subject.style, text)
        for subject, label, text in justifications
        if label in STRONGEST or subject.kind != DETECTION
    )
    yield from _by_style("people", strong)


def _by_style(who: str, reasons: Iterable[tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    """Yield the trigrams with the highest mean TF-IDF in each style's ``reasons`` (kind, style, text). Document
    frequencies are of all reasons of the kind; common English words are removed first."""
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    for kind, style, text in reasons:
        texts[kind, style].append(text)
    for kind in sorted({kind for kind, _ in texts}):
        styles = sorted(style for of, style in texts if of == kind)
        every = [text for style in styles for text in texts[kind, style]]
        owners = np.repeat(np.arange(len(styles)), [len(texts[kind, style]) for style in styles])
        vectorizer = TfidfVectorizer(ngram_range=(3, 3), stop_words="english")
        try:
            weights = vectorizer.fit_transform(every)
        except ValueError:  # there is no trigram in any
            continue
        names = vectorizer.get_feature_names_out()
        for index, style in enumerate(styles):
            mean = np.asarray(weights[owners == index].mean(axis=0)).ravel().tolist()
            best = sorted(np.flatnonzero(mean), key=lambda i: (-round(mean[i], 12), names[i]))[:TOP]
            yield {
                "of": who,
                "kind": kind,
                "style": style,
                "n": int((owners == index).sum()),
                "trigrams": [{"trigram": str(names[i]), "weight": round(float(mean[i]), 9)} for i in best],
            }
