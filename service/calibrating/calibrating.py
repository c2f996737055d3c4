"""The whole calibration, from past texts to the stored values; :func:`calibrate` shows its steps in order.

Dimensions in comments: N texts, O options.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pearl.errors import InputError, PearlError
from pearl.models.asking.cost import CallEstimate
from pearl.models.asking.patience import Failed
from pearl.models.asking.write import UNREADABLE
from pearl.models.chat.base import Reply
from pearl.models.prompts import Prompt
from pearl.records import Prices, Usage
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats
from pearl.stats.chance import CHANCE, permutation_p_value
from pearl.theta import EVERYTHING, theta_json
from service.calibrating.study import DraftMeasures, PastText, SelectionRule, Study, combined, flat
from service.calibrating.writer import CalibrationWriter
from service.drafting.deciding import LEAST_TEXTS

DRAFTED_BY = 0.8  # share of the time after which no more drafts are requested
Json = dict[str, Any]
Values = Mapping[str, np.ndarray[Any, np.dtype[np.float64]]]  # metric -> (N, O)
FOLDS = 10  # to measure a held-out gain: each fold uses the option that all other texts choose


@dataclass(frozen=True, slots=True)
class CalibrationOutcome:
    """The values that a calibration chose, and the figures behind the choice."""

    settings: Json  # those that are better than their defaults
    figures: Json  # how they were chosen


def estimate(study: Study, writer: CalibrationWriter) -> CallEstimate:
    """Estimate how many calls and tokens a study takes at most, and count the replies kept from earlier runs. A text
    without a kept revision counts as one further call."""
    prompts = flat(study.draft_prompts(writer))
    drafts, answers = writer.survey(prompts, study.drafting), iter(writer.kept(prompts, study.drafting))
    revising = []
    for text in study.past:
        kept = {number: next(answers) for number in study.numbers(text)}
        revised = _revised_before(study, writer, text, kept)
        revising.append(revised or study.revision_prompt(writer, text, study.numbers(text)[-1], ""))
    revisions = writer.survey(revising, study.revising)
    longest = Usage(study.max_tokens * revisions.missing)  # the drafts are in the prompts
    questions = drafts.questions + revisions.questions
    return CallEstimate(questions, drafts.kept + revisions.kept, drafts.most + revisions.most + longest)


def _revised_before(
    study: Study, writer: CalibrationWriter, text: PastText, answers: Mapping[int, Reply | Failed]
) -> Prompt | None:
    """Return the prompt that revises one of the text's drafts, if a reply to it is kept, or None. ``answers``: the
    replies with the drafts, by the number of documents."""
    for number, answer in answers.items():
        draft = study.draft(text, number, answer).text
        prompt = None if draft is None else study.revision_prompt(writer, text, number, draft)
        if writer.survey([prompt], study.revising).kept:
            return prompt
    return None


def affordable(study: Study, writer: CalibrationWriter, prices: Prices, cap: float) -> Study:
    """Cut the study to the latest texts that certainly cost at most ``cap``. Raises InputError if they are too few."""
    fits, too_many = 0, len(study.past) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        cost = prices.of(estimate(replace(study, past=study.past[:middle]), writer).most)
        fits, too_many = (middle, too_many) if cost is not None and cost <= cap else (fits, middle)
    if fits < LEAST_TEXTS:
        least = prices.of(estimate(replace(study, past=study.past[:LEAST_TEXTS]), writer).most)
        raise InputError(f"--max-cost {cap:g}: {LEAST_TEXTS} texts, the fewest, may cost up to {least:.4g}; raise it.")
    return replace(study, past=study.past[:fits])


async def calibrate(study: Study, writer: CalibrationWriter, measures: DraftMeasures) -> CalibrationOutcome:
    """Draft past texts, choose margin and k, revise the drafts written with the chosen values, and choose theta.

    Raises ChatError if the endpoint is down, PearlError at the spending cap and for fewer texts than LEAST_TEXTS.
    Replies received before an error are kept.
    """
    drafts, failures = await _drafts(study, writer)
    study = replace(study, past=tuple(text for text, drafts_of in zip(study.past, drafts, strict=True) if drafts_of))
    drafts = [drafts_of for drafts_of in drafts if drafts_of]
    _check_enough(len(drafts), failures, "drafted")
    showing, shown = _choose_showing(study, drafts, measures)
    numbers = [study.number_shown(text, showing) for text in study.past]
    first = [drafts_of[number] for drafts_of, number in zip(drafts, numbers, strict=True)]
    prompts = [
        study.revision_prompt(writer, text, number, draft)
        for text, number, draft in zip(study.past, numbers, first, strict=True)
    ]
    answers = await writer.write("revisions", prompts, study.revising, 1.0)
    revised: list[str | None] = []
    failures = Counter()
    for text, number, prompt, answer, draft in zip(study.past, numbers, prompts, answers, first, strict=True):
        revision = study.revision(text, number, answer, prompt)
        # the service keeps the draft if it cannot read the revision
        revised.append(draft if revision.failure == UNREADABLE else revision.text)
        if revised[-1] is None:
            failures[str(revision.failure)] += 1
    pairs = [
        (text, draft, revision)
        for text, draft, revision in zip(study.past, first, revised, strict=True)
        if revision is not None
    ]
    _check_enough(len(pairs), failures, "revised")
    theta, threshold = _choose_theta(study, pairs, measures)
    settings = shown.pop("chosen") | theta
    return CalibrationOutcome(
        settings,
        {
            "texts": len(pairs),
            "metrics": list(measures.names),
            "metrics_left_out": measures.left_out,
            "unreadable_revisions": sum(revision is draft for _, draft, revision in pairs),
            "shown": shown,
            "threshold": threshold,
        },
    )


async def _drafts(study: Study, writer: CalibrationWriter) -> tuple[list[dict[int, str]], Counter[str]]:
    """Write the drafts. Return for each text its drafts by the number of documents, empty if one draft is missing, and
    the number of such texts by reason."""
    prompts = study.draft_prompts(writer)
    answers = iter(await writer.write("drafts", flat(prompts), study.drafting, DRAFTED_BY))
    drafts: list[dict[int, str]] = []
    failures: Counter[str] = Counter()
    for text in study.past:
        written = {number: study.draft(text, number, next(answers)) for number in study.numbers(text)}
        failure = next((draft.failure for draft in written.values() if draft.failure), None)
        if failure is not None:
            failures[failure] += 1
        drafts.append({} if failure else {number: draft.text or "" for number, draft in written.items()})
    return drafts, failures


def _check_enough(texts: int, failures: Mapping[str, int], what: str) -> None:
    if texts < LEAST_TEXTS:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(failures.items()))
        raise PearlError(
            f"Only {texts} texts were {what}, fewer than {LEAST_TEXTS} ({reasons}); run it again to ask for the rest."
        )


def _choose_showing(
    study: Study, drafts: Sequence[Mapping[int, str]], measures: DraftMeasures
) -> tuple[SelectionRule, Json]:
    """Choose margin and k; return them and the figures of the choice, whose ``chosen`` is empty for the default."""
    if study.exactly:
        return study.default, {"chosen": {}, "reason": "the voice names k"}
    showings = study.showings()
    shown_drafts = [  # for each text and each rule the index of the draft that it shows, (N, O)
        [list(by_number).index(study.number_shown(text, showing)) for showing in showings]
        for text, by_number in zip(study.past, drafts, strict=True)
    ]
    written = [
        (text, draft) for text, by_number in zip(study.past, drafts, strict=True) for draft in by_number.values()
    ]
    measured = measures.measure([text for text, _ in written], [draft for _, draft in written])
    starts = np.cumsum([0, *(len(by_number) for by_number in drafts[:-1])])
    rows = starts[:, None] + np.array(shown_drafts)
    values = {name: scores[rows] for name, scores in measured.items()}
    scores = combined(values)
    choice = choose_option(scores)
    showing = showings[choice.index]
    chosen: Json = {}
    if showing != study.default:
        chosen = {"margin": showing.margin, "k": showing.k}
    best = showings[choice.best]
    figures = {
        "chosen": chosen,
        "default": {"margin": study.default.margin, "k": study.default.k},
        "best": {"margin": best.margin, "k": best.k},
        "tried": len(showings),
        "by_chance": round(choice.by_chance, 4),
        "gain": _gains(choice.gain, values, scores),
    }
    return showing, figures


def _choose_theta(
    study: Study, pairs: Sequence[tuple[PastText, str, str]], measures: DraftMeasures
) -> tuple[Json, Json]:
    """Choose theta; return it as a setting, empty for the default, and the figures of the choice."""
    past = [text for text, _, _ in pairs]
    both = measures.measure([*past, *past], [*(draft for _, draft, _ in pairs), *(revised for _, _, revised in pairs)])
    scores = np.array([text.top_score for text in past])
    known = np.unique(scores)
    between = ((known[1:] + known[:-1]) / 2).tolist()
    thetas: list[float | None] = list(dict.fromkeys((study.trained.threshold, None, EVERYTHING, *between)))
    revises = np.column_stack([scores < (-np.inf if theta is None else theta) for theta in thetas])  # (N, O)
    values = {
        name: np.where(revises, scored[len(past) :, None], scored[: len(past), None]) for name, scored in both.items()
    }
    together = combined(values)
    choice = choose_option(together)
    theta = thetas[choice.index]
    figures = {
        "value": theta_json(theta),
        "default": theta_json(study.trained.threshold),
        "best": theta_json(thetas[choice.best]),
        "tried": len(thetas),
        "share_revised": float(revises[:, choice.index].mean()),
        "by_chance": round(choice.by_chance, 4),
        "gain": _gains(choice.gain, values, together),
        "curve": [
            {
                "threshold": theta_json(theta),
                "share_revised": round(float(revises[:, index].mean()), 4),
                **{name: round(float(scored[:, index].mean()), 6) for name, scored in values.items()},
            }
            for index, theta in enumerate(thetas)
        ],
    }
    return ({} if choice.index == 0 else {"threshold": theta_json(theta)}), figures


def _gains(gain: Any, values: Values, together: Any) -> Json:
    """Return the held-out gain over the default for each metric, and for all combined, in standard deviations."""
    return {name: gain(figures).to_json() for name, figures in chain(values.items(), [("combined", together)])}


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """A choice among options, such as values of theta, by their values on past texts; option 0 is the default."""

    index: int  # the chosen option
    best: int  # the option of the highest mean; not chosen if its gain may be chance
    by_chance: float  # share of random exchanges whose best option gains as much
    held_out: NDArray[np.intp]  # (N,), for each text the option that the other folds choose

    def gain(self, values: Floats) -> Estimate:
        """Estimate the mean gain over the default by cross-validation. ``values``: one metric of texts and options, (N,
        O)."""
        texts = np.arange(len(values))
        return Bootstrap([str(text) for text in texts]).mean(values[texts, self.held_out] - values[:, 0])


def choose_option(values: Floats) -> OptionChoice:
    """Choose the option with the highest mean of ``values`` (N, O), the first of equals. Option 0, the default, is
    chosen if the gain over it may be chance (permutation test).

    The rows are texts in order of time; in the cross-validation every tenth text is in the same fold.
    """
    folds = np.arange(len(values)) % FOLDS
    held_out = np.array([int(values[folds != fold].mean(axis=0).argmax()) for fold in folds], np.intp)
    best = int(values.mean(axis=0).argmax())
    by_chance = permutation_p_value(
        values[:, :1], values.T[1:, :, None], lambda sums: sums[:, 0], np.arange(len(values))
    )
    return OptionChoice(best if best and by_chance <= CHANCE else 0, best, by_chance, held_out)
