"""The figures of ``pearl eval corrected``: how often a judge gives each label, corrected for its errors; and how
certain the judge must be to be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.recorded.labels import JudgedItem, LabelledItems, PeopleLabels, matched
from eval.report.tables import Columns, Declared, Json, Table, missing_words, rows_tables
from eval.stats.corrected import confusion, obstacle, prediction_powered, resampled
from eval.stats.proportions import interval_json, wilson_json
from pearl.errors import InputError
from pearl.stats.bootstrap import Floats


@dataclass(frozen=True, slots=True)
class Threshold:
    """A threshold of certainty, with the judge's errors on the labelled items whose certainty reaches the threshold."""

    certainty: float  # percent
    labelled: int  # items
    wrong: int  # of the labelled
    bound: float  # upper, of the share that is wrong


def fixed_sequence(certainty: Floats, wrong: NDArray[np.bool_], risk: float, confidence: float) -> Iterator[Threshold]:
    """Test thresholds of certainty in descending order, and yield each, up to the first whose error bound is above
    ``risk``. Thresholds that too few items reach are skipped. ``certainty`` and ``wrong``, (N,), describe the judge's
    answers on labelled items; a certainty of NaN means that none was stated."""
    fewest = math.log(1 - confidence) / math.log(1 - risk)
    for level in np.unique(certainty[np.isfinite(certainty)])[::-1]:
        reached = certainty >= level
        number = int(reached.sum())
        if number < fewest:
            continue
        mistakes = int((reached & wrong).sum())
        step = Threshold(float(level), number, mistakes, upper_bound(mistakes, number, confidence))
        yield step
        if step.bound > risk:
            return


def trusted_from(steps: list[Threshold], risk: float) -> Threshold | None:
    """The lowest threshold in ``steps`` (of :func:`fixed_sequence`) that passed its test; None if none passed."""
    held = [step for step in steps if step.bound <= risk]
    return held[-1] if held else None


def upper_bound(wrong: int, number: int, confidence: float) -> float:
    """Clopper and Pearson's one-sided upper confidence bound of the error rate of ``wrong`` errors in ``number``."""
    from scipy.stats import beta

    return 1.0 if wrong == number else float(beta.ppf(confidence, wrong + 1, number - wrong))


ESTIMATES = {  # of a rate: a key of the JSON, and how tables call it
    "raw": "as the judge says",
    "labelled_only": "by the labels alone",
    "corrected": "corrected",
    "prediction_powered": "prediction-powered",
}
CONFUSION: Declared = {
    "confusion": ("What the judge says of what people labelled.", "label said agreement labelled"),
}


@dataclass(frozen=True, slots=True)
class CorrectedOptions:
    """The options of ``pearl eval corrected``."""

    risk: float = 0.1  # highest error rate of a trusted judge
    confidence: float = 0.95  # that its error rate is no higher
    seed: int = 0


def corrected_report(
    items: Sequence[JudgedItem], people: PeopleLabels, options: CorrectedOptions = CorrectedOptions()
) -> dict[str, Any]:
    """Make the result of ``pearl eval corrected``: four estimates of each label's rate, the judge's confusion with
    people's labels, and the certainty from which the judge may be trusted. Raises InputError for unusable labels."""
    if not 0 < options.risk < 1 or not 0 < options.confidence < 1:
        raise InputError("--risk and --confidence lie between 0 and 1.")
    labelled = matched(items, people)
    data = labelled.data
    drawn, why = resampled(data, seed=options.seed), obstacle(data)
    rows, powered = confusion(data), prediction_powered(data)
    number = [int((data.gold == index).sum()) for index in range(len(data.labels))]
    # the true rates, where the judgements carry the right label of every item and only some were used
    right = [item.right for item in items if item.answers]
    known = None not in right and len(people.labels) < len(right)
    return {
        "items": len(items),
        "items_without_answer": labelled.unanswered,
        "labelled": sum(number),
        "labels_without_majority": labelled.undecided,
        "labels_missing": people.missing,
        "labels": people.file,
        "rates": [
            {
                "label": label,
                "raw": drawn.raw[index].to_json(),
                "labelled_only": wilson_json(number[index], sum(number)),
                "corrected": drawn.corrected and drawn.corrected[index].to_json(),
                "prediction_powered": powered[index].to_json(),
                **({"known": right.count(label) / len(right)} if known else {}),
            }
            for index, label in enumerate(data.labels)
        ],
        "undefined": {"corrected": why} if why else {},
        "confusion": [
            {
                "label": label,
                "labelled": number[index],
                "agreement": interval_json(drawn.agreement[index]),
                "said": dict(zip(data.labels, rows[index].round(9).tolist(), strict=True)) if number[index] else None,
            }
            for index, label in enumerate(data.labels)
        ],
        "trusted": trusted_report(labelled, options),
    }


def trusted_report(items: LabelledItems, options: CorrectedOptions) -> dict[str, Any]:
    """The lowest certainty from which the judge's error rate stays below the risk, the share of answers that reach this
    certainty, and every threshold tested. The certainty is None if no threshold passes."""
    among = items.data.labelled
    certainty, wrong = items.certainty[among], items.wrong[among] > 0
    steps = list(fixed_sequence(certainty, wrong, options.risk, options.confidence))
    chosen = trusted_from(steps, options.risk)
    if chosen is None:
        reason = "the most certain answers are wrong too often" if steps else "too few labelled items have a certainty"
        figures: dict[str, Any] = {"threshold": None, "reason": reason, "coverage": None, "error": None, "bound": None}
    else:
        figures = {
            "threshold": chosen.certainty,
            "reason": None,
            "coverage": wilson_json(int((items.certainty >= chosen.certainty).sum()), len(items.certainty)),
            "error": wilson_json(chosen.wrong, chosen.labelled),
            "bound": round(chosen.bound, 9),
        }
    return {
        "risk": options.risk,
        "confidence": options.confidence,
        **figures,
        "error_of_all": wilson_json(int(wrong.sum()), len(wrong)),
        "tested": [
            {"certainty": step.certainty, "labelled": step.labelled, "wrong": step.wrong, "bound": round(step.bound, 9)}
            for step in steps
        ],
        "levels": len(np.unique(certainty[np.isfinite(certainty)])),
    }


def corrected_tables(result: Json) -> Iterator[Table]:
    """Tables of the rates, of the judge's confusion, and of when the judge may be trusted, from the report's result."""
    caption = (
        f"Rates over {result['items']:,} items, {result['labelled']:,} of them labelled by people"
        f"{missing_words(result['labels_missing'])}; "
        f"{result['items_without_answer']:,} without an answer are left out. 95% intervals over items."
    )
    if why := result["undefined"].get("corrected"):
        caption += f" Not corrected: {why}."
    columns: Columns = {"rate of": "label", **{title: name for name, title in ESTIMATES.items()}}
    columns |= {"by all labels": "known"} if "known" in result["rates"][0] else {}
    yield Table.of(caption, result["rates"], columns, result.get("command", ""))
    yield from rows_tables(result, CONFUSION)
    trusted = result["trusted"]
    wanted = f"an error of at most {trusted['risk']:g}, with confidence {trusted['confidence']:g}"
    found = {wanted: f"no threshold reaches it: {trusted['reason']}"}
    if trusted["threshold"] is not None:
        found = {wanted: f"certainty {trusted['threshold']:g} or more"}
        found |= {"share of the items answered then": trusted["coverage"]}
        found |= {"error among the labelled ones": trusted["error"], "its bound": trusted["bound"]}
    yield Table.facts("When the judge may be trusted.", {**found, "error of all": trusted["error_of_all"]})
