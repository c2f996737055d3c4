"""Checks of style judgements and ratings for faults; each finding names the judges or items and counts them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.recorded.style.ability import UNKNOWN, Abilities
from eval.recorded.style.choices import LEARNED, StyleOptions
from eval.recorded.style.judged import JudgedUnit, StyleJudgements
from eval.recorded.style.labels import CANNOT_TELL, DETECTION, LABELS, RANKING, A, B
from eval.recorded.style.people import People, Subject
from eval.report.checks import BROKEN, NOTE
from eval.stats.proportions import UNBALANCED_P
from pearl.stats.proportions import even_p

EXAMPLES = 20
UNREADABLE = 0.05  # of a judge's lines
LOPSIDED = 0.9  # of people's labels

MESSAGES: Mapping[str, tuple[str, str]] = {
    "one_label": (BROKEN, "give one label to every text: neither agreement nor F1 says what they can tell."),
    "one_draw": (NOTE, "were asked once, so that nothing says how far they agree with themselves."),
    "same_reply": (NOTE, "said the same, word by word, in all draws of nine texts in ten: was a temperature set?"),
    "unreadable": (NOTE, f"have no answer in more than {UNREADABLE:.0%} of their lines."),
    "few_draws": (NOTE, "have fewer draws with an answer than most of their judge's."),
    "half_draws": (NOTE, "have draws that were answered in one order of the texts only."),
    "rated_once": (NOTE, "were rated by one person."),
    "no_vote": (NOTE, "have no label that most people gave; they are in no F1."),
    "cant_tell": (NOTE, "have ratings of people who could not tell."),
    "not_rated": (NOTE, "were judged, and not rated by people."),
    "not_judged": (NOTE, "were rated by people, and not judged."),
    "no_persona": (NOTE, "say of no text for which persona it is judged: there is no sensitivity to personas."),
    "no_generator": (NOTE, "say of no text who wrote it: nothing tells whose texts are judged best."),
    "no_request": (NOTE, "say of no pair what it answers: intervals take pairs of one request for independent."),
    "no_three_labels": (NOTE, "tell two labels apart, and people three: ask with --labels 3 to compare all three."),
    "no_ability": (NOTE, "have no score, or no family, in --ability."),
}


@dataclass(frozen=True, slots=True)
class StyleFinding:
    """A fault that a check found in judgements or ratings."""

    check: str
    level: str
    message: str
    count: int  # of judges or items
    of: tuple[str, ...]  # their names, not all where a check names a kind

    def to_json(self) -> dict[str, Any]:
        return {
            "check": self.check,
            "level": self.level,
            "count": self.count,
            "message": self.message,
            "of": list(self.of[:EXAMPLES]),
        }


def check_judged(judged: StyleJudgements, options: StyleOptions) -> Iterator[StyleFinding]:
    """Report faults in the judgements of each judge and scheme, such as one label for every text."""
    groups = _by_judge(judged)
    faults: Mapping[str, Callable[[Sequence[JudgedUnit]], bool]] = {
        "one_label": lambda units: len(units) > 1 and len({unit.label(options) for unit in units} - {None}) == 1,
        "one_draw": lambda units: max(unit.answered for unit in units) < 2,
        "same_reply": _same_reply,
        "unreadable": lambda units: sum(unit.unused for unit in units) > UNREADABLE * sum(unit.lines for unit in units),
    }
    for check, holds in faults.items():
        yield from _of(check, [name for name, units in groups.items() if holds(units)])
    usual = {name: Counter(unit.answered for unit in units).most_common(1)[0][0] for name, units in groups.items()}
    few = [_shown(unit.subject) for name, units in groups.items() for unit in units if unit.answered < usual[name]]
    yield from _of("few_draws", few)
    yield from _of("half_draws", [_shown(unit.subject) for unit in judged.units if unit.half_draws])


def check_absent(judged: StyleJudgements) -> Iterator[StyleFinding]:
    """Report fields that figures depend on, but that all judgements of a judge and scheme lack."""
    groups = _by_judge(judged)

    def without(said: Callable[[JudgedUnit], object]) -> list[str]:
        return [name for name, units in groups.items() if not any(map(said, units))]

    # a text may be written for nobody, and helpfulness is judged by nobody's styles
    yield from _of("no_persona", without(lambda unit: unit.about.persona or not unit.key.style))
    yield from _of("no_generator", without(lambda unit: unit.about.generators))
    yield from _of("no_request", without(lambda unit: unit.about.request or unit.key.kind != RANKING))


def check_people(people: People, labels: Mapping[Subject, str | None]) -> Iterator[StyleFinding]:
    """Report faults of people's ratings, such as one label for nearly every text, or too many choices of text a."""
    ratings = people.ratings.items()
    yield from _of("rated_once", [_shown(subject) for subject, counts in ratings if sum(counts.values()) == 1])
    yield from _of("no_vote", [_shown(subject) for subject, label in labels.items() if label is None])
    yield from _of("cant_tell", [_shown(subject) for subject, counts in ratings if counts.get(CANNOT_TELL)])
    for kind in people.scales:
        counts = Counter(label for subject, label in labels.items() if subject.kind == kind)
        most = max(LABELS[kind], key=lambda label: counts[label])
        total = sum(counts[label] for label in LABELS[kind])
        if counts[most] > LOPSIDED * total:
            message = f"of {total:,} labels of people are '{most}': always saying so is hard to beat."
            yield StyleFinding("unbalanced_people", NOTE, f"{counts[most]:,} {message}", counts[most], (kind,))
        first, both = counts[A], counts[A] + counts[B]
        if kind == RANKING and even_p(first, both - first) < UNBALANCED_P:
            message = f"of {both:,} pairs in which people prefer one text they prefer a: was the order drawn?"
            yield StyleFinding("position_of_people", NOTE, f"{first:,} {message}", first, (kind,))


def check_matched(judged: StyleJudgements, people: People, options: StyleOptions) -> Iterator[StyleFinding]:
    """Report texts that only judges or only people rated, and judges with two labels if people have three."""
    seen = {unit.subject for unit in judged.units}
    yield from _of("not_rated", sorted({_shown(subject) for subject in seen - people.ratings.keys()}))
    yield from _of("not_judged", [_shown(subject) for subject in people.ratings if subject not in seen])
    detected = [unit for unit in judged.units if unit.key.kind == DETECTION]
    has_levels = any(unit.scores if options.bins == LEARNED else unit.levels for unit in detected)
    if people.levels(options) and not has_levels:
        yield from _of("no_three_labels", sorted({f"{unit.key.judge}, {unit.key.scheme}" for unit in detected}))


def check_abilities(judged: StyleJudgements, abilities: Abilities) -> Iterator[StyleFinding]:
    models = {name for unit in judged.units for name in (unit.key.judge, *unit.about.generators)}
    known = {name: abilities.get(name, UNKNOWN) for name in models}
    yield from _of("no_ability", sorted(name for name, of in known.items() if None in (of.score, of.family)))


def _by_judge(judged: StyleJudgements) -> Mapping[str, Sequence[JudgedUnit]]:
    groups: dict[str, list[JudgedUnit]] = defaultdict(list)
    for unit in judged.units:
        groups[f"{unit.key.judge}, {unit.key.scheme}"].append(unit)
    return groups


def _of(check: str, names: Sequence[str]) -> Iterator[StyleFinding]:
    """The finding about these judges or items; nothing if there are none."""
    if names:
        level, message = MESSAGES[check]
        yield StyleFinding(check, level, f"{len(names):,} {message}", len(names), tuple(names))


def _shown(subject: Subject) -> str:
    return f"{subject.item}: {subject.style}" if subject.style else subject.item


def _same_reply(units: Sequence[JudgedUnit]) -> bool:
    drawn = [unit for unit in units if unit.answered > 1]
    return bool(drawn) and sum(unit.same_reply for unit in drawn) >= 0.9 * len(drawn)
