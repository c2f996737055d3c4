"""Checks of the right answers, and of records that stand twice."""

from __future__ import annotations

from collections import Counter, defaultdict

from scipy.stats import binomtest

from eval.asking.lines import folded
from eval.asking.verdict import Answer, is_correct
from eval.recorded.personalized.judgements import RecordedJudgement, Recording
from eval.recorded.personalized.lookup import Said, is_survey, question_of, repeated, said, together, where
from eval.recorded.personalized.reading import verdict_of
from eval.recorded.personalized.reply import LOWEST
from eval.stats.proportions import UNBALANCED_P


def unbalanced_gold(recording: Recording) -> Said:
    counts = Counter(each.gold for each in recording.judgements)
    first, both = counts[Answer.A], counts[Answer.A] + counts[Answer.B]
    if not both or binomtest(first, both).pvalue >= UNBALANCED_P:
        return None
    more = Answer.A if 2 * first > both else Answer.B
    found = where(recording, lambda each: each.gold is more)
    return (
        f"The right answer is {more.value} in {len(found):,} of {both:,} records: always saying so is right in "
        f"{len(found) / both:.0%}."
    ), found


def gold_not_offered(recording: Recording) -> Said:
    tie = recording.asked.tie
    found = where(recording, lambda each: each.gold is Answer.TIE and not tie)
    return said(found, recording, "are ties, which the prompts do not offer.")


def acc_contradicts_gold(recording: Recording) -> Said:
    def contradicts(each: RecordedJudgement) -> bool:
        verdict = verdict_of(each, recording.asked, "recorded")
        return each.acc is not None and each.acc != is_correct(verdict, each.gold)

    found = where(recording, contradicts)
    return said(found, recording, "have an 'acc' that 'answer' and 'ground_truth' contradict; it is not used.")


def texts_contradict_prompt(recording: Recording) -> Said:
    """'asst_A' and 'asst_B' against what the prompt shows; instructions may follow the second text."""

    def contradicts(each: RecordedJudgement) -> bool:
        if not (each.texts and each.shown and each.shown.first is not None and each.shown.second is not None):
            return False
        shown = (folded(each.shown.first), folded(each.shown.second))
        return not all(seen.startswith(folded(text)) for seen, text in zip(shown, each.texts, strict=True))

    found = where(recording, contradicts)
    return said(found, recording, "have texts in 'asst_A' and 'asst_B' that their prompt shows otherwise.")


def gold_contradicts_gold(recording: Recording) -> Said:
    """The same person asked about the same two texts, whatever their order, with different right answers."""

    def right(each: RecordedJudgement) -> str:
        return "" if each.gold is Answer.TIE else folded(each.target)

    groups = [
        group
        for group in repeated(recording.judgements, question_of)
        if len({right(judgement) for judgement in group}) > 1
    ]
    found = together(groups)
    return said(found, recording, "ask of the same persona and texts as another, with another right answer.")


def target_claimed_twice(recording: Recording) -> Said:
    owners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in recording.judgements:
        if each.target and folded(each.persona):
            owners[folded(each.question), folded(each.target)].add(folded(each.persona))
    if not recording.has_persona or is_survey(recording):
        return None
    found = where(recording, lambda each: len(owners[folded(each.question), folded(each.target)]) > 1)
    return said(found, recording, "have a target that is several personas' own.")


def duplicate_id(recording: Recording) -> Said:
    groups = repeated(recording.judgements, lambda each: each.id)
    found = together(groups)
    return said(found, recording, f"share their id with another ({len(groups):,} ids).")


def duplicate_record(recording: Recording) -> Said:
    groups = repeated(recording.judgements, lambda each: question_of(each) or each.prompt)
    found = together(groups)
    return said(
        found,
        recording,
        f"ask what another asks, the texts swapped or not ({len(groups):,} questions): they count once as evidence.",
    )


def certainty_off_scale(recording: Recording) -> Said:
    asked = recording.asked
    found = where(
        recording, lambda each: asked.certainty and each.said is not None and not LOWEST <= each.said <= asked.highest
    )
    return said(found, recording, f"have a certainty outside {LOWEST} to {asked.highest}; it counts as none.")


def mixed_prompts(recording: Recording) -> Said:
    asked = recording.asked
    found = where(
        recording, lambda each: each.shown and (each.shown.tie, each.shown.certainty) != (asked.tie, asked.certainty)
    )
    return said(found, recording, "are asked otherwise than most of the file.")
