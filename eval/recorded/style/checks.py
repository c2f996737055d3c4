"""Faults of judgements and ratings, shown before any figure: each check says of what, and of how many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import binomtest

from eval.recorded.style.ability import Abilities
from eval.recorded.style.choices import StyleChoices
from eval.recorded.style.counts import subject_of
from eval.recorded.style.judged import Judged, Unit
from eval.recorded.style.labels import CANNOT_TELL, LABELS, RANKING, A, B
from eval.recorded.style.people import People, Subject
from eval.report.checks import BROKEN, NOTE
from eval.stats.proportions import UNBALANCED_P

EXAMPLES = 20
UNREADABLE = 0.05  # of a judge's lines
LOPSIDED = 0.9  # of people's labels


@dataclass(frozen=True, slots=True)
class StyleFinding:
    """``of`` names some of the ``count`` judges or items."""

    check: str
    level: str
    message: str
    count: int
    of: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "level": self.level,
            "count": self.count,
            "message": self.message,
            "of": list(self.of[:EXAMPLES]),
        }


def check_judged(judged: Judged, choices: StyleChoices) -> Iterator[StyleFinding]:
    """Judge by judge and scheme by scheme."""
    groups: dict[str, list[Unit]] = defaultdict(list)
    for unit in judged.units:
        groups[f"{unit.key.judge}, {unit.key.scheme}"].append(unit)
    yield from _of(
        "one_label",
        BROKEN,
        "give one label to every text: neither agreement nor F1 says what they can tell.",
        [name for name, units in groups.items() if _one_label(units, choices)],
    )
    yield from _of(
        "one_draw",
        NOTE,
        "were asked once, so that nothing says how far they agree with themselves.",
        [name for name, units in groups.items() if all(sum(unit.labels.values()) < 2 for unit in units)],
    )
    yield from _of(
        "same_reply",
        NOTE,
        "said the same, word by word, in all draws of nine texts in ten: was a temperature set?",
        [name for name, units in groups.items() if _same_reply(units)],
    )
    yield from _of(
        "unreadable",
        NOTE,
        f"have no answer in more than {UNREADABLE:.0%} of their lines.",
        [name for name, units in groups.items() if _unreadable(units)],
    )
    few = [subject_of(unit) for units in groups.values() for unit in _fewer(units)]
    yield from _of("few_draws", NOTE, "have fewer draws with an answer than most of their judge's.", map(_shown, few))
    half = [subject_of(unit) for unit in judged.units if unit.half_draws]
    yield from _of(
        "half_draws", NOTE, "have draws that were answered in one order of the texts only.", map(_shown, half)
    )


def check_people(people: People, labels: Mapping[Subject, str | None]) -> Iterator[StyleFinding]:
    once = [subject for subject, given in people.ratings.items() if sum(given.values()) == 1]
    yield from _of("rated_once", NOTE, "were rated by one person.", map(_shown, once))
    none = [subject for subject, label in labels.items() if label is None]
    yield from _of("no_vote", NOTE, "have no label that most people gave; they are in no F1.", map(_shown, none))
    unsure = [subject for subject, given in people.ratings.items() if given.get(CANNOT_TELL)]
    yield from _of("cant_tell", NOTE, "have ratings of people who could not tell.", map(_shown, unsure))
    for kind in people.scales:
        yield from _unbalanced(kind, Counter(label for subject, label in labels.items() if subject.kind == kind))


def check_matched(judged: Judged, people: People) -> Iterator[StyleFinding]:
    """Report subjects that only judges or only people rated."""
    seen = {subject_of(unit) for unit in judged.units}
    alone = sorted({_shown(subject) for subject in seen - people.ratings.keys()})
    yield from _of("not_rated", NOTE, "were judged, and not rated by people.", alone)
    unjudged = [_shown(subject) for subject in people.ratings if subject not in seen]
    yield from _of("not_judged", NOTE, "were rated by people, and not judged.", unjudged)


def check_abilities(judged: Judged, abilities: Abilities) -> Iterator[StyleFinding]:
    judges = {unit.key.judge for unit in judged.units}
    writers = {name for unit in judged.units for name in unit.about.generators}
    unknown = sorted(
        name
        for name in judges | writers
        if name not in abilities or None in (abilities[name].score, abilities[name].family)
    )
    yield from _of("no_ability", NOTE, "have no score, or no family, in --ability.", unknown)


def _of(check: str, level: str, message: str, names: Iterator[str] | Sequence[str]) -> Iterator[StyleFinding]:
    found = tuple(names)
    if found:
        yield StyleFinding(check, level, f"{len(found):,} {message}", len(found), found)


def _shown(subject: Subject) -> str:
    return f"{subject.item}: {subject.style}" if subject.style else subject.item


def _one_label(units: Sequence[Unit], choices: StyleChoices) -> bool:
    labels = {unit.label(choices) for unit in units} - {None}
    return len(units) > 1 and len(labels) == 1


def _same_reply(units: Sequence[Unit]) -> bool:
    drawn = [unit for unit in units if sum(unit.labels.values()) > 1]
    return bool(drawn) and sum(unit.same_reply for unit in drawn) >= 0.9 * len(drawn)


def _unreadable(units: Sequence[Unit]) -> bool:
    return sum(unit.unused for unit in units) > UNREADABLE * sum(unit.lines for unit in units)


def _fewer(units: Sequence[Unit]) -> list[Unit]:
    numbers = [sum(unit.labels.values()) for unit in units]
    usual = Counter(numbers).most_common(1)[0][0]
    return [unit for unit, number in zip(units, numbers, strict=True) if number < usual]


def _unbalanced(kind: str, counts: Counter[str | None]) -> Iterator[StyleFinding]:
    """One label for nearly all; of ranked texts, one position ahead of the other by more than chance."""
    there = {label: counts[label] for label in LABELS[kind]}
    total, most = sum(there.values()), max(there, key=lambda label: there[label])
    if total and there[most] > LOPSIDED * total:
        message = f"of {total:,} labels of people are '{most}': always saying so is hard to beat."
        yield StyleFinding("unbalanced_people", NOTE, f"{there[most]:,} {message}", there[most], (kind,))
    first, second = counts[A], counts[B]
    if kind == RANKING and first + second and binomtest(first, first + second).pvalue < UNBALANCED_P:
        message = f"of {first + second:,} pairs in which people prefer one text they prefer a: was the order drawn?"
        yield StyleFinding("position_of_people", NOTE, f"{first:,} {message}", first, (kind,))
