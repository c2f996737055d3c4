"""Faults of pairs, found before a judge sees them: checks declared as data, each of which says which records and how
many. A record is named by its line, counted from 1.

Two things are told apart: what is *broken* (no judge can be measured by these records), and what is to be *noted* when
figures are read.
"""

from __future__ import annotations

from eval.recorded.personalized import gold_checks as golds
from eval.recorded.personalized import pair_checks as pairs
from eval.recorded.personalized.judgements import Recording
from eval.recorded.personalized.misplaced import misplaced_answers
from eval.report.checks import BROKEN, NOTE, Check

CHECKS: tuple[Check[Recording], ...] = (
    Check(
        "constant_distractor", BROKEN, "One wrong answer for half of the records or more.", pairs.constant_distractor
    ),
    Check("duplicate_distractor", NOTE, "A wrong answer that several records share.", pairs.duplicate_distractor),
    Check("distractor_equals_target", BROKEN, "Both texts are the same.", pairs.distractor_equals_target),
    Check("distractor_by_the_user", BROKEN, "The wrong answer is the persona's own too.", pairs.distractor_by_the_user),
    Check("misplaced_answers", BROKEN, "Answers that belong to another record.", misplaced_answers),
    Check("stale_neighbour", BROKEN, "The neighbour of another persona.", pairs.stale_neighbour),
    Check("stale_persona", BROKEN, "The record's persona is not the one that was shown.", pairs.stale_persona),
    Check("persona_without_fields", BROKEN, "A persona that says nothing.", pairs.persona_without_fields),
    Check("persona_with_gaps", NOTE, "A persona with a field that is not there.", pairs.persona_with_gaps),
    Check("empty_text", BROKEN, "A text of nothing.", pairs.empty_text),
    Check("unbalanced_gold", BROKEN, "One position is right more often than chance allows.", golds.unbalanced_gold),
    Check("gold_not_offered", BROKEN, "A tie where none is offered.", golds.gold_not_offered),
    Check("acc_contradicts_gold", BROKEN, "'acc' is not what the answer and the gold say.", golds.acc_contradicts_gold),
    Check(
        "texts_contradict_prompt", BROKEN, "The fields show other texts than the prompt.", golds.texts_contradict_prompt
    ),
    Check("gold_contradicts_gold", BROKEN, "The same question with two right answers.", golds.gold_contradicts_gold),
    Check("target_claimed_twice", BROKEN, "One text, several authors.", golds.target_claimed_twice),
    Check("duplicate_id", BROKEN, "An id that several records have.", golds.duplicate_id),
    Check("duplicate_record", NOTE, "The same question again.", golds.duplicate_record),
    Check("target_leaked", BROKEN, "The right text stands in the question or the persona.", pairs.target_leaked),
    Check("persona_leaked", NOTE, "Words of the persona stand in the right text only.", pairs.persona_leaked),
    Check("length_tells_gold", NOTE, "The right text is mostly the longer, or the shorter.", pairs.length_tells_gold),
    Check(
        "frequency_tells_gold",
        NOTE,
        "The right text is mostly the one shown more often, or less.",
        pairs.frequency_tells_gold,
    ),
    Check("certainty_off_scale", NOTE, "A certainty outside 1 to 100.", golds.certainty_off_scale),
    Check("mixed_prompts", NOTE, "Records that are asked in different ways.", golds.mixed_prompts),
)
