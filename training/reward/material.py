"""The material of a reward model's training: paragraphs with scores, and pairs of which one is better."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean

from pearl.errors import InputError
from pearl.text.usable import counted
from pearl.text.words import CLOSERS, FULL_STOPS
from retriever.reward.originals import preferred_versions, underlying
from retriever.reward.records import EditTrace, QualityPair, QualityRecord, ScoredParagraph, paragraphs, read_quality
from training.reward.config import CUT, KEPT, WHOLE

P, R, PR = "P", "R", "PR"
VARIANTS = (P, R, PR)
NAMED = 5  # records of a note
SENTENCE_END = re.compile(
    rf"(?:(?<=[.!?])|(?<=[.!?][{CLOSERS}]))\s+(?=[\"'(\[]?[^\Wa-z_])|(?<=[{FULL_STOPS}])(?![{CLOSERS}])\s*|\n\s*\n"
)

Pair = tuple[str, str]  # two texts


@dataclass(frozen=True, slots=True)
class ScoredText:
    """A paragraph, by its index among the texts, and its score."""

    text: int
    score: float


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """Two paragraphs by their index among the texts: the better one and the worse one."""

    better: int
    worse: int


@dataclass(frozen=True, slots=True)
class RewardMaterial:
    """Training data of a reward model. ``originals``: of which paragraph, by number, each text is a version."""

    texts: tuple[str, ...]
    originals: tuple[int, ...]
    scored: tuple[ScoredText, ...]
    pairs: tuple[PreferencePair, ...]
    notes: tuple[str, ...] = ()

    @property
    def used(self) -> set[int]:
        """Return the indices of all texts with a score or in a pair."""
        in_pairs = (text for pair in self.pairs for text in (pair.better, pair.worse))
        return {*in_pairs, *(scored.text for scored in self.scored)}

    def of_variant(self, variant: str) -> RewardMaterial:
        """Keep only the scores, the pairs or both, as the variant (R, P, PR) says. Raises InputError if some are
        missing."""
        left_out = "".join(f"; {note}" for note in self.notes)
        if R in variant and not self.scored:
            raise InputError(
                f"--variant {variant}: the data has no paragraph with a score to learn from; try P{left_out}."
            )
        if P in variant and not self.pairs:
            raise InputError(
                f"--variant {variant}: the data has no pairs, and no two versions of a paragraph with different "
                f"scores; try R{left_out}."
            )
        return replace(self, scored=self.scored if R in variant else (), pairs=self.pairs if P in variant else ())

    def split(self, share: float, seed: int) -> tuple[RewardMaterial, RewardMaterial]:
        """Split by underlying paragraphs into a part to train on and a dev part, which gets about ``share``. Raises
        InputError if a part has no scores or no pairs."""
        names = sorted(set(self.originals))
        dev = set(random.Random(seed).sample(names, round(share * len(names))))
        parts = self._part(set(names) - dev), self._part(dev)
        for part, other in (parts, parts[::-1]):
            if (other.scored and not part.scored) or (other.pairs and not part.pairs):
                raise InputError(
                    f"--choose dev_share={share:g}: {len(names):,} underlying paragraphs are too few to split; bring "
                    "more, or change the share."
                )
        return parts

    def _part(self, names: set[int]) -> RewardMaterial:
        scored = tuple(item for item in self.scored if self.originals[item.text] in names)
        return replace(
            self, scored=scored, pairs=tuple(item for item in self.pairs if self.originals[item.better] in names)
        )


def read_material(
    data: Sequence[Path], tested: Sequence[Path], duplicates: str, lengths: str = WHOLE
) -> RewardMaterial:
    """Read the scores and pairs to train on. Left out are paragraphs in the files ``tested``, scores off the scale,
    pairs that contradict each other, and edit traces.

    Two versions of a paragraph with different scores are a pair, too. Raises InputError that names file, record and
    field.
    """
    records = [(path, record) for path in data for record in read_quality(path)]
    held_back = [(path, record) for path in tested for record in read_quality(path)]
    kept, notes = _usable(records)
    kept, leaked = _without(kept, held_back)
    versions = of_lengths(preferred_versions([record for _, record in kept]), lengths)
    read = chain((text for _, record in kept for text in paragraphs(record)), *versions)
    texts = tuple(dict.fromkeys(read))
    if not texts:
        why = "; ".join((*notes, *leaked)) or "the files hold no record"
        raise InputError(f"--data: nothing is left to train on: {why}.")
    place = {text: number for number, text in enumerate(texts)}
    originals = tuple(underlying(texts))
    scores: dict[int, list[float]] = defaultdict(list)
    for _, record in kept:
        if isinstance(record, ScoredParagraph):
            scores[place[record.text]].append(record.score)
    notes += _differing(kept, {texts[text] for text, given in scores.items() if len(set(given)) > 1}, duplicates)
    rows = scores if duplicates == KEPT else {text: [fmean(given)] for text, given in scores.items()}
    scored = tuple(ScoredText(text, score) for text, given in rows.items() for score in given)
    pairs = tuple(PreferencePair(place[better], place[worse]) for better, worse in versions)
    return RewardMaterial(texts, originals, scored, pairs, (*notes, *leaked))


def _usable(records: Sequence[tuple[Path, QualityRecord]]) -> tuple[list[tuple[Path, QualityRecord]], list[str]]:
    better: dict[frozenset[str], set[str]] = defaultdict(set)
    for _, record in records:
        if isinstance(record, QualityPair):
            better[record.texts].add(record.better.strip())

    def fault(record: QualityRecord) -> str | None:
        if isinstance(record, EditTrace):
            return "traces of edits"
        if isinstance(record, ScoredParagraph):
            return "scores outside 1 to 10" if record.off_scale else None
        if len(record.texts) == 1:
            return "pairs of one text"
        return "pairs that contradict each other" if len(better[record.texts]) > 1 else None

    faults = [fault(record) for _, record in records]
    notes = []
    for why in dict.fromkeys(filter(None, faults)):
        some = [record for record, fault_of_it in zip(records, faults, strict=True) if fault_of_it == why]
        notes.append(f"left out: {len(some):,} of {counted(len(records), 'record')}, {why}: {_names(some)}")
    return [record for record, fault_of_it in zip(records, faults, strict=True) if fault_of_it is None], notes


def _differing(records: Sequence[tuple[Path, QualityRecord]], texts: set[str], duplicates: str) -> list[str]:
    """Return a note on paragraphs that have several different scores, if there are such."""
    if not texts:
        return []
    some = [(path, record) for path, record in records if isinstance(record, ScoredParagraph) and record.text in texts]
    how = "each of which counts" if duplicates == KEPT else "whose mean counts"
    return [f"{counted(len(texts), 'paragraph')} with different scores, {how}: {_names(some)}"]


def _without(
    records: list[tuple[Path, QualityRecord]], held_back: Sequence[tuple[Path, QualityRecord]]
) -> tuple[list[tuple[Path, QualityRecord]], list[str]]:
    """Return the records whose paragraphs, edited or not, are not held back, and a note on the others."""
    texts = [text for _, record in (*records, *held_back) for text in paragraphs(record)]
    original = dict(zip(texts, underlying(texts), strict=True))
    tested = {original[text] for _, record in held_back for text in paragraphs(record)}
    leaked = [
        (path, record) for path, record in records if any(original[text] in tested for text in paragraphs(record))
    ]
    if not leaked:
        return records, []
    left_out = {id(record) for _, record in leaked}
    some = counted(len(leaked), "record")
    note = f"left out: {some} whose paragraph stands in --test or --other-kind, edited or not: {_names(leaked)}"
    return [(path, record) for path, record in records if id(record) not in left_out], [note]


def _names(records: Sequence[tuple[Path, QualityRecord]]) -> str:
    named = ", ".join(f"{path}:{record.line}" for path, record in records[:NAMED])
    return named + (f" and {len(records) - NAMED:,} more" if len(records) > NAMED else "")


def of_lengths(pairs: Sequence[Pair], lengths: str) -> list[Pair]:
    """Return the pairs as they are, cut to about equal length, or both; a pair that becomes equal is left out."""
    whole = [] if lengths == CUT else list(pairs)
    cut = [] if lengths == WHOLE else [evened(*pair) for pair in pairs]
    return list(dict.fromkeys((*whole, *(pair for pair in cut if pair[0] != pair[1]))))


def evened(one: str, other: str) -> Pair:
    """Return both texts, the longer one cut after the sentence that brings it nearest to the other's length."""
    short, long = sorted((one.strip(), other.strip()), key=len)
    ends = [*(match.start() for match in SENTENCE_END.finditer(long)), len(long)]
    cut = long[: min(ends, key=lambda end: abs(end - len(short)))]
    return (cut, short) if one.strip() == long else (short, cut)
