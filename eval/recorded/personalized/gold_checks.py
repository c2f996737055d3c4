"""Checks of the right answers, and of records that stand twice."""

from __future__ import annotations

from collections import Counter, defaultdict

from eval.asking.lines import folded
from eval.asking.verdict import Answer, is_correct
from eval.recorded.personalized.judgements import RecordedJudgement, Recording
from eval.recorded.personalized.lookup import Fault, fault, is_survey, question_of, repeated, together, where
from eval.recorded.personalized.reading import verdict_of
from eval.recorded.personalized.reply import LOWEST
from eval.stats.proportions import UNBALANCED_P
from pearl.proportions import even_p


def unbalanced_gold(recording: Recording) -> Fault:
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


def gold_not_offered(recording: Recording) -> Fault:
    records = where(recording, lambda record: record.gold is Answer.TIE and not recording.asked.tie)
    return fault(records, recording, "are ties, which the prompts do not offer.")


def acc_contradicts_gold(recording: Recording) -> Fault:
    def contradicts(record: RecordedJudgement) -> bool:
        verdict = verdict_of(record, recording.asked, "recorded")
        return record.acc is not None and record.acc != is_correct(verdict, record.gold)

    what = "have an 'acc' that 'answer' and 'ground_truth' contradict; it is not used."
    return fault(where(recording, contradicts), recording, what)


def texts_contradict_prompt(recording: Recording) -> Fault:
    """'asst_A' and 'asst_B' against what the prompt shows; instructions may follow the second text."""

    def contradicts(record: RecordedJudgement) -> bool:
        if not (record.texts and record.shown and record.shown.first is not None and record.shown.second is not None):
            return False
        shown = (folded(record.shown.first), folded(record.shown.second))
        return not all(seen.startswith(folded(text)) for seen, text in zip(shown, record.texts, strict=True))

    what = "have texts in 'asst_A' and 'asst_B' that their prompt shows otherwise."
    return fault(where(recording, contradicts), recording, what)


def gold_contradicts_gold(recording: Recording) -> Fault:
    """The same person asked about the same two texts, whatever their order, with different right answers."""
    asked_again = repeated(recording.judgements, question_of)
    groups = [group for group in asked_again if len({folded(record.target) for record in group}) > 1]
    return fault(
        together(groups), recording, "ask of the same persona and texts as another, with another right answer."
    )


def target_claimed_twice(recording: Recording) -> Fault:
    owners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for record in recording.judgements:
        if record.target and folded(record.persona):
            owners[folded(record.question), folded(record.target)].add(folded(record.persona))
    if not recording.has_persona or is_survey(recording):
        return None
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
    asked = recording.asked
    records = where(
        recording,
        lambda record: (
            asked.certainty and record.certainty is not None and not LOWEST <= record.certainty <= asked.highest
        ),
    )
    return fault(records, recording, f"have a certainty outside {LOWEST} to {asked.highest}; it counts as none.")


def mixed_prompts(recording: Recording) -> Fault:
    asked = (recording.asked.tie, recording.asked.certainty)
    records = where(recording, lambda record: record.shown and (record.shown.tie, record.shown.certainty) != asked)
    return fault(records, recording, "are asked otherwise than most of the file.")
