"""The whole calibration, from past texts to the values that are kept, readable top to bottom in ``calibrate``.

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

from pearl.asking.cost import Prices, Survey
from pearl.asking.patience import Failed
from pearl.asking.write import UNREADABLE
from pearl.chat.base import Reply
from pearl.errors import InputError, PearlError
from pearl.prompts import Prompt
from pearl.records import Usage
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats
from pearl.stats.chance import CHANCE, share_by_chance
from pearl.theta import EVERYTHING, theta_json
from service.calibrating.measures import DraftMeasures, combined
from service.calibrating.past import PastText
from service.calibrating.study import SelectionRule, Study, flat
from service.calibrating.writer import CalibrationWriter
from service.drafting.deciding import LEAST_TEXTS

DRAFTED_BY = 0.8  # of the time
Json = dict[str, Any]
Values = Mapping[str, np.ndarray[Any, np.dtype[np.float64]]]  # metric -> (N, O)
FOLDS = 10  # by which the gain of a choice is held out: for each fold counts what all other texts choose


@dataclass(frozen=True, slots=True)
class CalibrationOutcome:
    """``settings`` are the values that are better than their defaults, ``figures`` how they were chosen."""

    settings: Json
    figures: Json


def estimate(study: Study, writer: CalibrationWriter) -> Survey:
    """The calls, tokens and replies that are kept, at most: what is revised is not known before it is drafted. A text
    with a kept revision is taken to need no other."""
    prompts = flat(study.draft_prompts(writer))
    drafts, answers = writer.survey(prompts, study.drafting), iter(writer.kept(prompts, study.drafting))
    revising = []
    for text in study.past:
        mine = {number: next(answers) for number in study.numbers(text)}
        revised = _revised_before(study, writer, text, mine)
        revising.append(revised or study.revision_prompt(writer, text, study.numbers(text)[-1], ""))
    revisions = writer.survey(revising, study.revising)
    longest = Usage(study.max_tokens * revisions.missing)  # the drafts are in the prompts
    questions = drafts.questions + revisions.questions
    return Survey(questions, drafts.kept + revisions.kept, drafts.most + revisions.most + longest)


def _revised_before(
    study: Study, writer: CalibrationWriter, text: PastText, answers: Mapping[int, Reply | Failed]
) -> Prompt | None:
    """The prompt that revises one of the text's drafts, by the number of documents, where a reply to it is kept."""
    for number, answer in answers.items():
        draft = study.draft(text, number, answer).text
        prompt = None if draft is None else study.revision_prompt(writer, text, number, draft)
        if writer.survey([prompt], study.revising).kept:
            return prompt
    return None


def affordable(study: Study, writer: CalibrationWriter, prices: Prices, cap: float) -> Study:
    """The study of as many texts, the latest, as cost no more than the cap for sure. Raises InputError for too few."""
    fits, too_many = 0, len(study.past) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        cost = prices.of(estimate(replace(study, past=study.past[:middle]), writer).most)
        fits, too_many = (middle, too_many) if cost is not None and cost <= cap else (fits, middle)
    if fits < LEAST_TEXTS:
        least = prices.of(estimate(replace(study, past=study.past[:LEAST_TEXTS]), writer).most)
        raise InputError(
            f"--max-cost {cap:g}: {LEAST_TEXTS} texts, the fewest, may cost up to {least:.4g}; raise it.",
            param="max_cost",
            code="spending_cap",
        )
    return replace(study, past=study.past[:fits])


async def calibrate(study: Study, writer: CalibrationWriter, measures: DraftMeasures) -> CalibrationOutcome:
    """Draft, choose margin and k, revise what these would have shown, and choose theta.

    Raises ChatError when the endpoint is down, PearlError at the highest cost and for fewer texts than LEAST_TEXTS;
    every reply that came is kept by then.
    """
    drafts, failures = await _drafts(study, writer)
    study = replace(study, past=tuple(text for text, mine in zip(study.past, drafts, strict=True) if mine))
    drafts = [mine for mine in drafts if mine]
    _check_enough(len(drafts), failures, "drafted")
    showing, shown = _choose_showing(study, drafts, measures)
    numbers = [study.number_shown(text, showing) for text in study.past]
    first = [mine[number] for mine, number in zip(drafts, numbers, strict=True)]
    prompts = [
        study.revision_prompt(writer, text, number, draft)
        for text, number, draft in zip(study.past, numbers, first, strict=True)
    ]
    answers = await writer.write("revisions", prompts, study.revising, 1.0)
    revised: list[str | None] = []
    failures = Counter()
    for text, number, prompt, answer, draft in zip(study.past, numbers, prompts, answers, first, strict=True):
        revision = study.revision(text, number, answer, prompt)
        # the service keeps the draft where it cannot read the revision
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
    """For each text its drafts by the number of documents, empty where one of them is missing; and the number of such
    texts by the reason."""
    prompts = study.draft_prompts(writer)
    answers = iter(await writer.write("drafts", flat(prompts), study.drafting, DRAFTED_BY))
    drafts: list[dict[int, str]] = []
    failures: Counter[str] = Counter()
    for text in study.past:
        mine = {number: study.draft(text, number, next(answers)) for number in study.numbers(text)}
        failure = next((written.failure for written in mine.values() if written.failure), None)
        if failure is not None:
            failures[failure] += 1
        drafts.append({} if failure else {number: written.text or "" for number, written in mine.items()})
    return drafts, failures


def _check_enough(texts: int, failures: Mapping[str, int], what: str) -> None:
    if texts < LEAST_TEXTS:
        reasons = ", ".join(f"{count} {reason}" for reason, count in sorted(failures.items()))
        raise PearlError(
            f"Only {texts} texts were {what}, fewer than {LEAST_TEXTS} ({reasons}); run it again to ask for the rest.",
            code="too_few_texts",
        )


def _choose_showing(
    study: Study, drafts: Sequence[Mapping[int, str]], measures: DraftMeasures
) -> tuple[SelectionRule, Json]:
    """Margin and k, with the account of the choice; ``chosen`` has those that are better than the default."""
    if study.exactly:
        return study.default, {"chosen": {}, "reason": "the voice names k"}
    showings = study.showings()
    places = [
        [list(mine).index(study.number_shown(text, showing)) for showing in showings]
        for text, mine in zip(study.past, drafts, strict=True)
    ]
    written = [(text, draft) for text, mine in zip(study.past, drafts, strict=True) for draft in mine.values()]
    measured = measures.measure([text for text, _ in written], [draft for _, draft in written])
    starts = np.cumsum([0, *(len(mine) for mine in drafts[:-1])])
    at = np.array([[start + place for place in mine] for start, mine in zip(starts, places, strict=True)])
    values = {name: scores[at] for name, scores in measured.items()}
    scores = combined(values)
    choice = choose_option(scores)
    showing = showings[choice.place]
    chosen: Json = {}
    if showing != study.default:
        chosen = {"margin": showing.margin, "k": showing.k}
    best = showings[choice.best]
    account = {
        "chosen": chosen,
        "default": {"margin": study.default.margin, "k": study.default.k},
        "best": {"margin": best.margin, "k": best.k},
        "tried": len(showings),
        "by_chance": round(choice.by_chance, 4),
        "gain": _gains(choice.gain, values, scores),
    }
    return showing, account


def _choose_theta(
    study: Study, pairs: Sequence[tuple[PastText, str, str]], measures: DraftMeasures
) -> tuple[Json, Json]:
    """Theta, where it is better than the default, and the account of the choice."""
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
    theta = thetas[choice.place]
    account = {
        "value": theta_json(theta),
        "default": theta_json(study.trained.threshold),
        "best": theta_json(thetas[choice.best]),
        "tried": len(thetas),
        "share_revised": float(revises[:, choice.place].mean()),
        "by_chance": round(choice.by_chance, 4),
        "gain": _gains(choice.gain, values, together),
        "curve": [
            {
                "threshold": theta_json(theta),
                "share_revised": round(float(revises[:, place].mean()), 4),
                **{name: round(float(mine[:, place].mean()), 6) for name, mine in values.items()},
            }
            for place, theta in enumerate(thetas)
        ],
    }
    return ({} if choice.place == 0 else {"threshold": theta_json(theta)}), account


def _gains(gain: Any, values: Values, together: Any) -> Json:
    """The held-out gain over the default by each metric, and by all together in standard deviations."""
    return {name: gain(figures).to_json() for name, figures in chain(values.items(), [("combined", together)])}


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """``place`` is the chosen option's, ``best`` that of the highest mean; they differ where it may be chance, and the
    first option, the default, stays. ``by_chance``: the share of random exchanges whose best option gains as
    much; ``held_out``: for each text the option that the other folds choose, (N,)."""

    place: int
    best: int
    by_chance: float
    held_out: NDArray[np.intp]

    def gain(self, values: Floats) -> Estimate:
        """The mean that the held-out choices gain over the default, of values (N, O)."""
        texts = np.arange(len(values))
        return Bootstrap([str(text) for text in texts]).mean(values[texts, self.held_out] - values[:, 0])


def choose_option(values: Floats) -> OptionChoice:
    """The option with the highest mean if its gain over the first one is above chance: values (N, O).

    Of equal ones the first is the best. The texts are in order of time; every tenth is in the same fold.
    """
    folds = np.arange(len(values)) % FOLDS
    held_out = np.array([int(values[folds != fold].mean(axis=0).argmax()) for fold in folds], np.intp)
    best = int(values.mean(axis=0).argmax())
    by_chance = share_by_chance(values[:, :1], values.T[1:, :, None], lambda sums: sums[:, 0], np.arange(len(values)))
    return OptionChoice(best if best and by_chance <= CHANCE else 0, best, by_chance, held_out)
