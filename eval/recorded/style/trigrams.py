"""Words that justifications of a style have in common: their trigrams by TF-IDF."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from eval.recorded.style.judged import Justification
from eval.recorded.style.labels import ABSENT, DETECTION, PRESENT
from eval.recorded.style.people import Subject

TOP = 10
STRONGEST = ("very", PRESENT)


def of_judges(justifications: Sequence[Justification]) -> Iterator[dict[str, Any]]:
    """Trigrams of replies that find a style, and of all that compare two texts; a reply's rest is its reason."""
    positive = ((reply.key.kind, reply.key.style, reply.text) for reply in justifications if reply.label != ABSENT)
    yield from _by_style("judges", positive)


def of_people(justifications: Sequence[tuple[Subject, str, str]]) -> Iterator[dict[str, Any]]:
    """Trigrams of ratings of the highest level, as in the paper's Table 17, and of all that compare two texts."""
    strong = (
        (subject.kind, subject.style, text)
        for subject, label, text in justifications
        if label in STRONGEST or subject.kind != DETECTION
    )
    yield from _by_style("people", strong)


def _by_style(who: str, reasons: Iterable[tuple[str, str, str]]) -> Iterator[dict[str, Any]]:
    """The trigrams with the highest mean TF-IDF over a style's texts; how rare one is is counted over all of a kind's.
    ``reasons`` are kinds, styles and texts. Common English words are no part of a trigram."""
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
        for place, style in enumerate(styles):
            mean = np.asarray(weights[owners == place].mean(axis=0)).ravel().tolist()
            best = sorted(np.flatnonzero(mean), key=lambda i: (-round(mean[i], 12), names[i]))[:TOP]
            yield {
                "of": who,
                "kind": kind,
                "style": style,
                "n": int((owners == place).sum()),
                "trigrams": [{"trigram": str(names[i]), "weight": round(float(mean[i]), 9)} for i in best],
            }
