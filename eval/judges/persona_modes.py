"""The ablation of a persona (papers/personalized-judge.txt, table 8): the personalised judge is asked again about the
same items, with fewer of the persona's fields or none. Dimensions in comments: N trials, I items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eval.asking.verdict import Failed, Given, certainty_of, is_correct
from eval.judges.judge import Judgement, Judgements, grouped, verdict_counts
from eval.recorded.personalized.reading import counted
from eval.recorded.personalized.reply import ReplyForm
from eval.report.tables import NOTHING, Columns, Json, Table, interval, shown
from eval.stats.proportions import add_holm, wilson_json
from pearl.stats.bootstrap import Bootstrap, Floats, drawn
from pearl.stats.proportions import even_p


@dataclass(frozen=True, slots=True)
class Mode:
    """A way of asking the personalised judge. ``persona``: whether the person's profile is shown; ``fields``: the
    fields to show, None for all; ``asked``: the form of the reply."""

    persona: bool = True
    fields: tuple[str, ...] | None = None
    asked: ReplyForm = field(default_factory=ReplyForm)

    @property
    def told(self) -> str:
        """Name the fields of the persona that the judge is told."""
        return ("all fields" if self.fields is None else ", ".join(self.fields)) if self.persona else "no persona"


@dataclass(frozen=True, slots=True)
class ModeColumns:
    """The judgements of one mode as columns of 1 or 0, (N,) each, in the same order for all modes. ``there``: there is
    a reply; ``answered``: it has an answer; ``counted``: it counts for the accuracy. ``certainty``: NaN if missing or
    not counted."""

    judgements: Sequence[Judgement[Any]]
    there: Floats
    answered: Floats
    counted: Floats
    correct: Floats
    certainty: Floats

    @classmethod
    def of(cls, judgements: Sequence[Judgement[Any]], mode: Mode, unparsed: str) -> ModeColumns:
        verdicts = [judgement.verdict for judgement in judgements]
        there = np.array([not isinstance(verdict, Failed) for verdict in verdicts], float)
        answered = np.array([isinstance(verdict, Given) for verdict in verdicts], float)
        counts = there * np.isin(np.arange(len(verdicts)), counted(verdicts, mode.asked, unparsed))
        correct = [is_correct(judgement.of_item(), judgement.trial.item.preferred) for judgement in judgements]
        said = np.array([certainty_of(verdict) or np.nan for verdict in verdicts], float)
        return cls(judgements, there, answered, counts, np.array(correct, float), np.where(counts > 0, said, np.nan))


def ablation(judgements: Judgements[Any], unparsed: str, threshold: float, seed: int) -> dict[str, Any]:
    """Compute the figures of each mode, and how the other modes differ from the first. Intervals are by bootstrap over
    personas; McNemar's test is over items, each better or worse by the majority of its judgements."""
    by_way = grouped(judgements.every, lambda trial: trial.way)
    by_mode = {mode: ModeColumns.of(of_mode, mode, unparsed) for mode, of_mode in by_way.items()}
    (first, full), *others = by_mode.items()
    items, asked = judgements.items.every, [judgement.trial.item for judgement in full.judgements]
    bootstrap = Bootstrap(drawn([item.cluster for item in asked], [item.id for item in asked]), seed=seed)
    return {
        "less": first.told,
        "items": len(items),
        "personas": len({item.cluster for item in asked}),
        "modes": [_mode_row(mode, columns, items, bootstrap, threshold) for mode, columns in by_mode.items()],
        "differences": add_holm([_difference(mode, less, full, bootstrap, threshold) for mode, less in others]),
    }


def _mode_row(
    mode: Mode, columns: ModeColumns, items: Sequence[Any], bootstrap: Bootstrap, threshold: float
) -> dict[str, Any]:
    from eval.recorded.personalized.report import undefined
    from eval.stats.certainty import CertainAnswers, auroc

    certain = CertainAnswers(columns.correct, columns.certainty, bootstrap)
    high, area = certain.at_least(threshold), auroc(certain)

    def share(part: Floats, among: Floats) -> dict[str, Any]:
        inside = part * among
        sizes = int(inside.sum()), int(among.sum())
        interval = bootstrap.share(part, among).to_json()
        return {"part": sizes[0], "of": sizes[1], "interval": interval, "wilson": wilson_json(*sizes)}

    return {
        "told": mode.told,
        "n": int(columns.there.sum()),
        "failed": verdict_counts(columns.judgements)["failed"],
        "items_without_a_field": sum(mode.persona and not item.profile(mode.fields) for item in items),
        "accuracy": share(columns.correct, columns.counted),
        "accuracies": {
            "invalid_wrong": share(columns.correct, columns.there),
            "invalid_dropped": share(columns.correct, columns.answered),
        },
        "high_share": share(high, columns.counted) if mode.asked.certainty else None,
        "high": share(columns.correct, high) if mode.asked.certainty else None,
        "auroc": area.to_json(),
        "undefined": undefined(certain, {"auroc": area}),
    }


def _difference(
    mode: Mode, less: ModeColumns, full: ModeColumns, bootstrap: Bootstrap, threshold: float
) -> dict[str, Any]:
    """Compare a mode with the first mode on the trials that count in both."""
    both = less.counted * full.counted

    def difference(of_less: Floats, of_full: Floats) -> dict[str, float] | None:
        return (bootstrap.ratio(of_less * both, both) - bootstrap.ratio(of_full * both, both)).to_json()

    high, high_full = ((columns.certainty >= threshold).astype(float) for columns in (less, full))
    places = [judgement.trial.place for judgement in less.judgements]
    by_item = np.bincount(places, weights=(less.correct - full.correct) * both)  # (I,)
    better, worse = int((by_item > 0).sum()), int((by_item < 0).sum())
    return {
        "told": mode.told,
        "n": int(both.sum()),
        "accuracy": difference(less.correct, full.correct),
        "high_share": difference(high, high_full) if mode.asked.certainty else None,
        "items_better": better,
        "items_worse": worse,
        "p_value": even_p(better, worse),
    }


def ablation_tables(result: Json) -> Iterator[Table]:
    ablations = result["ablation"]
    caption = (
        f"What the judge makes of less: {ablations['items']:,} items, the same orders and runs; 95% intervals by "
        f"bootstrap over {ablations['personas']:,} personas."
    )
    who: Columns = {"told": "told", "judgements": "n"}
    modes: Columns = who | {
        "accuracy": lambda row: _share(row["accuracy"]),
        "with an answer only": lambda row: _share(row["accuracies"]["invalid_dropped"]),
        f"certainty {result['threshold']:g} or more": lambda row: _share(row["high_share"]),
        "accuracy of these": lambda row: _share(row["high"]),
        "AUROC": "auroc",
    }
    yield Table.of(caption, ablations["modes"], modes, result["command"])
    less: Columns = who | {
        "accuracy": interval("accuracy", sign=True),
        "share of high certainty": interval("high_share", sign=True),
        "items better / worse": lambda row: f"{row['items_better']:,} / {row['items_worse']:,}",
        "p (McNemar, Holm)": lambda row: f"{row['p_holm']:.3g}",
    }
    caption = f"Each less {ablations['less']}, of the judgements that count in both."
    yield Table.of(caption, ablations["differences"], less)


def _share(share: Json | None) -> str:
    return NOTHING if share is None else f"{shown(share['interval'], 3)} {share['part']}/{share['of']}"
