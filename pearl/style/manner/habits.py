"""A person's habits: traits and words that they use more or less than others do, with example texts.

A habit needs five texts from three days. It is dropped when the rate in the newest ten texts is no longer unusual and
its interval excludes the rate of all texts; a word is dropped when none of the newest twenty texts has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pearl.records import Document
from pearl.stats.proportions import Interval, Z
from pearl.style.manner.rates import Counts
from pearl.style.manner.trait import Trait, excerpt
from pearl.style.manner.traits import BY_NAME, TRAITS
from pearl.style.manner.usual_rates import (
    LEAST_DRAFTS,
    OTHER_WORDS,
    Bounds,
    UsualRates,
    WordUse,
    distinctive_words,
    word_counts,
)
from pearl.style.manner.writing import Writing
from pearl.text.usable import counted
from pearl.text.words import SIGN

LEAST_TEXTS, LEAST_OCCASIONS = 5, 3
NEWEST = 10  # texts that can contradict a habit
EXAMPLES = 3
SAMPLED, SAMPLED_CHARACTERS = 100, 2_000  # texts, and characters of each, to tell a history's language by
TELLING_CHARACTERS = 500  # of one text, to tell its language by
MOST_WORDS, LEAST_Z = 15, 3.29
MOST_USUAL = 0.5  # uses per 100 words; nobody can be told to write 'the' more often
DAY_S = 86_400.0
WORD = "word:"  # begins the names of habits that are words


@dataclass(frozen=True, slots=True)
class HabitExample:
    """A text that shows a habit, with an excerpt."""

    id: str
    timestamp: float | None
    excerpt: str


@dataclass(frozen=True, slots=True)
class Habit:
    """A trait or word that a person uses more or less than others do, with both rates."""

    name: str
    label: str
    direction: str  # "more" or "less"
    text: str  # says it to the person
    instruction: str  # says it to a model
    rate: Interval
    usual: float
    unit: str
    texts: int  # that show it
    occasions: int  # the days of these texts
    examples: tuple[HabitExample, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"rate": self.rate.to_json(), "examples": [asdict(example) for example in self.examples]}


@dataclass(frozen=True, slots=True)
class Habits:
    """The habits found in a person's texts."""

    listed: tuple[Habit, ...]
    needs: str | None  # what the texts lack for a card, in words; None if they are enough
    left_out: int  # texts in another language than that of the usual rates


def occasions(documents: Sequence[Document]) -> int:
    """Count the days on which the texts were written; texts without a time count as one day."""
    return len({None if document.timestamp is None else document.timestamp // DAY_S for document in documents})


def readable(documents: Sequence[Document], usual_rates: UsualRates) -> list[Document]:
    """Return the texts in the language of the usual rates, in the same order."""
    apart = usual_rates.languages_apart([document.text[:TELLING_CHARACTERS] for document in documents])
    return [document for document, read in zip(documents, apart, strict=True) if read]


def habits(documents: Sequence[Document], usual_rates: UsualRates) -> Habits:
    """Find the habits in texts, given oldest first. Traits come in their declared order, then words by z-score."""
    kept = readable(documents, usual_rates)
    left_out = len(documents) - len(kept)
    if needs := _lacking(documents, kept, usual_rates):
        return Habits((), needs, left_out)
    writings = [Writing(document.text) for document in kept]
    texts = [document.text for document in kept]
    counts = Counts.of(texts)
    newest = Counts.of(texts[-NEWEST:]).intervals() if len(texts) > NEWEST else [None] * len(TRAITS)
    of_traits = [
        _habit_of(trait, rate, recent, usual_rates.traits[trait.name], kept, writings)
        for trait, rate, recent in zip(TRAITS, counts.intervals(), newest, strict=True)
        if rate is not None and trait.name in usual_rates.traits
    ]
    return Habits((*filter(None, of_traits), *_word_habits(kept, writings, usual_rates)), None, left_out)


def _lacking(documents: Sequence[Document], kept: Sequence[Document], usual_rates: UsualRates) -> str | None:
    """A sentence on what a history lacks for a card: texts, days, or usual rates in its language; None if it is enough.
    ``kept`` are the documents in the language of the usual rates."""
    days = occasions(documents)
    if len(documents) < LEAST_TEXTS or days < LEAST_OCCASIONS:
        return (
            f"A habit needs {LEAST_TEXTS} texts written on {LEAST_OCCASIONS} days; the card reads the newest, here "
            f"{counted(len(documents), 'text')} from {counted(days, 'day')}. Import more of what you wrote, with its "
            "times."
        )
    enough = len(kept) >= LEAST_TEXTS and occasions(kept) >= LEAST_OCCASIONS
    sample = (document.text[:SAMPLED_CHARACTERS] for document in kept[-SAMPLED:])
    if not enough or not usual_rates.reads(word_counts(sample)):
        return (
            f"The {usual_rates.source} write English, and these texts do not, so there is nothing to hold them against."
            f" From {LEAST_DRAFTS} drafts on for requests that they answered, those drafts are the measure."
        )
    return None


def _habit_of(
    trait: Trait,
    rate: Interval,
    recent: Interval | None,
    bounds: Bounds,
    documents: Sequence[Document],
    writings: Sequence[Writing],
) -> Habit | None:
    more = rate.low > bounds.high
    if not more and not rate.high < bounds.low:
        return None
    if recent is not None and _contradicts(recent, rate, bounds, more):
        return None

    def shows(writing: Writing) -> bool:
        count, base = trait.counts(writing)
        value = trait.unit.scale * count / base if base else 0.0
        return value > bounds.usual if more else value < bounds.usual

    shown, days, examples = _evidence(documents, writings, shows, trait.excerpt)
    if shown < LEAST_TEXTS or days < LEAST_OCCASIONS:
        return None
    does, unit = trait.more if more else trait.less, trait.unit
    usual, shown_rate = unit.shown(bounds.usual), unit.shown(rate.value)
    return Habit(
        trait.name,
        trait.label,
        "more" if more else "less",
        f"You {does} than others: {shown_rate} ({unit.ends(rate.low, rate.high)}), others {usual}.",
        f"{does[0].upper()}{does[1:]} than usual: {shown_rate} (usual: {usual}).",
        rate,
        bounds.usual,
        f"share of {unit.name}" if unit.share else unit.name,
        shown,
        days,
        examples,
    )


def _contradicts(recent: Interval, rate: Interval, bounds: Bounds, more: bool) -> bool:
    """True if the newest texts' rate is no longer unusual, and its interval excludes the rate of all texts."""
    if more:
        return recent.value <= bounds.high and recent.high < rate.value
    return recent.value >= bounds.low and recent.low > rate.value


def _word_habits(documents: Sequence[Document], writings: Sequence[Writing], usual_rates: UsualRates) -> list[Habit]:
    counts = usual_rates.comparable(word_counts(document.text for document in documents))
    uses = distinctive_words(counts, usual_rates.words)
    word_habits: list[Habit] = []
    recent = {word for writing in writings[-2 * NEWEST :] for word in writing.lower_words}
    for use in uses:
        if use.z < LEAST_Z or len(word_habits) == MOST_WORDS:
            break
        if use.word == OTHER_WORDS or use.word not in recent or use.other_rate > MOST_USUAL or SIGN.match(use.word):
            continue
        shown, days, examples = _evidence(documents, writings, partial(_has, use.word), partial(_around, use.word))
        if shown >= LEAST_TEXTS and days >= LEAST_OCCASIONS:
            word_habits.append(_word_habit(use, sum(counts.values()), shown, days, examples))
    return word_habits


def _word_habit(use: WordUse, total: float, shown: int, days: int, examples: tuple[HabitExample, ...]) -> Habit:
    spread = Z * 100 * (use.count**0.5) / total  # a Poisson count's
    rate = Interval(use.rate, max(0.0, use.rate - spread), use.rate + spread)
    unit = BY_NAME["commas"].unit
    often, usual = unit.shown(use.rate), unit.shown(use.other_rate)
    return Habit(
        f"{WORD}{use.word}",
        f"“{use.word}”",
        "more",
        f"You use the word “{use.word}” more than others: {often} ({unit.ends(rate.low, rate.high)}), others {usual}.",
        f"Use the word “{use.word}” where it fits: {often} (usual: {usual}).",
        rate,
        use.other_rate,
        unit.name,
        shown,
        days,
        examples,
    )


def _evidence(
    documents: Sequence[Document],
    writings: Sequence[Writing],
    shows: Callable[[Writing], bool],
    excerpt_of: Callable[[Writing], str],
) -> tuple[int, int, tuple[HabitExample, ...]]:
    """The number of texts that show a habit, the number of their days, and the newest of them as examples."""
    these = [pair for pair in zip(documents, writings, strict=True) if shows(pair[1])]
    newest = reversed(these[-EXAMPLES:])
    examples = [HabitExample(document.id, document.timestamp, excerpt_of(writing)) for document, writing in newest]
    return len(these), occasions([document for document, _ in these]), tuple(examples)


def _has(word: str, writing: Writing) -> bool:
    return word in writing.lower_words


def _around(word: str, writing: Writing) -> str:
    start, end = writing.words[writing.lower_words.index(word)]
    return excerpt(writing.text, start, end)
