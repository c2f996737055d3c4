"""The figures and tables of ``pearl eval quality``: how often a scorer prefers the text that people prefer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.recorded.quality.checks import PAIR_CHECKS, in_earlier_set, leaks
from eval.recorded.quality.scorers import SCORERS, PairScorer, correct
from eval.report.checks import Check, preflight
from eval.report.tables import Json, Table, checks_table, shown
from pearl.errors import InputError
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats, drawn
from pearl.text.words import count_words
from retriever.reward.originals import underlying
from retriever.reward.records import EQUAL, QualityPair, QualityRecord, read_pairs, read_quality

NOTHING_LEFT = 1e-9  # of the largest margin: a scorer of length alone is left with rounding errors
Part = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class PairSet:
    file: Path
    pairs: tuple[QualityPair, ...]
    findings: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class ScoredPairs:
    """The pairs on which each scorer is correct; all scorers are measured on the same pairs."""

    correct: Mapping[str, Floats]  # by scorer, 1, 0.5 or 0 for each pair, (N,)
    sets: Sequence[Part]  # the pairs of each set, (N,)
    bootstrap: Bootstrap  # over original texts

    def accuracy(self, scorer: str, part: Part) -> Estimate:
        """A scorer's accuracy on a part of the pairs (a mask): the mean over the sets that have pairs in this part."""
        held = [members & part for members in self.sets if (members & part).any()]
        right = self.correct[scorer]
        columns = np.column_stack([column for members in held for column in (right * members, members)])
        return replace(self.bootstrap.sums(columns, _mean_of_ratios), clusters=self.bootstrap.clusters(part))

    def micro(self, scorer: str, part: Part) -> Estimate:
        return self.bootstrap.share(self.correct[scorer], part)


def _mean_of_ratios(sums: Floats) -> Floats:
    """The mean over sets of correct / number, (R, 2S) -> (R,); sets without a pair in a resample are left out."""
    right, number = sums[:, 0::2], sums[:, 1::2]
    ratios = np.where(number > 0, right / np.where(number > 0, number, 1.0), 0.0)
    return np.asarray(ratios.sum(axis=1) / (number > 0).sum(axis=1))


def read_sets(
    files: Sequence[Path], trained_on: Sequence[Path], checks: Sequence[Check[Sequence[QualityPair]]] = PAIR_CHECKS
) -> list[PairSet]:
    """Read a set of pairs from each file and check it for faults. A pair that an earlier file has is left out. Raises
    InputError for files that cannot be used, and if all pairs of a file are in earlier files."""
    trained: list[tuple[Path, QualityRecord]] = [(path, record) for path in trained_on for record in read_quality(path)]
    sets: list[PairSet] = []
    earlier: dict[frozenset[str], str] = {}
    for file in files:
        read = read_pairs(file)
        pairs = [pair for pair in read if pair.texts not in earlier]
        if not pairs:
            other = earlier[read[0].texts].rpartition(":")[0]
            raise InputError(
                f"--pairs {file}: every pair in it stands in an earlier file, the first one in {other}; name each set "
                "once."
            )
        faults = (
            in_earlier_set(read, earlier),
            *preflight(checks, pairs),
            leaks(pairs, trained) if trained else None,
        )
        sets.append(PairSet(file, tuple(pairs), tuple(finding.to_json() for finding in faults if finding)))
        earlier |= {pair.texts: f"{file}:{pair.line}" for pair in pairs}
    return sets


def quality_report(
    sets: Sequence[PairSet],
    scorer: PairScorer,
    trivial: Sequence[PairScorer] = SCORERS,
    others: Sequence[PairScorer] = (),
    *,
    halved: Part | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The accuracy of ``scorer``, of every trivial scorer and of ``others``: over all sets, in each set, by origin, and
    with several controls for the texts' lengths. A coin decides ties, except for the pairs in the mask ``halved``,
    (N,): there a tie of ``scorer`` counts as half correct."""
    pairs = [pair for one_set in sets for pair in one_set.pairs]
    number = np.repeat(np.arange(len(sets)), [len(one_set.pairs) for one_set in sets])
    scorers: dict[str, PairScorer] = {known.name: known for known in (scorer, *trivial, *others)}
    margins = {name: known.margins(pairs) for name, known in scorers.items()}
    decided = {name: correct(margin, pairs, seed) for name, margin in margins.items()}
    if halved is not None:
        right, ties = decided[scorer.name]
        decided[scorer.name] = np.where(halved, 0.5, right), ties - int(halved.sum())
    names = original_names(pairs)
    scored = ScoredPairs(
        {name: right for name, (right, _) in decided.items()},
        [number == index for index in range(len(sets))],
        Bootstrap(drawn(names), seed=seed),
    )
    everything = np.ones(len(pairs), bool)
    overall = _accuracies(scored, everything)
    baselines = [baseline.name for baseline in (*trivial, *others)]
    rivals = [rival.name for rival in trivial if rival.name != scorer.name]
    origins = sorted({pair.origin for pair in pairs})
    lengths = np.array([[count_words(pair.first), count_words(pair.second)] for pair in pairs])
    equal = np.array([pair.equally_long for pair in pairs])
    longer_by = np.array([len(pair.better.strip()) - len(pair.worse.strip()) for pair in pairs])
    return {
        "n": len(pairs),
        "originals": len(set(names)),
        "scorer": scorer.name,
        "prefers": {name: known.description for name, known in scorers.items()},
        "accuracy": round(overall[scorer.name].value, 9),
        "baselines": {name: round(overall[name].value, 9) for name in baselines},
        "intervals": {
            "accuracy": overall[scorer.name].to_json(),
            "micro": scored.micro(scorer.name, everything).to_json(),
            "baselines": {name: overall[name].to_json() for name in baselines},
        },
        "difference": _difference(overall, scorer.name, rivals),
        "differences": {
            name: (overall[scorer.name] - overall[name]).to_json() for name in baselines if name != scorer.name
        },
        "micro": _part(scored, everything),
        "ties": {name: ties for name, (_, ties) in decided.items()},
        "sets": [
            {"file": str(one_set.file), **_part(scored, members), "findings": list(one_set.findings)}
            for one_set, members in zip(sets, scored.sets, strict=True)
        ],
        "origins": [
            {"origin": origin, **_part(scored, np.array([pair.origin == origin for pair in pairs]))}
            for origin in origins
        ],
        "better_is": {name: _part(scored, sign * longer_by > 0) for name, sign in (("longer", 1), ("shorter", -1))},
        "equal_length": {
            "within": EQUAL,
            **_part(scored, equal),
            "difference": _difference(_accuracies(scored, equal), scorer.name, rivals) if equal.any() else None,
        },
        "length_regressed": _regressed(margins, pairs, lengths, scored, seed),
    }


def _regressed(
    margins: Mapping[str, Floats],
    pairs: Sequence[QualityPair],
    lengths: NDArray[np.int_],
    scored: ScoredPairs,
    seed: int,
) -> dict[str, Any]:
    """Accuracies after a linear regression of each scorer's margins on differences in length, and the share of the
    margins' squares that the regression explains. Every pair counts once."""
    letters = np.array([len(pair.first.strip()) - len(pair.second.strip()) for pair in pairs], float)
    doublings = np.log2(np.maximum(lengths[:, 0], 1) / np.maximum(lengths[:, 1], 1))
    inputs = np.column_stack((lengths[:, 0] - lengths[:, 1], letters, doublings))
    accuracy, explained = {}, {}
    for name, margin in margins.items():
        known = np.where(np.isfinite(margin), margin, 0.0)
        fitted = inputs @ np.linalg.lstsq(inputs, known, rcond=None)[0]
        left = np.where(np.abs(margin - fitted) < NOTHING_LEFT * np.abs(known).max(), 0.0, margin - fitted)
        accuracy[name] = scored.bootstrap.share(correct(left, pairs, seed)[0]).to_json()
        explained[name] = round(float(fitted @ fitted / max(float(known @ known), 1e-12)), 4)
    return {"n": len(pairs), "accuracy": accuracy, "explained": explained}


def original_names(pairs: Sequence[QualityPair]) -> list[str]:
    """A name for each pair's original text, the same for pairs that share long word sequences. LAMP's field original_id
    is not used, since it names a batch of several texts."""
    return [f"text {group}" for group in underlying([f"{pair.first}\n{pair.second}" for pair in pairs])]


def _accuracies(scored: ScoredPairs, part: Part) -> dict[str, Estimate]:
    return {name: scored.accuracy(name, part) for name in scored.correct}


def _part(scored: ScoredPairs, part: Part) -> dict[str, Any]:
    """The number of pairs in a part, and every scorer's accuracy over these pairs; every pair counts once."""
    accuracy = {name: scored.micro(name, part).to_json() if part.any() else None for name in scored.correct}
    return {"n": int(part.sum()), "accuracy": accuracy}


def _difference(accuracies: Mapping[str, Estimate], scorer: str, rivals: Sequence[str]) -> dict[str, Any] | None:
    """The scorer's paired difference from the best rival; the best is chosen on the same pairs, which favours it."""
    best = max(rivals, key=lambda name: accuracies[name].value)
    gap = (accuracies[scorer] - accuracies[best]).to_json()
    return None if gap is None else {"against": best, **gap}


def quality_tables(result: Json) -> Iterator[Table]:
    """Yield a table of accuracy over all sets, in each set, by origin and by length; then tables of faults."""
    parts = _columns(result)
    several = len(result["sets"]) > 1
    names = list(dict.fromkeys((result["scorer"], *result["baselines"])))
    rows = [
        {"scorer": name, "prefers": result["prefers"][name]}
        | {f"{title} ({number:,})": accuracy[name] for title, (number, accuracy) in parts.items()}
        for name in names
    ]
    over = f"Accuracy over {result['n']:,} pairs of {result['originals']:,} original texts"
    if several:
        over += f"; the mean of {len(result['sets'])} sets counts each set once, the others each pair"
    drawn = "original texts" if result["originals"] > 1 else "pairs"
    sentences = [f"{over}. A coin decides ties. 95% intervals by bootstrap over {drawn}."]
    for title, difference in (
        ("", result["difference"]),
        (" with equal lengths", result["equal_length"]["difference"]),
    ):
        if difference:
            gap = shown(difference, 3, sign=True)
            sentences.append(f"Less the best other trivial scorer{title}, {difference['against']}: {gap}.")
    yield Table.plain(" ".join(sentences), rows, result["command"])
    for part in result["sets"]:
        yield from checks_table(part["findings"], part["file"] if several else "the items")


def _columns(result: Json) -> dict[str, tuple[int, Mapping[str, Json | None]]]:
    """For each column of the table, by title: the number of pairs and the accuracies."""
    overall = {**result["intervals"]["baselines"], result["scorer"]: result["intervals"]["accuracy"]}
    several = len(result["sets"]) > 1
    parts: dict[str, tuple[int, Mapping[str, Json | None]]]
    parts = {"mean of sets" if several else "all pairs": (result["n"], overall)}
    if several:
        parts["each pair once"] = (result["n"], result["micro"]["accuracy"])
        parts |= {part["file"]: (part["n"], part["accuracy"]) for part in result["sets"]}
    if len(result["origins"]) > 1:
        parts |= {part["origin"]: (part["n"], part["accuracy"]) for part in result["origins"]}
    for name, part in result["better_is"].items():
        parts[f"the better is {name}"] = (part["n"], part["accuracy"])
    equal, regressed = result["equal_length"], result["length_regressed"]
    parts[f"lengths within {equal['within']:.0%}"] = (equal["n"], equal["accuracy"])
    parts["length regressed out"] = (regressed["n"], regressed["accuracy"])
    return parts
