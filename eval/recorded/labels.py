"""Reading a judge's judgements, and people's labels of some of the judged items, from JSON Lines files.

Each judgement is a line. Its item is the field ``item`` (with ``style``, if a text is judged for several styles), else
``id``, else the line number; the judge's label is ``outcome``, ``label``, ``answer`` or ``verdict``. Each of people's
labels is ``{"id", "label", "style"?, "rater"?}``; a rating page writes ``item`` for ``id``.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eval.asking.json_lines import check_once, optional_id, optional_string, read_lines
from eval.asking.verdict import ABSTAIN, ERROR, INVALID, Given, certainty_of
from eval.recorded.personalized.judgements import parse_judgement, recording_of
from eval.recorded.personalized.presets import RECORDED, WRONG
from eval.recorded.personalized.reading import read_verdicts
from eval.recorded.personalized.reply import LETTER
from eval.recorded.style.labels import LEVELS, A, B, draw_label
from eval.recorded.style.lines import style_key
from eval.recorded.style.styles import styles_key
from eval.stats.corrected import UNLABELLED, LabelledShares
from eval.stats.ratings import is_missing
from pearl.errors import InputError
from pearl.stats.bootstrap import Floats
from pearl.text.history.files import located, parse_numbered_lines
from pearl.text.usable import json_type

FEWEST_LABELS = 10
SAYS = ("outcome", "label", "answer", "verdict")  # the first that a line has is the judge's label
LETTERS = {"A": "A", "B": "B", "C": "tie"}  # of a recording's answer; another character is none
OTHER = {"A": "B", "B": "A"}  # what the second text is called where it was shown first
# what people's levels stand for, where the judge has no word for the level
MEANT: Mapping[str, str | None] = {
    level: label and (label.upper() if label in (A, B) else label)
    for levels in (*LEVELS.values(), {A: A, B: B})
    for level, label in levels.items()
}
NO_ANSWER = {ABSTAIN, INVALID, ERROR, ""}
NO_ID = (None, "")  # 0 is one


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """An item with all of the judge's answers about it."""

    id: str
    answers: tuple[str, ...]  # labels by the judge, one for each judgement that has one
    certainties: tuple[tuple[str, float], ...] = ()  # an answer, and the percentage said with it
    right: str | None = None  # the label that the judgements themselves carry as ground_truth

    @property
    def answer(self) -> str | None:
        """The most frequent of the judge's answers; None for a tie or without answers."""
        most = Counter(self.answers).most_common(2)
        return None if not most or (len(most) == 2 and most[0][1] == most[1][1]) else most[0][0]

    @property
    def certainty(self) -> float:
        """The certainty of :attr:`answer` in percent: the mean certainty that the judge stated with it. If none was
        stated, the share of several judgements that gave this answer; NaN for a single judgement."""
        if self.answer is None:
            return math.nan
        said = [certainty for answer, certainty in self.certainties if answer == self.answer]
        agreeing = 100 * self.answers.count(self.answer) / len(self.answers) if len(self.answers) > 1 else math.nan
        return float(np.mean(said)) if said else agreeing


@dataclass(frozen=True, slots=True)
class PeopleLabels:
    """People's labels, by item; a rater gives one label per item."""

    file: str
    labels: Mapping[str, Sequence[str]]
    missing: int = 0  # lines that say that there is no label

    def of(self, items: Iterable[str]) -> PeopleLabels:
        wanted = set(items)
        labels = {name: labels for name, labels in self.labels.items() if name in wanted}
        return PeopleLabels(self.file, labels, self.missing)

    def majorities(self, says: Set[str]) -> dict[str, str]:
        """The label that most raters gave an item, in the judge's words ``says``; only items with a majority."""
        meant = {item: filter(None, (_meant(label, says) for label in labels)) for item, labels in self.labels.items()}
        majorities = {item: JudgedItem(item, tuple(labels)).answer for item, labels in meant.items()}
        return {item: label for item, label in majorities.items() if label is not None}


def _meant(label: str, says: Set[str]) -> str | None:
    """The judge's word for a label of people: "present" for "somewhat", "A" for "a_much"; None for "cant_tell"."""
    label = LETTERS.get(label, label)
    if label in says or label not in MEANT:
        return label
    meant = MEANT[label]
    return label if meant and meant not in says else meant


def read_judged(paths: Sequence[Path]) -> tuple[JudgedItem, ...]:
    """Read the judgements of all files and group them by item. Raises InputError that names file, line and field."""
    lines = []
    for path in paths:
        values = dict(parse_numbered_lines(path, lambda value, number: (number, _style_checked(value))))
        is_recording = all("ground_truth" in value for value in values.values())
        recorded = _recorded_answers(path, values) if is_recording else {}
        for number, value in values.items():
            name = f"line {number}" if len(paths) == 1 else f"{path}:{number}"
            value |= {"file": str(path), "line": number, "id": name if value.get("id") in NO_ID else value["id"]}
            lines.append(value | recorded.get(number, {}))
    if not lines:
        raise InputError(f"{', '.join(map(str, paths))}: there is no judgement in it.")
    return judged_items(lines)


def _recorded_answers(path: Path, values: Mapping[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Read the answer and the certainty on each line of a recording, in the same way as ``pearl eval personalized``."""
    judgements = []
    for number, value in values.items():
        with located(f"{path}:{number}"):
            judgements.append(parse_judgement(value, number))
    verdicts = read_verdicts(recording_of(judgements), RECORDED, WRONG).verdicts
    answers = (LETTER[verdict.answer] if isinstance(verdict, Given) else False for verdict in verdicts)
    read = zip(values, answers, map(certainty_of, verdicts), strict=True)
    return {number: {"answer": answer, "certainty": certainty} for number, answer, certainty in read}


def _style_checked(value: dict[str, Any]) -> dict[str, Any]:
    """Return the line unchanged. Raises InputError for a style that is no name or array of names."""
    style_key(value)
    return value


def judged_items(lines: Iterable[Mapping[str, Any]]) -> tuple[JudgedItem, ...]:
    """Group judgements by item. A ranking asked in both orders of its two texts is one judgement: a tie if the answers
    differ, none if one is missing. Raises InputError for scores, and for more than one judge or scheme."""
    answers: dict[str, list[str]] = defaultdict(list)  # by item, in the order in which they first come
    ranked: dict[tuple[str, str], dict[str, str | None]] = defaultdict(dict)  # by item and draw, then by order
    certainties: dict[str, list[tuple[str, float]]] = defaultdict(list)
    gold: dict[str, str] = {}
    ways = set()
    for number, line in enumerate(lines, start=1):
        name = item_name(line["id"] if line.get("item") in NO_ID else line["item"], line.get("style"))
        swapped = bool(line.get("swapped") or line.get("order") == "ba")
        answer = _answer(line, swapped=swapped, number=number)
        of_item = answers[name]  # an item without any answer is one, too
        if "order" in line:
            ranked[name, str(line.get("draw"))][str(line["order"])] = answer
        elif answer:
            of_item.append(answer)
        if answer and (certainty := _number(line.get("certainty"))) is not None:
            certainties[name].append((answer, certainty))
        if isinstance(line.get("ground_truth"), str):
            gold[name] = _spelled(line["ground_truth"], swapped=swapped)
        ways.add(" ".join(str(line[name]) for name in ("judge", "scheme", "judge_persona") if name in line))
    for (name, _), draw in ranked.items():
        if label := draw_label(draw):
            answers[name].append(label)
    if len(ways) > 1:
        raise InputError(
            f"The judgements are of {len(ways)} judges or schemes ({', '.join(sorted(ways))}); give those of one."
        )
    return tuple(
        JudgedItem(name, tuple(labels), tuple(certainties[name]), gold.get(name)) for name, labels in answers.items()
    )


def item_name(item: object, style: str | Sequence[str] | None) -> str:
    """The name of an item; it includes the style, because a text judged for several styles is several items."""
    return f"{item} ({styles_key(style)})" if style else str(item)


def _answer(line: Mapping[str, Any], *, swapped: bool, number: int) -> str | None:
    name = next((name for name in SAYS if name in line), None)
    if name is None:
        where = f"{line['file']}:{line['line']}: " if "file" in line else ""
        raise InputError(f"{where}verdict: is missing, and so are {', '.join(SAYS[:-1])}.")
    said = line[name]
    if said in (None, False) or (name == "answer" and (not isinstance(said, str) or said not in LETTERS)):
        return None
    if not isinstance(said, str) or said == "scored":
        raise InputError(f"Judgement {number} has a score, not a label; only labels can be held against labels.")
    return None if said in NO_ANSWER else _spelled(said, swapped=swapped and name != "outcome")


def _spelled(label: str, *, swapped: bool) -> str:
    label = LETTERS.get(label, label)
    return OTHER.get(label, label) if swapped else label


def _number(value: Any) -> float | None:
    try:
        return float(value) if value is not None and not isinstance(value, bool) else None
    except (TypeError, ValueError):
        return None  # "NA", as files of others have it


def read_people(path: Path) -> PeopleLabels:
    """Read people's labels. Raises InputError for a bad line, a second label by one rater, and fewer than ten items."""
    labels: dict[str, list[str]] = defaultdict(list)
    lines: dict[tuple[str, str], int] = {}
    missing: list[int] = []  # lines

    def parse(value: dict[str, Any], number: int) -> None:
        item = optional_id(value) or optional_id(value, "item")
        if item is None:
            raise InputError("is missing.", param="id")
        if "label" in value and is_missing(value["label"]):
            missing.append(number)
            return
        if not isinstance(value.get("label"), str):
            raise InputError(f"must be a label, not {json_type(value.get('label'))}.", param="label")
        name = item_name(item, _style_checked(value).get("style"))
        rater = optional_string(value, "rater") or ""
        what = f"'{name}' has a label{' by ' + rater if rater else ''}"
        check_once(lines, (name, rater), number, what, param="id")
        labels[name].append(value["label"].strip())

    read_lines(path, set(), parse, "label")
    return check_number(PeopleLabels(str(path), dict(labels), len(missing)))


def check_number(people: PeopleLabels) -> PeopleLabels:
    """Return the labels unchanged. Raises InputError if they are of fewer than ten items."""
    if len(people.labels) < FEWEST_LABELS:
        raise InputError(
            f"{people.file}: has labels of {len(people.labels)} items; fewer than {FEWEST_LABELS} say too little of a "
            "judge."
        )
    return people


def labels_for(judged: Iterable[str], items: Set[str], path: Path) -> PeopleLabels:
    """Read people's labels of the items in ``judged``. Raises InputError for labels of items that are not in ``items``,
    and as :func:`read_people` does."""
    people = read_people(path)
    check_items(people, items)
    return check_number(people.of(judged))


def check_items(people: PeopleLabels, items: Set[str]) -> None:
    """Raises InputError for labels of items that are not in ``items``."""
    unknown = [name for name in people.labels if name not in items]
    if unknown:
        raise InputError(
            f"{people.file}: id: '{unknown[0]}' is no item of the judgements"
            + (f", and {len(unknown) - 1} more are none." if len(unknown) > 1 else ".")
        )


def own_labels(items: Sequence[JudgedItem], limit: int | None) -> PeopleLabels:
    """Use the judgements' own ``ground_truth`` as labels; ``limit``: of a random sample of this many items. Raises
    InputError if no judgement has a ground truth."""
    right = [(item.id, item.right) for item in items if item.right is not None]
    if not right:
        raise InputError("The judgements carry no ground_truth; give --labels.")
    if limit is not None and limit < len(right):
        chosen = np.random.default_rng(0).choice(len(right), limit, replace=False)
        right = [right[index] for index in sorted(chosen)]
    return PeopleLabels("ground_truth", {name: (label,) for name, label in right})


@dataclass(frozen=True, slots=True)
class LabelledItems:
    """The items that have a judge's answer, compared with people's labels of some of these items."""

    data: LabelledShares
    certainty: Floats  # percent, (N,); NaN for an item without a majority of judgements
    wrong: Floats  # 1 where the answer is not people's label, (N,)
    unanswered: int  # items
    undecided: int  # items that people labelled without a majority


def matched(items: Sequence[JudgedItem], people: PeopleLabels) -> LabelledItems:
    """Compare the judge's answers with people's labels. Raises InputError for labels of unknown items, if people gave
    only one label, and if fewer than ten items have a majority."""
    check_items(people, {item.id for item in items})
    answered = [item for item in items if item.answers]
    says = {answer for item in answered for answer in item.answers}
    majorities = people.majorities(says)
    gold = [majorities.get(item.id) for item in answered]
    used = {label for label in gold if label is not None}
    if used and not used & says:
        given, words = (", ".join(f"'{label}'" for label in sorted(some)[:5]) for some in (used, says))
        raise InputError(
            f"{people.file}: people say {given}, and the judge {words}; write the labels in the judge's words."
        )
    if len(used) < 2:
        raise InputError(
            f"{people.file}: {f'every label is {next(iter(used))!r}' if used else 'no labelled item has an answer'}; a "
            "judge cannot be measured on one kind of item."
        )
    # where drafts failed there may be fewer labels from the start; what was paid for is kept
    if len(majorities) < FEWEST_LABELS <= len(people.labels):
        raise InputError(
            f"{people.file}: {len(majorities)} items have a label that most raters agree on; fewer than "
            f"{FEWEST_LABELS} say too little of a judge."
        )
    labels = sorted(used | says)
    shares = np.array([[item.answers.count(label) / len(item.answers) for label in labels] for item in answered])
    indices = np.array([UNLABELLED if label is None else labels.index(label) for label in gold], np.intp)
    return LabelledItems(
        LabelledShares(labels, shares, indices),
        np.array([item.certainty for item in answered]),
        np.array([float(item.answer != label) for item, label in zip(answered, gold, strict=True)]),
        len(items) - len(answered),
        len(people.labels) - len(majorities),
    )
