"""People compared with judges at predicting what another person would choose (papers/personalized-judge.txt, section 6
and table 5): the accuracy of the raters' majority, their certainty, and the raters' agreement.

Ratings are JSON Lines, ``{"item", "rater", "label": "A" | "B" | "tie", "certainty"?, "ground_truth"?}``. Dimensions in
comments: N items.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from eval.asking.json_lines import check_fields, check_once, optional_number, optional_string, read_lines
from eval.recorded.labels import LETTERS, JudgedItem, read_judged
from eval.report.tables import Json, Table, missing_words, named
from eval.stats.certainty import CertainAnswers, sweep
from eval.stats.proportions import wilson_json
from eval.stats.ratings import check_rater, is_missing
from pearl.errors import InputError
from pearl.stats.bootstrap import Bootstrap
from pearl.text.usable import check_id
from pearl.text.words import composed

DRAWS, DRAWN = 1000, 30  # the paper's: a thousand draws of thirty items
PEOPLE, EVERY_RATING = "people, by majority", "people, each rating"
LABELS = ("A", "B", "tie")


@dataclass(frozen=True, slots=True)
class PersonRating:
    """One rater's rating of an item."""

    item: str
    rater: str
    label: str | None  # None where the line says that there is none
    certainty: float | None  # 1 to 100; None where raters were not asked for it
    right: str | None  # the right label, if the line says it


def read_person_ratings(path: Path, raters: Sequence[str] = ()) -> tuple[PersonRating, ...]:
    """Read the ratings of a file. ``raters``: the people who were asked, if known. Raises InputError that names file,
    line and field: for a bad rating, a second rating of an item by one rater, and a rater who was not asked."""
    lines: dict[tuple[str, str], int] = {}
    allowed = [*map(composed, raters)]

    def parse(value: dict[str, Any], number: int) -> PersonRating:
        check_fields(value, "item", "rater", "label")
        item, rater = check_id(value["item"], param="item"), composed(check_id(value["rater"], param="rater"))
        check_rater(rater, allowed)
        what = f"'{rater}' rated '{item}'"
        check_once(lines, (item, rater), number, what, param="rater")
        right = optional_string(value, "ground_truth")
        label = None if is_missing(value["label"]) else _label(value["label"], "label")
        certainty = optional_number(value, "certainty")
        if certainty is not None and not 1 <= certainty <= 100:
            raise InputError("must lie between 1 and 100.", param="certainty")
        return PersonRating(item, rater, label, certainty, right and _label(right, "ground_truth"))

    return read_lines(path, set(), parse, "rating").parsed


def _label(value: Any, param: str) -> str:
    label = LETTERS.get(value, value) if isinstance(value, str) else None
    if label not in LABELS:
        raise InputError(f"must be {', '.join(LABELS[:-1])} or {LABELS[-1]}.", param=param)
    return str(label)


def study_report(ratings: Sequence[PersonRating], records: Sequence[Path], threshold: float) -> dict[str, Any]:
    """Compare people and judges on the items that have a right answer and a majority of people. Raises InputError if
    there are no such items, or if two sources give different right answers."""
    judges = {str(path): {item.id: item for item in read_judged([path])} for path in records}
    by_item: dict[str, list[PersonRating]] = defaultdict(list)
    missing = sum(rating.label is None for rating in ratings)
    ratings = [rating for rating in ratings if rating.label is not None]
    for rating in ratings:
        by_item[rating.item].append(rating)
    sources = [{rating.item: rating.right for rating in ratings}]
    sources += [{name: item.right for name, item in items.items()} for items in judges.values()]
    right: dict[str, str] = {}
    for name, label in ((name, label) for source in sources for name, label in source.items() if label is not None):
        if right.setdefault(name, label) != label:
            raise InputError(f"'{name}' has two right answers, {right[name]} and {label}.", param="ground_truth")
    people = {name: _majority(name, item_ratings) for name, item_ratings in by_item.items()}
    decided = [name for name, item in people.items() if item.answer is not None and name in right]
    if not decided:
        raise InputError(
            "No rated item has both a majority and a right answer: give the judges' --records, whose items must have "
            "the ids of the ratings, or a ground_truth in each rating."
        )
    compared = set(decided)
    rows = {
        PEOPLE: [people[name] for name in decided],
        EVERY_RATING: [_majority(rating.item, [rating]) for rating in ratings if rating.item in compared],
    }
    rows |= {who: [items.get(name, JudgedItem(name, ())) for name in decided] for who, items in judges.items()}
    return {
        "ratings": len(ratings),
        "missing": missing,
        "raters": len({rating.rater for rating in ratings}),
        "items": len(by_item),
        "without_majority": sum(item.answer is None for item in people.values()),
        "without_right_answer": len(by_item.keys() - right.keys()),
        "compared": len(decided),
        "threshold": threshold,
        "agreement": drawn_agreement(by_item),
        "rows": [_row(who, items, right, threshold) for who, items in rows.items()],
    }


def _majority(name: str, ratings: Sequence[PersonRating]) -> JudgedItem:
    given = [(rating.label, rating.certainty) for rating in ratings if rating.label is not None]
    certainties = tuple((label, certainty) for label, certainty in given if certainty is not None)
    return JudgedItem(name, tuple(label for label, _ in given), certainties)


def drawn_agreement(by_item: Mapping[str, Sequence[PersonRating]]) -> dict[str, Any] | None:
    """Agreement of two random raters of an item, in DRAWS random samples of items: the mean, the standard deviation
    and the middle 95%. None if no item has two ratings."""
    shared = [ratings for ratings in by_item.values() if len(ratings) > 1]
    if not shared:
        return None
    generator, size = random.Random(0), min(DRAWN, len(shared))
    shares = []
    for _ in range(DRAWS):
        pairs = [generator.choice(list(combinations(ratings, 2))) for ratings in generator.sample(shared, size)]
        shares.append(sum(first.label == second.label for first, second in pairs) / size)
    low, high = np.quantile(shares, (0.025, 0.975))
    return {
        "mean": float(np.mean(shares)),
        "sd": float(np.std(shares, ddof=1)),
        "low": float(low),
        "high": float(high),
        "draws": DRAWS,
        "drawn": size,
        "items": len(shared),
    }


def _row(who: str, items: Sequence[JudgedItem], right: Mapping[str, str], threshold: float) -> dict[str, Any]:
    """Accuracy over all items, over items with a certainty of at least ``threshold``, over the remaining items, and at
    other thresholds. An item without an answer counts as wrong."""
    correct = np.array([item.answer == right[item.id] for item in items], float)  # (N,)
    certainty = np.array([item.certainty for item in items], float)  # (N,)
    certain = CertainAnswers(correct, certainty, Bootstrap([item.id for item in items]))
    high = certain.at_least(threshold)
    row: dict[str, Any] = {"who": who, "unanswered": sum(item.answer is None for item in items)}
    for name, inside in {"all": np.ones(len(items)), "high": high, "low": 1 - high}.items():
        part = certain.part(inside)
        row[name] = part | {"interval": wilson_json(part["correct"], part["total"])}
    return row | {"sweep": sweep(certain, threshold)}


def study_tables(result: Json) -> Iterator[Table]:
    """Tables of people and judges: accuracy above and below the threshold of certainty, then at other thresholds."""
    agreement = result["agreement"]
    caption = (
        f"{result['ratings']:,} ratings of {result['items']:,} items by {result['raters']:,} people"
        f"{missing_words(result['missing'])}; compared on "
        f"{result['compared']:,} items. {result['without_majority']:,} have no majority. No answer, as where two "
        "orders disagree, counts as wrong; a certainty of {result['threshold']:g} or more is high. Wilson's 95% "
        "intervals."
    )
    if agreement:
        caption += (
            f" Two raters of an item agree in {agreement['mean']:.3f}, SD {agreement['sd']:.3f}, over "
            f"{agreement['draws']:,} draws of {agreement['drawn']:,} items."
        )
    fields = "who all.total all.interval high.total high.interval low.total low.interval unanswered"
    yield Table.of(caption, result["rows"], named(fields), result["command"])
    sweeps = [{**point, "who": row["who"]} for row in result["rows"] for point in row["sweep"]]
    columns = named("who threshold accuracy coverage")
    yield Table.of("Accuracy and coverage at thresholds of certainty.", sweeps, columns)
