"""Checks of what is shown: the distractor, its author, the persona."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable

from scipy.stats import binomtest

from eval.asking.lines import folded
from eval.asking.verdict import Answer
from eval.recorded.personalized.judgements import RecordedJudgement, Recording
from eval.recorded.personalized.lookup import (
    LONG_ENOUGH,
    Said,
    is_survey,
    rare_words,
    repeated,
    said,
    together,
    tokens,
    where,
)

CONSTANT_SHARE = 0.5  # of the records, from which on one distractor is called constant
SHORTCUT_P = 0.001
_ABSENT = re.compile(r"\b([Nn]a[Nn]|NAN|None|null|undefined|N/A)\b")


def _constant(recording: Recording) -> tuple[list[RecordedJudgement], int]:
    """The records that share the most common distractor where it is most of them, and how many have a distractor."""
    have = where(recording, lambda each: any(map(folded, each.not_chosen)))
    showing: dict[str, list[RecordedJudgement]] = defaultdict(list)
    for judgement in have:
        for text in set(map(folded, judgement.not_chosen)) - {""}:
            showing[text].append(judgement)
    largest = max(showing.values(), key=len, default=[])
    return (largest if len(largest) > 2 and len(largest) >= CONSTANT_SHARE * len(have) else []), len(have)


def constant_distractor(recording: Recording) -> Said:
    same, have = _constant(recording)
    if not same or is_survey(recording):
        return None
    personas = len({each.persona for each in same})
    text = max(Counter(folded(text) for each in same for text in each.not_chosen).items(), key=lambda pair: pair[1])[0]
    whose = where(recording, lambda each: folded(each.target) == text)
    owner = f" It is the right answer of record {whose[0].line}." if whose else ""
    return (
        f"One and the same text is the wrong answer in {len(same):,} of {have:,} records with {personas:,} personas: "
        f"who has seen two of them knows the answer without the persona.{owner}"
    ), same


def duplicate_distractor(recording: Recording) -> Said:
    if is_survey(recording):
        return None
    constant = {each.line for each in _constant(recording)[0]}
    others = where(recording, lambda each: each.line not in constant and folded(each.distractor))
    groups = repeated(others, lambda each: folded(each.distractor))
    largest = max(map(len, groups), default=0)
    return said(
        together(groups),
        recording,
        f"share their distractor with another, up to {largest:,} with the same one: they are not independent.",
    )


def distractor_equals_target(recording: Recording) -> Said:
    found = where(recording, lambda each: each.texts and folded(each.texts[0]) == folded(each.texts[1]))
    return said(found, recording, "show the same text twice: any answer is as good.")


def distractor_by_the_user(recording: Recording) -> Said:
    written = {(folded(each.persona), folded(each.target)) for each in recording.judgements if each.target}

    def own(each: RecordedJudgement) -> bool:
        who = folded(each.persona)
        other = folded(each.distractor)
        return bool(
            who and other and ((who, other) in written or (each.neighbour and folded(each.neighbour[0]) == who))
        )

    found = where(recording, own) if recording.has_persona and not is_survey(recording) else []
    return said(
        found,
        recording,
        "have a distractor that the very same persona wrote, as other records or the neighbour's fields say: both "
        "answers are right.",
    )


def stale_neighbour(recording: Recording) -> Said:
    """Find records that keep the nearest neighbour of another persona; it must be looked up for each. If no field
    names it, it is the distractor and a 'user_info' that differs from the persona shown."""
    found: list[RecordedJudgement] = []
    field = _neighbour(recording)
    before: RecordedJudgement | None = None
    for each in recording.judgements:
        if before is not None and field(each) and field(each) == field(before):
            carried_on = bool(found) and found[-1] is before
            if carried_on or folded(each.persona) != folded(before.persona):
                found.append(each)
        before = each
    different = len({field(each) for each in found})
    return said(
        found,
        recording,
        f"carry the neighbour of the record before them though the persona changed ({different:,} different): it was "
        "not looked up again.",
    )


def _neighbour(recording: Recording) -> Callable[[RecordedJudgement], tuple[str, ...]]:
    if any(each.neighbour for each in recording.judgements):
        return lambda each: each.neighbour
    if 2 * len(_other_personas(recording)) > len(recording.judgements):
        return lambda each: (each.user_info or "", folded(each.distractor))
    return lambda each: ()


def _other_personas(recording: Recording) -> list[RecordedJudgement]:
    """The records whose own persona is not the one in their prompt."""
    return where(
        recording,
        lambda each: (
            each.user_info is not None
            and each.shown is not None
            and each.shown.persona is not None
            and folded(each.user_info) != folded(each.shown.persona)
        ),
    )


def stale_persona(recording: Recording) -> Said:
    found = _other_personas(recording)
    different = len({each.user_info for each in found})
    return said(
        found,
        recording,
        f"have another persona in 'user_info' than in their prompt ({different:,} different): do not group or ablate "
        "by that field.",
    )


def persona_without_fields(recording: Recording) -> Said:
    found = where(recording, lambda each: recording.has_persona and not re.search(r"\w", each.persona or ""))
    return said(found, recording, "have an empty persona.")


def persona_with_gaps(recording: Recording) -> Said:
    found = where(recording, lambda each: recording.has_persona and _ABSENT.search(each.persona or ""))
    return said(found, recording, "have a persona with a field that says nothing.")


def empty_text(recording: Recording) -> Said:
    found = where(recording, lambda each: each.texts and not all(map(folded, each.texts)))
    return said(found, recording, "show an empty text.")


def target_leaked(recording: Recording) -> Said:
    def leaked(each: RecordedJudgement) -> bool:
        around = (each.persona, each.question if each.question not in (each.texts or ()) else None)
        right = [folded(text) for text in (each.texts or () if each.gold is Answer.TIE else (each.target,))]
        return any(len(text) >= LONG_ENOUGH and text in folded(near) for text in right for near in around)

    found = where(recording, leaked)
    return said(found, recording, "contain the right text in the persona or the question.")


def persona_leaked(recording: Recording) -> Said:
    """Words of the persona that few personas have, in the right text and not in the wrong one."""
    if not recording.has_persona:
        return None
    words = rare_words(recording)

    def leaked(each: RecordedJudgement) -> bool:
        mine = words.get(folded(each.persona), frozenset())
        return bool(mine & set(tokens(each.target)) - set(tokens(each.distractor)))

    found = where(recording, leaked)
    return said(
        found,
        recording,
        "have a right text, and no wrong one, that repeats words of the persona: matching words is enough.",
    )


def length_tells_gold(recording: Recording) -> Said:
    return _tells(recording, lambda text: len(text.strip()), "shorter", "longer")


def frequency_tells_gold(recording: Recording) -> Said:
    shown = Counter(folded(text) for each in recording.judgements for text in each.texts or ())
    return _tells(recording, lambda text: shown[folded(text)], "one in fewer records", "one in more records")


def _tells(recording: Recording, measure: Callable[[str], int], less: str, more: str) -> Said:
    """Report that the right text has less, or more, of something more often than chance allows; None if not."""
    smaller: list[RecordedJudgement] = []
    larger: list[RecordedJudgement] = []
    for each in recording.judgements:
        if each.target is not None and each.distractor is not None:
            difference = measure(each.target) - measure(each.distractor)
            if difference:
                (larger if difference > 0 else smaller).append(each)
    found, how = (larger, more) if len(larger) > len(smaller) else (smaller, less)
    both = len(smaller) + len(larger)
    if not both or binomtest(len(found), both).pvalue >= SHORTCUT_P:
        return None
    return (
        f"The right text is the {how} in {len(found):,} of {both:,} records ({len(found) / both:.0%}): that needs no "
        "persona.",
        found,
    )
