"""Simple baselines for the personalised judge, such as always A or the longer text, and how strongly the judge itself
prefers the first or the longer text. A baseline that cannot tell two texts apart is counted as half right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eval.asking.lines import folded
from eval.asking.verdict import Answer, Given
from eval.recorded.personalized.judgements import RecordedJudgement, Recording, persona_words, tokens
from eval.recorded.personalized.reading import RecordingVerdicts
from eval.stats.proportions import add_holm, wilson_json
from pearl.stats.bootstrap import Bootstrap, Floats
from pearl.stats.proportions import even_p

Choose = Callable[[RecordedJudgement], float]  # above 0 for A, below it for B, 0 for neither
DESCRIPTIONS = {
    "majority": "the right answer that is most common in the file",
    "first": "always A",
    "second": "always B",
    "longer": "the text with more characters",
    "shorter": "the text with fewer characters",
    "commoner": "the text that more records of the file show",
    "rarer": "the text that fewer records of the file show",
    "persona_words": "the text with more of the persona's own words, those that few personas share",
}


def _choosers(recording: Recording) -> dict[str, Choose]:
    """The baselines that can be computed from the recording's fields, by name."""
    choosers: dict[str, Choose] = {"first": lambda record: 1.0, "second": lambda record: -1.0}
    if not any(record.texts for record in recording.judgements):
        return choosers
    shown = Counter(folded(text) for record in recording.judgements for text in record.texts or ())
    choosers["longer"] = _longer
    choosers["shorter"] = lambda record: -_longer(record)
    choosers["commoner"] = lambda record: _more(record, lambda text: shown[folded(text)])
    choosers["rarer"] = lambda record: -choosers["commoner"](record)
    if recording.has_persona:
        words_of = persona_words(recording)
        choosers["persona_words"] = lambda record: _more(record, lambda text: len(words_of(record) & set(tokens(text))))
    return choosers


def _longer(judgement: RecordedJudgement) -> float:
    return _more(judgement, lambda text: len(text.strip()))


def _more(judgement: RecordedJudgement, measure: Callable[[str], int]) -> float:
    first, second = map(measure, judgement.texts or ("", ""))
    return float(np.sign(first - second))


def baselines(read: RecordingVerdicts, bootstrap: Bootstrap) -> list[dict[str, Any]]:
    """Compare the judge with each baseline on the counted records: the baseline's accuracy, the judge's paired
    difference with an interval over personas, and McNemar's p-value with Holm's correction."""
    judgements = [read.recording.judgements[i] for i in read.counted]
    golds = [judgement.gold for judgement in judgements]
    most, _ = Counter(golds).most_common(1)[0]
    scores = {"majority": np.array([float(gold is most) for gold in golds])}
    sides = np.array([{Answer.A: 1.0, Answer.B: -1.0}.get(gold, np.nan) for gold in golds])  # (N,)
    for name, choose in _choosers(read.recording).items():
        says = np.array([choose(judgement) for judgement in judgements])
        scores[name] = np.where(np.isnan(sides), 0.0, np.where(says == 0, 0.5, says == sides))
    return add_holm([_row(name, values, read.correct, bootstrap) for name, values in scores.items()])


def _row(name: str, baseline: Floats, judge: Floats, bootstrap: Bootstrap) -> dict[str, Any]:
    decided = baseline != 0.5
    better, worse = (int((judge[decided] > baseline[decided]).sum()), int((judge[decided] < baseline[decided]).sum()))
    return {
        "name": name,
        "description": DESCRIPTIONS[name],
        "correct": float(baseline.sum()),
        "total": len(baseline),
        "undecided": int((~decided).sum()),
        "accuracy": float(baseline.mean()),
        "interval": bootstrap.share(baseline).to_json(),
        "difference": (bootstrap.mean(judge) - bootstrap.mean(baseline)).to_json(),
        "judge_only": better,
        "baseline_only": worse,
        "p_value": even_p(better, worse),
    }


def preferences(read: RecordingVerdicts) -> dict[str, Any]:
    """Shares in which the judge chooses the first and the longer text, and in which they are right, without ties."""
    chosen = [
        (verdict.answer, judgement.gold, _longer(judgement))
        for verdict, judgement in zip(read.verdicts, read.recording.judgements, strict=True)
        if isinstance(verdict, Given) and {verdict.answer, judgement.gold} <= {Answer.A, Answer.B}
    ]
    longer = [(said, gold, Answer.A if more > 0 else Answer.B) for said, gold, more in chosen if more]
    return {"first": _rates([(said, gold, Answer.A) for said, gold, _ in chosen]), "longer": _rates(longer)}


def _rates(choices: Sequence[tuple[Answer, Answer, Answer]]) -> dict[str, Any]:
    """Shares in which the judge's answer (the first of each triple), and the right answer (the second), is the
    third."""
    judge, gold = (sum(row[index] is row[2] for row in choices) for index in (0, 1))
    return {"n": len(choices), "judge": wilson_json(judge, len(choices)), "gold": wilson_json(gold, len(choices))}
