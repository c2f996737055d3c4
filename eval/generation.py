"""The figures of ``pearl eval generation``: how alike each system's drafts are to what the users really wrote
(papers/pearl.txt, section 5.2 and table 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np

from eval.comparison import Mask, Measured, Yardstick
from eval.drafts import Written
from eval.gains import clusters
from eval.intervals import Bootstrap
from eval.metrics import Metric, differences, figures, to_json
from eval.slices import Slice, slices
from eval.stance import STANCES
from eval.systems import BASELINE, Case, System, constant, copied
from eval.text_metrics import BertScore
from pearl.errors import ChatError

Json = dict[str, Any]


def generation_report(
    cases: Sequence[Case],
    systems: Sequence[System],
    written: Sequence[Sequence[Written]],
    bertscore: BertScore,
    *,
    stances: bool,
) -> Json:
    """All figures as they are written, then sliced by the words of the request and by the number of documents.

    ``written[i]`` are the drafts of system i. Over the requests for which every system has one, so that all stand on
    the same; what failed is counted. Raises ChatError where no request is left.
    """
    together = complete(written)
    usable = list(compress(cases, together))
    yardstick = Yardstick([case.target for case in usable], bertscore, stances=stances)
    trivial = [copied(system) for system in systems if all(shown.top for shown in system.shown)]
    trivial += [constant(stance, len(cases)) for stance in STANCES] if stances else []
    texts: dict[str, Sequence[str | None]] = {system.name: system.texts or () for system in trivial}
    for system, drafts in zip(systems, written, strict=True):
        texts[system.name] = [draft.text for draft in drafts]
    measured = {
        name: yardstick.measure([text or "" for text in compress(each, together)]) for name, each in texts.items()
    }
    ground = Ground(tuple(usable), yardstick.metrics, (*systems, *trivial))
    result = ground.table(measured, np.ones(len(usable), dtype=bool))
    for row, drafts in zip(result["models"], written, strict=True):
        row |= counts(drafts)
    if stances:
        taken = {name: stance_counts(each.stances) for name, each in measured.items()}
        result |= {"stances": {"target": stance_counts(yardstick.stances)} | taken}
    return {
        "requests": len(cases),
        **result,
        "slices": [
            {"by": part.by, "low": part.low, "high": part.high, **ground.table(measured, part.among)}
            for part in case_slices(usable)
        ],
    }


def complete(written: Sequence[Sequence[Written]]) -> Mask:
    """The requests for which every system has a text. Raises ChatError where there is none."""
    together: Mask = np.array([all(text.text is not None for text in texts) for texts in zip(*written, strict=True)])
    if not together.any():
        failures = Counter(text.failure for texts in written for text in texts if text.failure)
        why = ", ".join(f"{code}: {count}" for code, count in failures.most_common())
        raise ChatError(f"There is no request that every system has a text for ({why}).", code="nothing_generated")
    return together


@dataclass(frozen=True, slots=True)
class Ground:
    """What the systems are compared on."""

    cases: tuple[Case, ...]
    metrics: tuple[Metric[Measured], ...]
    systems: tuple[System, ...]

    def table(self, measured: Mapping[str, Measured], among: Mask) -> Json:
        """Counts, a row a system, and the paired differences from the best baseline, within a part of the requests."""
        records = [case.record for case in compress(self.cases, among)]
        drawn = clusters(records)
        bootstrap = Bootstrap(drawn.names)
        found = {
            system.name: figures(self.metrics, bootstrap, measured[system.name].among(among)) for system in self.systems
        }
        baselines = [system.name for system in self.systems if system.kind == BASELINE]
        return {
            "n": len(records),
            "users": drawn.users,
            "resampled": drawn.unit,
            "models": [to_json(system.name, found[system.name]) for system in self.systems if system.texts is None],
            "baselines": [to_json(system.name, found[system.name]) for system in self.systems if system.texts],
            "differences": differences(self.metrics, found, found, baselines),
        }


def case_slices(cases: Sequence[Case]) -> list[Slice]:
    """By the request's words and by the documents there are, a third of the requests each."""
    return [
        *slices("request_words", [len(case.record.request.text.split()) for case in cases]),
        *slices("documents", [len(case.record.documents) for case in cases]),
    ]


def counts(texts: Sequence[Written]) -> Json:
    """What became of the generations."""
    failures = Counter(text.failure for text in texts if text.failure is not None)
    return {
        "failed": failures.total(),
        "failures": dict(sorted(failures.items())),
        "cut_off": sum(text.cut_off for text in texts),
    }


def stance_counts(stances: Sequence[str | None]) -> Json:
    found = Counter("unlabelled" if each is None else each for each in stances)
    return {name: found[name] for name in (*STANCES, "unlabelled")}
