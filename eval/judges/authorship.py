"""The figures of ``pearl judge authorship``: how often each system's draft passes for its author's, and what the judge
is worth (papers/pearl.txt, section 5 and table 2).

Dimensions in comments: N judgements, U units, R resamples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from eval.asking.verdict import Answer, Failed, Given, Invalid, counts, kind
from eval.judges.authorship_checks import preflight
from eval.judges.authorship_items import Items
from eval.judges.authorship_presets import DROPPED, Preset
from eval.judges.authorship_rules import rules
from eval.judges.authorship_trials import Judged, Outcome, Trials
from eval.judges.draws import BOTH
from eval.judges.self_preference import Choices, Itself, self_preference
from eval.stats.alpha import alpha
from eval.stats.proportions import wilson_json
from pearl.stats import RESAMPLES, Bootstrap, Floats

OUTCOMES = tuple(Outcome)
NOBODY = Itself()
NOTHING = -1  # the code of a judgement without an answer


@dataclass(frozen=True, slots=True)
class Found:
    """The judgements in columns, (N,) each. ``code`` is the place in OUTCOMES, NOTHING where there is no answer;
    ``names`` are the clusters."""

    items: Items
    judged: tuple[Judged, ...]
    code: NDArray[np.intp]
    names: tuple[str, ...]

    @classmethod
    def of(cls, items: Items, judged: Iterable[Judged]) -> Found:
        every = tuple(judged)
        code = [NOTHING if each.outcome is None else OUTCOMES.index(each.outcome) for each in every]
        names = tuple(items.items[each.trial.place].owner for each in every)
        return cls(items, every, np.array(code, np.intp), names)

    @property
    def answered(self) -> Floats:
        return np.asarray(self.code != NOTHING, float)

    def says(self, outcome: Outcome) -> Floats:
        return np.asarray(self.code == OUTCOMES.index(outcome), float)

    @property
    def takes(self) -> Floats:
        """1 where it is the proposed system's, -1 where the baseline's, else 0."""
        return self.says(Outcome.PROPOSED) - self.says(Outcome.BASELINE)


def authorship_report(items: Items, judged: Iterable[Judged], trials: Trials, itself: Itself) -> dict[str, Any]:
    """The systems compared and how, the checks of the items, and the figures."""
    preset = trials.preset
    return {
        "systems": dict(zip(("proposed", "baseline"), items.systems, strict=True)),
        "prompt": trials.variant.name,
        "preset": preset.name,
        "runs": preset.runs,
        "order": preset.order,
        "unparsed": preset.unparsed,
        "lines": items.lines,
        "failed_drafts": dict(items.failed),
        "passed_over": dict(items.passed_over),
        "preflight": [finding.to_json() for finding in preflight(items)],
        **authorship_figures(items, judged, preset, trials.seed, itself),
    }


def authorship_figures(
    items: Items, judged: Iterable[Judged], preset: Preset, seed: int = 0, itself: Itself = NOBODY
) -> dict[str, Any]:
    """All intervals are by bootstrap over the users; Wilson's stand beside shares, and take judgements for
    independent."""
    found = Found.of(items, judged)
    bootstrap = Bootstrap(found.names, resamples=RESAMPLES, seed=seed)
    counted, dropped = (rates(found, bootstrap, dropped=each) for each in (False, True))
    alphas = {"alpha": alpha_over_runs(found, seed)}
    if preset.order == BOTH:
        alphas["alpha_within_order"] = alpha_over_runs(found, seed, by_order=True)
    return {
        "n": len(found.judged),
        "items": len(items.items),
        "users": len(set(found.names)),
        "resampled": "users" if len(set(found.names)) < len(items.items) else "items",
        "verdicts": counts(kind(each.verdict) for each in found.judged),
        "invalid": counts(each.verdict.reason for each in found.judged if isinstance(each.verdict, Invalid)),
        "failed": counts(each.verdict.reason for each in found.judged if isinstance(each.verdict, Failed)),
        "rates": dropped if preset.unparsed == DROPPED else counted,
        "rates_invalid_counted": counted,
        "rates_invalid_dropped": dropped,
        "rates_orders_must_agree": must_agree(found, seed) if preset.order == BOTH else None,
        "margin": bootstrap.ratio(found.takes, found.answered).to_json(),
        "sign_test": sign_test(found),
        **{name: alpha for name, (alpha, _) in alphas.items()},
        "undefined": {name: reason for name, (_, reason) in alphas.items() if reason},
        **position(found, bootstrap, seed),
        "prefers_longer": prefers_longer(found, bootstrap),
        "self_preference": self_preference(itself, _choices(found, bootstrap)),
        "baselines": rules(items, found.judged, found.code, bootstrap),
    }


def rates(found: Found, bootstrap: Bootstrap, *, dropped: bool) -> dict[str, Any]:
    """P, B and T of papers/pearl.txt: the mean over items and runs; judgements without an answer dropped, or a share of
    their own."""
    among = found.answered if dropped else np.ones(len(found.code))
    parts = {outcome.value: found.says(outcome) for outcome in OUTCOMES}
    if not dropped:
        parts["no_answer"] = 1 - found.answered
    return {"n": int(among.sum())} | {name: _share(part, among, bootstrap) for name, part in parts.items()}


def _share(part: Floats, among: Floats, bootstrap: Bootstrap) -> dict[str, Any] | None:
    interval = bootstrap.ratio(part, among).to_json()
    if interval is None:
        return None
    return interval | {"wilson": wilson_json(int(part.sum()), int(among.sum()))}


def must_agree(found: Found, seed: int) -> dict[str, Any]:
    """A win counts where both orders of a run say it; where they differ it is a tie."""
    pairs = _pairs(found)
    if not pairs:
        return {"n": 0} | {outcome.value: None for outcome in OUTCOMES}
    code = np.array([one if one == other else OUTCOMES.index(Outcome.TIE) for _, one, other in pairs])
    bootstrap = Bootstrap([owner for owner, _, _ in pairs], seed=seed)
    each = np.ones(len(code))
    shares = {
        outcome.value: _share((code == place).astype(float), each, bootstrap) for place, outcome in enumerate(OUTCOMES)
    }
    return {"n": len(code)} | shares


def _pairs(found: Found) -> list[tuple[str, int, int]]:
    """The owner and the two answers of each run that was asked, and answered, in both orders."""
    both: dict[tuple[int, int], list[int]] = defaultdict(list)
    for judged, code in zip(found.judged, found.code, strict=True):
        if code != NOTHING:
            both[judged.trial.place, judged.trial.run].append(int(code))
    owners = found.items.items
    return [(owners[place].owner, codes[0], codes[1]) for (place, _), codes in both.items() if len(codes) == 2]


def sign_test(found: Found) -> dict[str, Any]:
    """Count the users with whom each system wins more often than the other, and test it: users are independent."""
    score: dict[str, int] = defaultdict(int)
    for name, code in zip(found.names, found.code, strict=True):
        score[name] += {0: 1, 1: -1}.get(int(code), 0)
    won, lost = sum(each > 0 for each in score.values()), sum(each < 0 for each in score.values())
    p_value = float(binomtest(won, won + lost).pvalue) if won + lost else None
    return {"proposed": won, "baseline": lost, "neither": len(score) - won - lost, "p_value": p_value}


def position(found: Found, bootstrap: Bootstrap, seed: int) -> dict[str, Any]:
    """The share of verdicts for POST ONE, of those for either, and the share that the other order changes."""
    first = np.array([_takes(each, Answer.A) for each in found.judged], float)
    second = np.array([_takes(each, Answer.B) for each in found.judged], float)
    pairs = _pairs(found)
    flipped = None
    if pairs:
        changed = np.array([one != other for _, one, other in pairs], float)
        flipped = _share(changed, np.ones(len(pairs)), Bootstrap([owner for owner, _, _ in pairs], seed=seed))
    return {
        "p_first": _share(first, first + second, bootstrap),
        "flip_rate": flipped,
        "pairs_of_orders": len(pairs),
    }


def _takes(judged: Judged, answer: Answer) -> bool:
    return isinstance(judged.verdict, Given) and judged.verdict.answer is answer


def prefers_longer(found: Found, bootstrap: Bootstrap) -> dict[str, Any] | None:
    """The share of verdicts for the longer draft, of those for one of two with different lengths."""
    lengths = [tuple(len(text.strip()) for text in item.texts) for item in found.items.items]
    more = np.array([np.sign(lengths[each.trial.place][0] - lengths[each.trial.place][1]) for each in found.judged])
    taken = found.takes
    return _share((taken * more > 0).astype(float), (taken * more != 0).astype(float), bootstrap)


def _choices(found: Found, bootstrap: Bootstrap) -> Choices:
    every = found.items.items
    return Choices([every[each.trial.place].generators for each in found.judged], found.takes, None, bootstrap)


def alpha_over_runs(found: Found, seed: int, *, by_order: bool = False) -> tuple[dict[str, float] | None, str | None]:
    """Krippendorff's alpha, nominal, of everything said of an item; ``by_order``: of an item in one order.

    A judge that follows positions agrees with itself within an order only. None with a reason where chance alone would
    agree.
    """
    places: dict[tuple[int, bool], int] = {}
    rows: list[list[float]] = []
    owners: list[str] = []
    for judged, code, owner in zip(found.judged, found.code, found.names, strict=True):
        unit = (judged.trial.place, by_order and judged.trial.swapped)
        if unit not in places:
            places[unit] = len(rows)
            rows.append([0.0] * len(OUTCOMES))
            owners.append(owner)
        if code != NOTHING:
            rows[places[unit]][code] += 1
    counts = np.array(rows)  # (U, K)
    shared = counts[counts.sum(axis=1) > 1]
    if not len(shared):
        return None, "no item has two answers"
    if (shared.sum(axis=0) > 0).sum() < 2:
        return None, "only one answer was given, so chance alone would agree"
    return alpha(counts, Bootstrap(owners, seed=seed)).to_json(), None
