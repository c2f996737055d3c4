"""All draws of a judge on a text, folded into one record; with what nobody could read counted, not dropped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.asking.json_lines import read_lines
from eval.recorded.style.choices import TIES, StyleOptions
from eval.recorded.style.labels import RANKING, TIE, draw_label, mean_scores, scored_label, winner
from eval.recorded.style.lines import FIELDS, About, Key, Line, Part, parse_line
from eval.recorded.style.people import Subject
from pearl.errors import InputError

TRIGRAM_WORDS = 3  # a reply of no more words is an answer without a reason


@dataclass(frozen=True, slots=True)
class Unit:
    """``labels`` of the draws, ``means`` the mean score of a and of b where a rubric was used; ``half_draws`` were
    answered in one of the two orders only; ``lines`` there were, ``unused`` of them are no part of a draw's label;
    ``same_reply``: several draws, one reply; ``levels`` of the draws, where there are three labels, and all
    ``scores``."""

    key: Key
    about: About
    labels: Mapping[str, int]
    means: tuple[float, float] | None
    lines: int
    unused: int
    half_draws: int
    same_reply: bool
    levels: Mapping[str, int]
    scores: tuple[float, ...]

    @property
    def subject(self) -> Subject:
        return Subject(self.key.kind, self.key.item, self.key.style)

    @property
    def cluster(self) -> str:
        """The text, or of ranked texts their request if that is known: resamples are drawn of these."""
        ranked = self.key.kind == RANKING and self.about.request
        return f"{self.about.task} {self.about.request}" if ranked else self.key.item

    def label(self, options: StyleOptions) -> str | None:
        """The label by mean scores if there are scores, else by vote of the draws; None if there is none."""
        return scored_label(*self.means) if self.means else winner(self.key.kind, self.votes(options), options.even)

    def votes(self, options: StyleOptions) -> Mapping[str, int]:
        """Count the draws that gave each label."""
        if options.half != TIES or not self.half_draws:
            return self.labels
        return {**self.labels, TIE: self.labels.get(TIE, 0) + self.half_draws}


@dataclass(frozen=True, slots=True)
class Justification:
    """The reason given beside a label, or beside the score of one text."""

    key: Key
    label: str | float
    text: str


@dataclass(frozen=True, slots=True)
class StyleJudgements:
    """All files: ``verdicts`` by judge and scheme, as recorded."""

    units: tuple[Unit, ...]
    lines: int
    verdicts: Mapping[tuple[str, str, str], Mapping[str, int]]
    justifications: tuple[Justification, ...]
    passed_over: Mapping[str, int]


@dataclass(slots=True)
class _Draws:
    """One judge's verdicts on a text so far; ``said`` is a label, a score, or None where nothing can be read."""

    about: About
    said: dict[Part, str | float | None] = field(default_factory=dict)
    places: dict[Part, str] = field(default_factory=dict)  # file and line
    reply: str = ""  # the first one
    same_reply: bool = True
    levels: Counter[str] = field(default_factory=Counter)
    scores: list[float] = field(default_factory=list)


def read_judged(paths: Iterable[Path]) -> StyleJudgements:
    """Raises InputError that names file, line and field of the first bad line."""
    reader = _Reader()
    passed_over: Counter[str] = Counter()
    for path in paths:
        passed_over.update(read_lines(path, FIELDS, reader.reads(path), "judgement").passed_over)
    units = tuple(_unit(key, draws) for key, draws in reader.draws.items())
    return StyleJudgements(
        units=units,
        lines=sum(unit.lines for unit in units),
        verdicts=dict(reader.verdicts),
        justifications=tuple(reader.justifications),
        passed_over=dict(sorted(passed_over.items())),
    )


class _Reader:
    """Folds line after line, of one file after the other."""

    def __init__(self) -> None:
        self.draws: dict[Key, _Draws] = {}
        self.verdicts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        self.justifications: list[Justification] = []
        self._abouts: dict[tuple[str, str, str], tuple[About, str]] = {}

    def reads(self, path: Path) -> Callable[[dict[str, Any], int], None]:
        def read(value: dict[str, Any], number: int) -> None:
            line = parse_line(value)
            self._check_about(line, f"{path}:{number}")
            self._add(line, f"{path}:{number}")
            self.verdicts[line.key.kind, line.key.judge, line.key.scheme][line.verdict] += 1
            if line.said is not None and len(line.reply.split()) > TRIGRAM_WORDS:
                self.justifications.append(Justification(line.key, line.said, line.reply))

        return read

    def _check_about(self, line: Line, place: str) -> None:
        """One item is for one task, of one persona, by one generator."""
        key = (line.key.kind, line.key.item, line.key.style)
        about, before = self._abouts.setdefault(key, (line.about, place))
        if about != line.about:
            names = ("task", "persona", "generators", "request")
            name = next(name for name in names if getattr(about, name) != getattr(line.about, name)).removesuffix("s")
            raise InputError(
                f"the item '{line.key.item}' has another {name} than at {before}.",
                param=name,
                code="contradiction",
            )

    def _add(self, line: Line, place: str) -> None:
        unit = self.draws.setdefault(line.key, _Draws(line.about, reply=line.reply))
        if line.part in unit.said:
            raise InputError(
                f"draw {line.part[0]} of the item '{line.key.item}' by '{line.key.judge}' is at "
                f"{unit.places[line.part]} already.",
                param="draw",
                code="duplicate_judgement",
            )
        unit.said[line.part] = line.said
        unit.places[line.part] = place
        unit.same_reply &= line.reply == unit.reply
        if line.level is not None:
            unit.levels[line.level] += 1
        if line.score is not None:
            unit.scores.append(line.score)


def _unit(key: Key, unit: _Draws) -> Unit:
    by_draw: dict[int, dict[str, str | float | None]] = defaultdict(dict)
    for (draw, part), said in unit.said.items():
        by_draw[draw][part] = said
    labels: Counter[str] = Counter()
    unused = half = 0
    for parts in by_draw.values():
        label = draw_label(parts)
        if label is None:
            unused += len(parts)
            half += any(isinstance(said, str) for said in parts.values())
        else:
            labels[label] += 1
    return Unit(
        key=key,
        about=unit.about,
        labels=dict(labels),
        means=mean_scores((part, said) for (_, part), said in unit.said.items()),
        lines=len(unit.said),
        unused=unused,
        half_draws=half,
        same_reply=len(by_draw) > 1 and bool(unit.reply) and unit.same_reply,
        levels=dict(unit.levels),
        scores=tuple(unit.scores),
    )
