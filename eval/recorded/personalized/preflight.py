"""Checks of a recording for faults, before figures are computed. Each check names the faulty records by line, from 1.

*Broken* records cannot measure any judge; *notes* should be known to those who read the figures.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise

from eval.asking.lines import folded
from eval.asking.verdict import Answer, is_correct
from eval.recorded.personalized.judgements import (
    LONG_ENOUGH,
    Fault,
    RecordedJudgement,
    Recording,
    fault,
    is_survey,
    persona_words,
    question_of,
    repeated,
    together,
    tokens,
    where,
)
from eval.recorded.personalized.presets import RECORDED
from eval.recorded.personalized.reading import verdict_of
from eval.recorded.personalized.reply import LOWEST
from eval.report.checks import BROKEN, NOTE, Check
from eval.stats.proportions import UNBALANCED_P
from pearl.stats.proportions import even_p

CONSTANT_SHARE = 0.5  # of the records, from which on one distractor is called constant
SHORTCUT_P = 0.001
_ABSENT = re.compile(r"\b([Nn]a[Nn]|NAN|None|null|undefined|N/A)\b")


def record_check(
    name: str, level: str, description: str, what: str, holds: Callable[[RecordedJudgement, Recording], object]
) -> Check[Recording]:
    """Make a check that tests each record by ``holds`` and reports 'N of M records WHAT' for the records that hold."""

    def find(recording: Recording) -> Fault:
        return fault(where(recording, lambda record: holds(record, recording)), recording, what)

    return Check(name, level, description, find)


# the distractor and its author


def _constant(recording: Recording) -> tuple[list[RecordedJudgement], int]:
    """The records with the most common distractor, if most have it; and the number of records with any distractor."""
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


def distractor_by_the_user(recording: Recording) -> Fault:
    written = {(folded(record.persona), folded(record.target)) for record in recording.judgements if record.target}

    def by_same_person(record: RecordedJudgement) -> bool:
        persona, other = folded(record.persona), folded(record.distractor)
        by_neighbour = record.neighbour and folded(record.neighbour[0]) == persona
        return bool(persona and other and ((persona, other) in written or by_neighbour))

    what = "have a distractor that the very same persona wrote, as other records or the neighbour's fields say: both "
    records = where(recording, by_same_person) if recording.has_persona and not is_survey(recording) else []
    return fault(records, recording, what + "answers are right.")


# the persona


def _has_other_persona(record: RecordedJudgement) -> bool:
    """True if the record's field ``user_info`` differs from the persona in its prompt."""
    shown = record.shown and record.shown.persona
    return None not in (record.user_info, shown) and folded(record.user_info) != folded(shown)


def stale_neighbour(recording: Recording) -> Fault:
    """Find records that repeat the nearest neighbour of the record before, though the persona changed. If no neighbour
    is recorded, distractors are compared, provided that 'user_info' mostly differs from the prompt's persona."""
    if any(record.neighbour for record in recording.judgements):
        neighbours = [record.neighbour for record in recording.judgements]
    elif 2 * len(where(recording, _has_other_persona)) > len(recording.judgements):
        neighbours = [(record.user_info or "", folded(record.distractor)) for record in recording.judgements]
    else:
        return None
    stale: dict[RecordedJudgement, tuple[str, ...]] = {}
    for (before, last), (record, neighbour) in pairwise(zip(recording.judgements, neighbours, strict=True)):
        if neighbour and neighbour == last and (before in stale or folded(record.persona) != folded(before.persona)):
            stale[record] = neighbour
    return fault(
        list(stale),
        recording,
        f"carry the neighbour of the record before them though the persona changed ({len(set(stale.values())):,} "
        "different): it was not looked up again.",
    )


def stale_persona(recording: Recording) -> Fault:
    records = where(recording, _has_other_persona)
    different = len({record.user_info for record in records})
    what = (
        f"have another persona in 'user_info' than in their prompt ({different:,} different): do not group or ablate "
    )
    return fault(records, recording, what + "by that field.")


# the right answers, and records that stand twice


def unbalanced_gold(recording: Recording) -> Fault:
    counts = Counter(record.gold for record in recording.judgements)
    first, second = counts[Answer.A], counts[Answer.B]
    if even_p(first, second) >= UNBALANCED_P:
        return None
    more = Answer.A if first > second else Answer.B
    both = first + second
    return (
        f"The right answer is {more.value} in {counts[more]:,} of {both:,} records: always saying so is right in "
        f"{counts[more] / both:.0%}."
    ), where(recording, lambda record: record.gold is more)


def _contradicts_acc(record: RecordedJudgement, recording: Recording) -> bool:
    verdict = verdict_of(record, recording.form, RECORDED)
    return record.acc is not None and record.acc != is_correct(verdict, record.gold)


def _contradicts_prompt(record: RecordedJudgement, recording: Recording) -> bool:
    """True if the fields 'asst_A' and 'asst_B' are not the beginnings of the two texts in the prompt."""
    seen = (record.shown.first, record.shown.second) if record.shown else ()
    if not seen or None in seen or not record.texts:
        return False
    return not all(folded(shown).startswith(folded(text)) for shown, text in zip(seen, record.texts, strict=True))


def gold_contradicts_gold(recording: Recording) -> Fault:
    """Find records with the same persona and texts, in any order, but different right answers."""
    asked_again = repeated(recording.judgements, question_of)
    groups = [group for group in asked_again if len({folded(record.target) for record in group}) > 1]
    what = "ask of the same persona and texts as another, with another right answer."
    return fault(together(groups), recording, what)


def target_claimed_twice(recording: Recording) -> Fault:
    if not recording.has_persona or is_survey(recording):
        return None
    owners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for record in recording.judgements:
        if record.target and folded(record.persona):
            owners[folded(record.question), folded(record.target)].add(folded(record.persona))
    records = where(recording, lambda record: len(owners[folded(record.question), folded(record.target)]) > 1)
    return fault(records, recording, "have a target that is several personas' own.")


def duplicate_id(recording: Recording) -> Fault:
    groups = repeated(recording.judgements, lambda record: record.id)
    return fault(together(groups), recording, f"share their id with another ({len(groups):,} ids).")


def duplicate_record(recording: Recording) -> Fault:
    groups = repeated(recording.judgements, lambda record: question_of(record) or record.prompt)
    what = f"ask what another asks, the texts swapped or not ({len(groups):,} questions): they count once as evidence."
    return fault(together(groups), recording, what)


def certainty_off_scale(recording: Recording) -> Fault:
    scale = range(LOWEST, recording.form.highest + 1)
    records = where(recording, lambda record: record.certainty is not None and record.certainty not in scale)
    what = f"have a certainty outside {LOWEST} to {recording.form.highest}; it counts as none."
    return fault(records if recording.form.certainty else [], recording, what)


# what tells the right answer without a judge


def _is_leaked(record: RecordedJudgement, recording: Recording) -> bool:
    around = (record.persona, record.question if record.question not in (record.texts or ()) else None)
    right = (record.texts or ()) if record.gold is Answer.TIE else (record.target,)
    long = [text for text in map(folded, right) if len(text) >= LONG_ENOUGH]
    return any(text in folded(near) for text in long for near in around)


def persona_leaked(recording: Recording) -> Fault:
    """Find records whose right text, unlike the wrong one, repeats distinctive words of the persona."""
    if not recording.has_persona:
        return None
    words_of = persona_words(recording)
    records = where(
        recording, lambda record: words_of(record) & set(tokens(record.target)) - set(tokens(record.distractor))
    )
    what = "have a right text, and no wrong one, that repeats words of the persona: matching words is enough."
    return fault(records, recording, what)


def length_tells_gold(recording: Recording) -> Fault:
    return _tells(recording, lambda text: len(text.strip()), "shorter", "longer")


def frequency_tells_gold(recording: Recording) -> Fault:
    shown = Counter(folded(text) for record in recording.judgements for text in record.texts or ())
    return _tells(recording, lambda text: shown[folded(text)], "one in fewer records", "one in more records")


def _tells(recording: Recording, measure: Callable[[str], int], less: str, more: str) -> Fault:
    """Report if the right text has ``less`` or ``more`` of a ``measure`` more often than chance allows; None if not."""
    sides: dict[str, list[RecordedJudgement]] = {less: [], more: []}
    for record in recording.judgements:
        if record.target is not None and record.distractor is not None:
            difference = measure(record.target) - measure(record.distractor)
            sides[more if difference > 0 else less] += [record] if difference else []
    both = len(sides[less]) + len(sides[more])
    if even_p(len(sides[less]), len(sides[more])) >= SHORTCUT_P:
        return None
    how, records = max(sides.items(), key=lambda side: len(side[1]))
    return (
        f"The right text is the {how} in {len(records):,} of {both:,} records ({len(records) / both:.0%}): that needs "
        "no persona."
    ), records


CHECKS: tuple[Check[Recording], ...] = (
    Check("constant_distractor", BROKEN, "One wrong answer for half of the records or more.", constant_distractor),
    Check("duplicate_distractor", NOTE, "A wrong answer that several records share.", duplicate_distractor),
    record_check(
        *("distractor_equals_target", BROKEN, "Both texts are the same."),
        "show the same text twice: any answer is as good.",
        lambda record, recording: record.texts and len(set(map(folded, record.texts))) == 1,
    ),
    Check("distractor_by_the_user", BROKEN, "The wrong answer is the persona's own too.", distractor_by_the_user),
    Check("stale_neighbour", BROKEN, "The neighbour of another persona.", stale_neighbour),
    Check("stale_persona", BROKEN, "The record's persona is not the one that was shown.", stale_persona),
    record_check(
        *("persona_without_fields", BROKEN, "A persona that says nothing."),
        "have an empty persona.",
        lambda record, recording: recording.has_persona and not re.search(r"\w", record.persona or ""),
    ),
    record_check(
        *("persona_with_gaps", NOTE, "A persona with a field that is not there."),
        "have a persona with a field that says nothing.",
        lambda record, recording: recording.has_persona and _ABSENT.search(record.persona or ""),
    ),
    record_check(
        *("empty_text", BROKEN, "A text of nothing."),
        "show an empty text.",
        lambda record, recording: record.texts and not all(map(folded, record.texts)),
    ),
    Check("unbalanced_gold", BROKEN, "One position is right more often than chance allows.", unbalanced_gold),
    record_check(
        *("gold_not_offered", BROKEN, "A tie where none is offered."),
        "are ties, which the prompts do not offer.",
        lambda record, recording: record.gold is Answer.TIE and not recording.form.tie,
    ),
    record_check(
        *("acc_contradicts_gold", BROKEN, "'acc' is not what the answer and the gold say."),
        "have an 'acc' that 'answer' and 'ground_truth' contradict; it is not used.",
        _contradicts_acc,
    ),
    record_check(
        *("texts_contradict_prompt", BROKEN, "The fields show other texts than the prompt."),
        "have texts in 'asst_A' and 'asst_B' that their prompt shows otherwise.",
        _contradicts_prompt,
    ),
    Check("gold_contradicts_gold", BROKEN, "The same question with two right answers.", gold_contradicts_gold),
    Check("target_claimed_twice", BROKEN, "One text, several authors.", target_claimed_twice),
    Check("duplicate_id", BROKEN, "An id that several records have.", duplicate_id),
    Check("duplicate_record", NOTE, "The same question again.", duplicate_record),
    record_check(
        *("target_leaked", BROKEN, "The right text stands in the question or the persona."),
        "contain the right text in the persona or the question.",
        _is_leaked,
    ),
    Check("persona_leaked", NOTE, "Words of the persona stand in the right text only.", persona_leaked),
    Check("length_tells_gold", NOTE, "The right text is mostly the longer, or the shorter.", length_tells_gold),
    Check(
        "frequency_tells_gold",
        NOTE,
        "The right text is mostly the one shown more often, or less.",
        frequency_tells_gold,
    ),
    Check("certainty_off_scale", NOTE, "A certainty outside 1 to 100.", certainty_off_scale),
    record_check(
        *("mixed_prompts", NOTE, "Records that are asked in different ways."),
        "are asked otherwise than most of the file.",
        lambda record, recording: (
            record.shown
            and (bool(record.shown.tie), record.shown.certainty) != (recording.form.tie, recording.form.certainty)
        ),
    ),
)
