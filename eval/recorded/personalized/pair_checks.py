"""Checks of what is shown: the distractor, its author, the persona."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable

from eval.asking.lines import folded
from eval.asking.verdict import Answer
from eval.recorded.personalized.judgements import RecordedJudgement, Recording
from eval.recorded.personalized.lookup import (
    LONG_ENOUGH,
    Fault,
    fault,
    is_survey,
    persona_words,
    repeated,
    together,
    tokens,
    where,
)
from pearl.proportions import even_p

CONSTANT_SHARE = 0.5  # of the records, from which on one distractor is called constant
SHORTCUT_P = 0.001
_ABSENT = re.compile(r"\b([Nn]a[Nn]|NAN|None|null|undefined|N/A)\b")


def _constant(recording: Recording) -> tuple[list[RecordedJudgement], int]:
    """The records that share the most common distractor where it is most of them, and how many have a distractor."""
    have = where(recording, lambda record: any(map(folded, record.not_chosen)))
    showing: dict[str, list[RecordedJudgement]] = defaultdict(list)
    for record in have:
        for text in set(map(folded, record.not_chosen)) - {""}:
            showing[text].append(record)
    largest = max(showing.values(), key=len, default=[])
    return (largest if len(largest) > 2 and len(largest) >= CONSTANT_SHARE * len(have) else []), len(have)


def constant_distractor(recording: Recording) -> Fault:
    same, have = _constant(recording)
    if not same or is_survey(recording):
        return None
    personas = len({record.persona for record in same})
    ((text, _),) = Counter(folded(text) for record in same for text in record.not_chosen).most_common(1)
    whose = where(recording, lambda record: folded(record.target) == text)
    owner = f" It is the right answer of record {whose[0].line}." if whose else ""
    return (
        f"One and the same text is the wrong answer in {len(same):,} of {have:,} records with {personas:,} personas: "
        f"who has seen two of them knows the answer without the persona.{owner}"
    ), same


def duplicate_distractor(recording: Recording) -> Fault:
    if is_survey(recording):
        return None
    constant = {record.line for record in _constant(recording)[0]}
    others = where(recording, lambda record: record.line not in constant and folded(record.distractor))
    groups = repeated(others, lambda record: folded(record.distractor))
    largest = max(map(len, groups), default=0)
    what = f"share their distractor with another, up to {largest:,} with the same one: they are not independent."
    return fault(together(groups), recording, what)


def distractor_equals_target(recording: Recording) -> Fault:
    records = where(recording, lambda record: record.texts and len(set(map(folded, record.texts))) == 1)
    return fault(records, recording, "show the same text twice: any answer is as good.")


def distractor_by_the_user(recording: Recording) -> Fault:
    written = {(folded(record.persona), folded(record.target)) for record in recording.judgements if record.target}

    def own(record: RecordedJudgement) -> bool:
        persona, other = folded(record.persona), folded(record.distractor)
        by_neighbour = record.neighbour and folded(record.neighbour[0]) == persona
        return bool(persona and other and ((persona, other) in written or by_neighbour))

    records = where(recording, own) if recording.has_persona and not is_survey(recording) else []
    return fault(
        records,
        recording,
        "have a distractor that the very same persona wrote, as other records or the neighbour's fields say: both "
        "answers are right.",
    )


def stale_neighbour(recording: Recording) -> Fault:
    """Find records that keep the nearest neighbour of another persona; it must be looked up for each. If no field
    names it, it is the distractor and a 'user_info' that differs from the persona shown."""
    records: list[RecordedJudgement] = []
    field = _neighbour(recording)
    before: RecordedJudgement | None = None
    for record in recording.judgements:
        if before is not None and field(record) and field(record) == field(before):
            carried_on = bool(records) and records[-1] is before
            if carried_on or folded(record.persona) != folded(before.persona):
                records.append(record)
        before = record
    different = len({field(record) for record in records})
    return fault(
        records,
        recording,
        f"carry the neighbour of the record before them though the persona changed ({different:,} different): it was "
        "not looked up again.",
    )


def _neighbour(recording: Recording) -> Callable[[RecordedJudgement], tuple[str, ...]]:
    if any(record.neighbour for record in recording.judgements):
        return lambda record: record.neighbour
    if 2 * len(_other_personas(recording)) > len(recording.judgements):
        return lambda record: (record.user_info or "", folded(record.distractor))
    return lambda record: ()


def _other_personas(recording: Recording) -> list[RecordedJudgement]:
    """The records whose own persona is not the one in their prompt."""

    def differs(record: RecordedJudgement) -> bool:
        shown = record.shown and record.shown.persona
        return None not in (record.user_info, shown) and folded(record.user_info) != folded(shown)

    return where(recording, differs)


def stale_persona(recording: Recording) -> Fault:
    records = _other_personas(recording)
    different = len({record.user_info for record in records})
    what = (
        f"have another persona in 'user_info' than in their prompt ({different:,} different): do not group or ablate "
        "by that field."
    )
    return fault(records, recording, what)


def persona_without_fields(recording: Recording) -> Fault:
    records = where(recording, lambda record: recording.has_persona and not re.search(r"\w", record.persona or ""))
    return fault(records, recording, "have an empty persona.")


def persona_with_gaps(recording: Recording) -> Fault:
    records = where(recording, lambda record: recording.has_persona and _ABSENT.search(record.persona or ""))
    return fault(records, recording, "have a persona with a field that says nothing.")


def empty_text(recording: Recording) -> Fault:
    records = where(recording, lambda record: record.texts and not all(map(folded, record.texts)))
    return fault(records, recording, "show an empty text.")


def target_leaked(recording: Recording) -> Fault:
    def leaked(record: RecordedJudgement) -> bool:
        around = (record.persona, record.question if record.question not in (record.texts or ()) else None)
        right = [folded(text) for text in (record.texts or () if record.gold is Answer.TIE else (record.target,))]
        return any(len(text) >= LONG_ENOUGH and text in folded(near) for text in right for near in around)

    return fault(where(recording, leaked), recording, "contain the right text in the persona or the question.")


def persona_leaked(recording: Recording) -> Fault:
    """Words of the persona that few personas have, in the right text and not in the wrong one."""
    if not recording.has_persona:
        return None
    own = persona_words(recording)
    return fault(
        where(recording, lambda record: own(record) & set(tokens(record.target)) - set(tokens(record.distractor))),
        recording,
        "have a right text, and no wrong one, that repeats words of the persona: matching words is enough.",
    )


def length_tells_gold(recording: Recording) -> Fault:
    return _tells(recording, lambda text: len(text.strip()), "shorter", "longer")


def frequency_tells_gold(recording: Recording) -> Fault:
    shown = Counter(folded(text) for record in recording.judgements for text in record.texts or ())
    return _tells(recording, lambda text: shown[folded(text)], "one in fewer records", "one in more records")


def _tells(recording: Recording, measure: Callable[[str], int], less: str, more: str) -> Fault:
    """Report that the right text has less, or more, of something more often than chance allows; None if not."""
    smaller: list[RecordedJudgement] = []
    larger: list[RecordedJudgement] = []
    for record in recording.judgements:
        if record.target is not None and record.distractor is not None:
            difference = measure(record.target) - measure(record.distractor)
            if difference:
                (larger if difference > 0 else smaller).append(record)
    records, how = (larger, more) if len(larger) > len(smaller) else (smaller, less)
    both = len(smaller) + len(larger)
    if even_p(len(smaller), len(larger)) >= SHORTCUT_P:
        return None
    return (
        f"The right text is the {how} in {len(records):,} of {both:,} records ({len(records) / both:.0%}): that needs "
        "no persona."
    ), records
