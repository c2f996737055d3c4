"""The figures of ``pearl eval likeness``: AUC, equal error rate and calibration, by file and by length.

Dimensions in comments: N claims, V different scores, R resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.likeness.methods import LIKENESS, Lineup, scores_of
from eval.likeness.writers import (
    IMPOSTORS,
    LEAST_TEXTS,
    OWN,
    SAME_DOMAIN,
    TOPIC_MATCHED,
    Claim,
    claims,
    part_of,
    texts_by_user,
    writers_of,
)
from eval.stats.certainty import CertainAnswers, brier, calibration_error, reliability
from pearl.errors import InputError
from pearl.likeness.impostors import TEXTS_OF_AN_AUTHOR, Impostors, is_same_person
from pearl.likeness.likeness import Likeness
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats
from retriever.models.encoder import Encoder

KINDS = (SAME_DOMAIN, TOPIC_MATCHED)
DIGITS = 3
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LikenessOptions:
    """``impostors``: files of other people, in place of the histories' own; ``shipped``: the package's registers."""

    methods: tuple[str, ...]
    lengths: tuple[int, ...]
    part: str
    people: int
    impostors: tuple[Path, ...]
    shipped: bool
    resamples: int
    seed: int


def likeness_report(
    paths: Sequence[Path], options: LikenessOptions, encoder: Encoder, progress: Callable[[str], None]
) -> Json:
    """Raises InputError for files that cannot be read or have too few people."""
    files, certainties = [], []
    for path in paths:
        progress(f"{path.name}: reading")
        lineup, head = _lineup(path, options, encoder)
        lengths = []
        for words in options.lengths:
            progress(f"{path.name}: {words} words")
            part, certain = _length(claims(lineup.writers, words, options.seed), words, lineup, options)
            lengths.append(part)
            certainties.append(certain)
        files.append({**head, "lengths": lengths})
    if not any(part[OWN] + part["abstained"] for file in files for part in file["lengths"]):
        raise InputError(
            f"--words: nobody's later texts fill a passage of {min(options.lengths):,} words; give fewer.",
            param="words",
        )
    return {"methods": list(options.methods), "files": files, "reliability": _reliability(np.concatenate(certainties))}


def _lineup(path: Path, options: LikenessOptions, encoder: Encoder) -> tuple[Lineup, Json]:
    """The writers of a file with their impostors, and the account of both."""
    texts = texts_by_user(path)
    writers = writers_of(texts, options.part)
    if len(writers) < 2:
        raise InputError(
            f"{path}: user_id: {len(writers)} people of the {options.part} part have {LEAST_TEXTS} texts or more; two "
            "are needed.",
            param="history",
        )
    drawn = np.random.default_rng(options.seed).permutation(len(writers))[: options.people]
    chosen = [writers[place] for place in sorted(drawn)]
    if options.shipped:
        fitted = {writer.user: Likeness.fit(writer.history).reference for writer in chosen}
        registers = Counter(reference.name for reference in fitted.values())
        head: Json = {"impostors": dict(sorted(registers.items())), "removed": []}
        lineup = Lineup(chosen, lambda writer: fitted[writer.user], encoder)
    else:
        others = {user: mine for user, mine in texts.items() if part_of(user) == IMPOSTORS}
        if options.impostors:
            others = {user: mine for file in options.impostors for user, mine in texts_by_user(file).items()}
        removed = sorted(_tested_impostors(others, texts, {writer.user for writer in writers}))
        kept = {user: mine for user, mine in others.items() if user not in removed}
        if not kept:
            raise InputError(
                f"{path}: nobody is left to be an impostor, for none of those tested is; name histories of other "
                "people with --impostors.",
                param="impostors",
                code="no_impostors",
            )
        reference = Impostors.of(path.name, kept)
        head = {"impostors": reference.authors, "removed": removed}
        known = [text for theirs in kept.values() for text in theirs[:TEXTS_OF_AN_AUTHOR]]
        lineup = Lineup(chosen, lambda writer: reference, encoder, known, options.seed)
    return lineup, {"file": path.name, "users": len(texts), "tested": len(chosen), **head}


def _tested_impostors(
    impostors: Mapping[str, Sequence[str]], texts: Mapping[str, Sequence[str]], tested: set[str]
) -> Iterator[str]:
    """The impostors who are tested themselves: by their id, or because they share texts with somebody tested."""
    mine = {user: set(texts[user]) for user in tested}
    owner = {text: user for user in tested for text in mine[user]}
    for user, theirs in impostors.items():
        shared = {owner[text] for text in theirs if text in owner}
        if user in tested or any(is_same_person(mine[other], set(theirs)) for other in shared):
            yield user


def _length(trials: Sequence[Claim], words: int, lineup: Lineup, options: LikenessOptions) -> tuple[Json, Floats]:
    """The figures at one length, and the probability, (N,), beside the truth of as many false claims as true ones."""
    scores = scores_of(options.methods, lineup, trials) if trials else {}
    ours = scores.get(LIKENESS, np.array([]))
    answered = np.isfinite(ours)
    kinds = np.array([claim.kind for claim in trials])
    counts = {kind: int((answered & (kinds == kind)).sum()) for kind in (OWN, *KINDS)}
    part: Json = {"words": words, **counts, "abstained": int((~answered).sum())}
    if not min(counts[OWN], counts[SAME_DOMAIN]):
        return {**part, "methods": [], "calibration": None}, np.zeros((0, 2))
    names = np.array([lineup.writers[claim.writer].user for claim in trials])
    part["methods"] = [
        {"method": method, **_figures(method, of_method, kinds, names, answered, options)}
        for method, of_method in scores.items()
    ]
    even = _as_many(kinds, names, answered)
    bootstrap = Bootstrap(names[even], resamples=options.resamples, seed=options.seed)
    certain = CertainAnswers((kinds == OWN)[even].astype(float), 100 * ours[even], bootstrap)
    part["calibration"] = {
        name: _rounded(fold(certain)) for name, fold in (("brier", brier), ("ece", calibration_error))
    }
    return part, np.column_stack((certain.correct, certain.certainty))


def _figures(method: str, scores: Floats, kinds: Any, names: Any, answered: Any, options: LikenessOptions) -> Json:
    """AUC against each kind of impostor, resampled by the person claimed; and our equal error rate."""
    figures: Json = {}
    for kind in KINDS:
        among = answered & ((kinds == OWN) | (kinds == kind))
        if not (kinds[among] == kind).any():
            continue
        bootstrap = Bootstrap(names[among], resamples=options.resamples, seed=options.seed)
        true = kinds[among] == OWN
        figures[kind] = _rounded(auc(bootstrap, scores[among], true))
        if method == LIKENESS and kind == SAME_DOMAIN:
            figures["eer"] = _rounded(equal_error_rate(bootstrap, scores[among], true))
    return figures


def _as_many(kinds: Any, names: Any, answered: Any) -> Any:
    """True for each person's own passages and as many of their same-domain impostors', of those that are answered."""
    chosen = answered & (kinds == OWN)
    for name in np.unique(names):
        mine = answered & (names == name)
        chosen[np.flatnonzero(mine & (kinds == SAME_DOMAIN))[: (mine & (kinds == OWN)).sum()]] = True
    return chosen


def _reliability(certainties: Floats) -> list[Json]:
    """Bins of the probability over all files and lengths, with the share that was true in each."""
    if not len(certainties):
        return []
    rows = reliability(
        CertainAnswers(certainties[:, 0], certainties[:, 1], Bootstrap(["all"] * len(certainties), resamples=1))
    )
    return [{"said": round(row["certainty"] / 100, DIGITS), "true": row["correct"], "of": row["total"]} for row in rows]


def _rounded(estimate: Estimate) -> Json | None:
    interval = estimate.to_json()
    return None if interval is None else {name: round(value, DIGITS) for name, value in interval.items()}


def auc(bootstrap: Bootstrap, scores: Floats, true: NDArray[np.bool_]) -> Estimate:
    """The chance that a true claim scores above a false one, equal scores counting a half."""

    def fold(weights: Floats) -> Floats:
        right, wrong = _by_score(weights, scores, true)
        below = wrong.cumsum(axis=1) - wrong / 2
        return np.asarray((right * below).sum(axis=1) / (right.sum(axis=1) * wrong.sum(axis=1)))

    return bootstrap.weights(fold)


def equal_error_rate(bootstrap: Bootstrap, scores: Floats, true: NDArray[np.bool_]) -> Estimate:
    """The share of true claims refused where as large a share of false ones is believed."""

    def fold(weights: Floats) -> Floats:
        right, wrong = _by_score(weights, scores, true)
        refused = right.cumsum(axis=1) / right.sum(axis=1, keepdims=True)
        believed = 1 - wrong.cumsum(axis=1) / wrong.sum(axis=1, keepdims=True)
        place = np.abs(refused - believed).argmin(axis=1)[:, None]
        both = np.take_along_axis(refused, place, 1) + np.take_along_axis(believed, place, 1)
        return np.asarray(both[:, 0] / 2)

    return bootstrap.weights(fold)


def _by_score(weights: Floats, scores: Floats, true: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The weights of the true claims and of the false ones at each score, the lowest first, (R, V)."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
    ordered = weights[:, order]
    right = np.add.reduceat(ordered * true[order], starts, axis=1)
    return right, np.add.reduceat(ordered, starts, axis=1) - right
