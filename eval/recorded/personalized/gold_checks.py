"""Checks of the right answers, and of records that stand twice."""

from __future__ import annotations

from collections import Counter, defaultdict

from eval.asking.lines import folded
from eval.asking.verdict import Answer, is_correct
from eval.recorded.personalized.judgements import RecordedJudgement, Recording
from eval.recorded.personalized.lookup import Said, is_survey, question_of, repeated, said, together, where
from eval.recorded.personalized.reading import verdict_of
from eval.recorded.personalized.reply import LOWEST
from eval.stats.proportions import UNBALANCED_P
from pearl.proportions import even_p


def unbalanced_gold(recording: Recording) -> Said:
    counts = Counter(record.gold for record in recording.judgements)
    first, both = counts[Answer.A], counts[Answer.A] + counts[Answer.B]
    if even_p(first, both - first) >= UNBALANCED_P:
        return None
    more = Answer.A if 2 * first > both else Answer.B
    records = where(recording, lambda record: record.gold is more)
    return (
        f"The right answer is {more.value} in {len(records):,} of {both:,} records: always saying so is right in "
        f"{len(records) / both:.0%}."
    ), records


def gold_not_offered(recording: Recording) -> Said:
    tie = recording.asked.tie
    records = where(recording, lambda record: record.gold is Answer.TIE and not tie)
    return said(records, recording, "are ties, which the prompts do not offer.")


def acc_contradicts_gold(recording: Recording) -> Said:
    def contradicts(record: RecordedJudgement) -> bool:
        verdict = verdict_of(record, recording.asked, "recorded")
        return record.acc is not None and record.acc != is_correct(verdict, record.gold)

    records = where(recording, contradicts)
    return said(records, recording, "have an 'acc' that 'answer' and 'ground_truth' contradict; it is not used.")


def texts_contradict_prompt(recording: Recording) -> Said:
    """'asst_A' and 'asst_B' against what the prompt shows; instructions may follow the second text."""

    def contradicts(record: RecordedJudgement) -> bool:
        if not (record.texts and record.shown and record.shown.first is not None and record.shown.second is not None):
            return False
        shown = (folded(record.shown.first), folded(record.shown.second))
        return not all(seen.startswith(folded(text)) for seen, text in zip(shown, record.texts, strict=True))

    records = where(recording, contradicts)
    return said(records, recording, "have texts in 'asst_A' and 'asst_B' that their prompt shows otherwise.")


def gold_contradicts_gold(recording: Recording) -> Said:
    """The same person asked about the same two texts, whatever their order, with different right answers."""

    def right(record: RecordedJudgement) -> str:
        return "" if record.gold is Answer.TIE else folded(record.target)

    groups = [
        group
        for group in repeated(recording.judgements, question_of)
        if len({right(judgement) for judgement in group}) > 1
    ]
    records = together(groups)
    return said(records, recording, "ask of the same persona and texts as another, with another right answer.")


def target_claimed_twice(recording: Recording) -> Said:
    owners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for record in recording.judgements:
        if record.target and folded(record.persona):
            owners[folded(record.question), folded(record.target)].add(folded(record.persona))
    if not recording.has_persona or is_survey(recording):
        return None
    records = where(recording, lambda record: len(owners[folded(record.question), folded(record.target)]) > 1)
    return said(records, recording, "have a target that is several personas' own.")


def duplicate_id(recording: Recording) -> Said:
    groups = repeated(recording.judgements, lambda record: record.id)
    records = together(groups)
    return said(records, recording, f"share their id with another ({len(groups):,} ids).")


def duplicate_record(recording: Recording) -> Said:
    groups = repeated(recording.judgements, lambda record: question_of(record) or record.prompt)
    records = together(groups)
    return said(
        records,
        recording,
        f"ask what another asks, the texts swapped or not ({len(groups):,} questions): they count once as evidence.",
    )


def certainty_off_scale(recording: Recording) -> Said:
    asked = recording.asked
    records = where(
        recording,
        lambda record: asked.certainty and record.said is not None and not LOWEST <= record.said <= asked.highest,
    )
    return said(records, recording, f"have a certainty outside {LOWEST} to {asked.highest}; it counts as none.")


def mixed_prompts(recording: Recording) -> Said:
    asked = recording.asked
    records = where(
        recording,
        lambda record: record.shown and (record.shown.tie, record.shown.certainty) != (asked.tie, asked.certainty),
    )
    return said(records, recording, "are asked otherwise than most of the file.")
