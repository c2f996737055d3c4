"""Reading style judgements. All draws (repeated judgements) of a judge on a text become one record."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from eval.asking.json_lines import read_lines
from eval.asking.reading import NOUNS, SCORE_NOUNS
from eval.asking.said import reasons
from eval.recorded.style.choices import TIES, StyleOptions
from eval.recorded.style.labels import RANKING, TIE, draw_label, mean_scores, scored_label, winner
from eval.recorded.style.lines import FIELDS, About, Key, Line, Part, parse_line
from eval.recorded.style.people import Subject
from pearl.errors import InputError

NAMES = (*NOUNS, *SCORE_NOUNS)  # of what a judge's object says, but for its reasons


@dataclass(frozen=True, slots=True)
class JudgedUnit:
    """All draws (repeated judgements) of one judge, with one scheme, on one text or pair of texts."""

    key: Key
    about: About
    labels: Mapping[str, int]  # number of draws by label
    means: tuple[float, float] | None  # mean scores of a and b, where a rubric was used
    lines: int
    unused: int  # lines that are no part of a draw's label
    half_draws: int  # answered in one of the two orders only
    same_reply: bool  # several draws have one reply
    levels: Mapping[str, int]  # number of lines by level, where there are three labels
    scores: tuple[float, ...]

    @property
    def subject(self) -> Subject:
        return Subject(self.key.kind, self.key.item, self.key.style)

    @property
    def cluster(self) -> str:
        """The cluster for resampling: the text or, for ranked texts, the request that both answer, if it is known."""
        ranked = self.key.kind == RANKING and self.about.request
        return f"{self.about.task} {self.about.request}" if ranked else self.key.item

    def label(self, options: StyleOptions) -> str | None:
        """The label by mean scores, if there are scores, else by most draws; None if undecided."""
        return scored_label(*self.means) if self.means else winner(self.key.kind, self.votes(options), options.even)

    @property
    def answered(self) -> int:
        """The number of draws with a label."""
        return sum(self.labels.values())

    def votes(self, options: StyleOptions) -> Mapping[str, int]:
        """The number of draws by label; if the options say so, half-answered draws are added as ties."""
        if options.half != TIES or not self.half_draws:
            return self.labels
        return {**self.labels, TIE: self.labels.get(TIE, 0) + self.half_draws}


@dataclass(frozen=True, slots=True)
class Justification:
    """The reason that a judge gave for a label, or for the score of one text."""

    key: Key
    label: str | float
    text: str


@dataclass(frozen=True, slots=True)
class StyleJudgements:
    """The judgements of all files."""

    units: tuple[JudgedUnit, ...]
    lines: int
    verdicts: Mapping[tuple[str, str, str], Mapping[str, int]]  # counts by kind, judge and scheme, as recorded
    justifications: tuple[Justification, ...]
    passed_over: Mapping[str, int]  # count of each field that is not read


def read_judged(paths: Iterable[Path]) -> StyleJudgements:
    """Read the judgements of all files. Raises InputError that names file, line and field of the first faulty line."""
    lines: list[Line] = []
    locations: dict[tuple[Key, Part], str] = {}  # file and line
    abouts: dict[tuple[str, str, str], tuple[About, str]] = {}
    passed_over: Counter[str] = Counter()

    def read(path: Path, value: dict[str, Any], number: int) -> None:
        line, location = parse_line(value), f"{path}:{number}"
        # one item is for one task, of one persona, by one generator
        about, before = abouts.setdefault((line.key.kind, line.key.item, line.key.style), (line.about, location))
        for name in ("task", "persona", "generators", "request"):
            if getattr(about, name) != getattr(line.about, name):
                message = f"the item '{line.key.item}' has another {name.removesuffix('s')} than at {before}."
                raise InputError(message, param=name.removesuffix("s"))
        if (line.key, line.part) in locations:
            raise InputError(
                f"draw {line.part[0]} of the item '{line.key.item}' by '{line.key.judge}' is at "
                f"{locations[line.key, line.part]} already.",
                param="draw",
            )
        locations[line.key, line.part] = location
        lines.append(line)

    for path in paths:
        passed_over.update(read_lines(path, FIELDS, partial(read, path), "judgement").passed_over)
    drawn: dict[Key, list[Line]] = defaultdict(list)
    verdicts: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
    for line in lines:
        drawn[line.key].append(line)
        verdicts[line.key.kind, line.key.judge, line.key.scheme][line.verdict] += 1
    return StyleJudgements(
        units=tuple(_unit(key, of_key) for key, of_key in drawn.items()),
        lines=len(lines),
        verdicts=dict(verdicts),
        justifications=tuple(
            Justification(line.key, line.said, why)
            for line in lines
            if line.said is not None and (why := reasons(line.reply, NAMES))
        ),
        passed_over=dict(sorted(passed_over.items())),
    )


def _unit(key: Key, lines: Sequence[Line]) -> JudgedUnit:
    by_draw: dict[int, dict[str, str | float | None]] = defaultdict(dict)
    for line in lines:
        draw, part = line.part
        by_draw[draw][part] = line.said
    labels: Counter[str] = Counter()
    unused = half = 0
    for parts in by_draw.values():
        label = draw_label(parts)
        if label is None:
            unused += len(parts)
            half += any(isinstance(said, str) for said in parts.values())
        else:
            labels[label] += 1
    replies = {line.reply for line in lines}
    return JudgedUnit(
        key=key,
        about=lines[0].about,
        labels=dict(labels),
        means=mean_scores((line.part[1], line.said) for line in lines),
        lines=len(lines),
        unused=unused,
        half_draws=half,
        same_reply=len(by_draw) > 1 and len(replies) == 1 and replies != {""},
        levels=dict(Counter(line.level for line in lines if line.level is not None)),
        scores=tuple(line.score for line in lines if line.score is not None),
    )
