"""Count how many misplaced answers the preflight finds: ``python docs/experiments/misplaced.py``.

Takes the recorded judgements of the shared data (PEARL_SHARED, or ../shared), lets records show the two texts of the
record before, in one of several ways, and counts those found and those falsely accused. A record whose texts stay with
their question counts apart: it shows a pair that belongs to another person. Counts go to ``misplaced.json``.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from eval.asking.verdict import Answer
from eval.recorded.personalized.judgements import RecordedJudgement, Recording, read_recording
from eval.recorded.personalized.misplaced import misplaced_answers

HERE = Path(__file__).parent
SEEDS, PERSONAS = 5, 10


def main() -> None:
    shared = Path(os.environ.get("PEARL_SHARED", HERE.parent.parent.parent / "shared"))
    counts: dict[str, Counter[str]] = {}
    for path in sorted((shared / "data" / "personalized-judge").glob("*.jsonl.gz")):
        for way, found in counts_of(read_recording(path)):
            counts.setdefault(f"{path.name[:2]}: {way}", Counter()).update(found)
    (HERE / "misplaced.json").write_text(
        json.dumps({way: dict(found) for way, found in counts.items()}, indent=2) + "\n"
    )


def counts_of(recording: Recording) -> Iterator[tuple[str, Counter[str]]]:
    """The counts for each way in which records are made to show the texts of the record before."""
    judgements = recording.judgements
    for way, places in [("as recorded", []), *_ways(judgements)]:
        shifted = list(judgements)
        for place in places:
            shifted[place] = replace(judgements[place], texts=judgements[place - 1].texts)
        told = misplaced_answers(replace(recording, judgements=tuple(shifted)))
        accused = {each.line for each in told[1]} if told else set()
        changed = {
            True: {judgements[place].line for place in places if _moved(judgements, place, question=True)},
            False: {judgements[place].line for place in places if _moved(judgements, place, question=False)},
        }
        yield (
            way,
            Counter(
                records=len(judgements),
                other_question=len(changed[True]),
                other_question_found=len(changed[True] & accused),
                other_person=len(changed[False]),
                other_person_found=len(changed[False] & accused),
                falsely_accused=len(accused - {judgements[place].line for place in places}),
            ),
        )


def _moved(judgements: Sequence[RecordedJudgement], place: int, *, question: bool) -> bool:
    """True when the record before asks another question; or the same one, of another person."""
    mine, before = judgements[place], judgements[place - 1]
    if mine.question != before.question:
        return question
    return not question and mine.persona != before.persona


def _ways(judgements: Sequence[RecordedJudgement]) -> Iterator[tuple[str, list[int]]]:
    """The places whose texts are replaced; never the first, which nothing comes before."""
    places = range(1, len(judgements))
    for seed in range(SEEDS):
        yield "a random fifth", random.Random(seed).sample(places, len(judgements) // 5)
    yield "every fifth", list(places[3::5])
    yield "a fifth in one block", list(places[: len(judgements) // 5])
    ties = [place for place in places if judgements[place].gold is Answer.TIE]
    if ties:
        yield "the ties", ties
    for persona, _ in Counter(each.persona for each in judgements).most_common(PERSONAS):
        yield "one persona", [place for place in places if judgements[place].persona == persona]


if __name__ == "__main__":
    main()
