"""Scoring every request's candidates by equation 1: y = log p(t given d, q) - log p(t given q), for target t, document
d and request q.

A unit of work is some candidates of one user with all of that user's requests, so that a document's prefix is computed
once. Each finished unit is a Parquet file, written atomically: after an interruption the next run scores the rest.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.files.whole import replaced_file
from pearl.text.history.partition import TRAIN
from retriever.models.auxiliary import AUTO, AuxiliaryModel, Likelihood, PairGroup, Tokens
from retriever.templates import AuxiliaryTemplate
from training.data.split import BY_USERS, written_in
from training.gains.auxiliary import RayAuxiliary
from training.gains.scores import SCHEMA, other_model
from training.gains.units import GainOptions, ScoringUnit

WORK_FILE = "work.json"  # describes the scores in a folder of parts


def few_shot_examples(
    histories: Mapping[str, Sequence[Document]], options: GainOptions, targets: Set[str]
) -> tuple[str, ...]:
    """Draw the random texts that the prompt without a document has as examples, the same for every request.

    They are from the training split, if it has any, and none is one of the ``targets`` as long as there are other
    texts.
    """
    writers = written_in(histories, TRAIN, options.way, options.seed) or histories
    texts = sorted({document.text for documents in writers.values() for document in documents})
    draw = random.Random(f"{options.seed}:examples")
    drawn = draw.sample(texts, min(options.examples, len(texts)))
    examples = [text for text in drawn if text not in targets]
    # drawn a second time, so that examples which are no targets are the same whatever the targets are
    others = [text for text in texts if text not in targets and text not in examples]
    examples += draw.sample(others, min(len(drawn) - len(examples), len(others)))
    return tuple(examples or drawn)


def prepared(
    model: AuxiliaryModel | RayAuxiliary,
    template: AuxiliaryTemplate,
    options: GainOptions,
    histories: Mapping[str, Sequence[Document]],
    targets: Set[str],
    history: str,
) -> tuple[Scorer | RayScorer, dict[str, object]]:
    """Make a scorer, and the description of its scores. ``targets``: the texts that the users really wrote;
    ``history``: the fingerprint of the history file."""
    examples = few_shot_examples(histories, options, targets)
    description = describe(model, template, options, history)
    if isinstance(model, RayAuxiliary):
        return RayScorer(model, partial(Scorer, template=template, examples=examples, options=options)), description
    return Scorer(model, template, examples, options), description


class Scorer:
    """Computes gains with an auxiliary model and a prompt template, a unit of work at a time."""

    def __init__(
        self, model: AuxiliaryModel, template: AuxiliaryTemplate, examples: Sequence[str], options: GainOptions
    ) -> None:
        self.model = model
        self._template = template
        self._options = options
        self._examples = tuple(self._cut(text, options.document_tokens) for text in examples)
        self._without: dict[str, tuple[str, Likelihood]] = {}  # by user: computed once per request, not once per unit

    def score(self, unit: ScoringUnit) -> pa.Table:
        """Score a unit (some documents of a user), a row per request and document. Raises InputError."""
        targets = {target.id: self.target_tokens(target) for target, _ in unit.pairs}
        requests = {target.id: self.request_text(target) for target, _ in unit.pairs}
        without = self.without(unit.user_id, targets, requests)
        groups, keys = [], []
        for document in unit.documents:
            mine = [target.id for target, ids in unit.pairs if document.id in ids]
            prompts = self.prompts(document, [requests[id] for id in mine])
            groups.append(PairGroup(prompts, tuple(targets[id] for id in mine)))
            keys.append((document.id, mine))
        rows = []
        for (document_id, mine), scored in zip(keys, self.model.likelihoods(groups), strict=True):
            for request_id, likelihood in zip(mine, scored, strict=True):
                rows.append(
                    (
                        unit.user_id,
                        request_id,
                        document_id,
                        likelihood.total,
                        without[request_id].total,
                        likelihood.tokens,
                    )
                )
        self.check_finite((number for row in rows for number in row[3:5]), unit.user_id)
        columns = list(zip(*rows, strict=True))
        return pa.Table.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
        )

    def target_tokens(self, target: Document) -> Tokens:
        return tuple(self.model.encode(target.text, self._options.target_tokens))

    def request_text(self, target: Document) -> str:
        return self._cut(target.request or "", self._options.request_tokens)

    def prompts(self, document: Document, requests: Sequence[str]) -> tuple[Tokens, ...]:
        """Return the tokens of a prompt for each request, all showing the document, which is cut to the limit."""
        shown = self._cut(document.text, self._options.document_tokens)
        return tuple(tuple(self.model.encode(self._template.prompt_with(shown, request))) for request in requests)

    def without(self, user_id: str, targets: dict[str, Tokens], requests: dict[str, str]) -> dict[str, Likelihood]:
        """Return by id how likely each text of a user is with no document in the prompt, log p(t given q)."""
        known = {id: likelihood for id, (user, likelihood) in self._without.items() if user == user_id}
        missing = [id for id in targets if id not in known]
        prompts = (self._template.prompt_without(requests[id], self._examples) for id in missing)
        group = PairGroup(
            tuple(tuple(self.model.encode(text)) for text in prompts), tuple(targets[id] for id in missing)
        )
        if missing:  # all begin with the same examples
            known |= zip(missing, self.model.likelihoods([group])[0], strict=True)
        self._without = {id: (user_id, likelihood) for id, likelihood in known.items()}
        return known

    def check_finite(self, likelihoods: Iterable[float], user_id: str) -> None:
        """Check that likelihoods are numbers. Raises InputError that names the user if one is not."""
        if not all(map(math.isfinite, likelihoods)):
            raise InputError(
                f"The model '{self.model.name}' gave a likelihood that is not a number for user '{user_id}'; "
                "try --choose dtype=float32."
            )

    def _cut(self, text: str, limit: int) -> str:
        tokens = self.model.encode(text)
        return text if len(tokens) <= (limit or len(tokens)) else self.model.decode(tokens[:limit])


@dataclass(frozen=True, slots=True)
class RayScorer:
    """A scorer that runs in a Ray cluster; ``make`` makes a worker's scorer from the worker's model."""

    model: RayAuxiliary
    make: Callable[[AuxiliaryModel], Scorer]


def dtype_for(dtype: str, folders: Iterable[Path]) -> str:
    """Return the number format to score in: for ``auto``, that of the scores in these folders if there are any, so that
    a run goes on as it began."""
    files = (folder / WORK_FILE for folder in folders)
    kept = [json.loads(file.read_text(encoding="utf-8")) for file in files if dtype == AUTO and file.exists()]
    return next(filter(None, (work.get("fingerprint", {}).get("dtype") for work in kept)), dtype)


def describe(
    model: AuxiliaryModel | RayAuxiliary, template: AuxiliaryTemplate, options: GainOptions, history: str
) -> dict[str, object]:
    """Describe how scores are made: model, prompts, options and history. Only scores made alike can be mixed."""
    fields = asdict(options)
    if options.way == BY_USERS:
        del fields["way"]  # as earlier versions had it, whose scores are these
    return {
        "model": model.name,
        "fingerprint": model.fingerprint,
        "template": asdict(template),
        "options": fields,
        "history_sha256": history,
    }


@dataclass(slots=True)
class Pace:
    """The speed of scoring: pairs scored, and the seconds that they took. ``left``: returns the seconds left;
    ``least``: number of units to score in any case."""

    left: Callable[[], float] = lambda: math.inf
    least: int = 0
    pairs: int = 0
    seconds: float = 0.0

    def allows(self, pairs: int) -> bool:
        """True if there is time for this many pairs; if no pair was timed yet, True if any time is left."""
        left = self.left()
        return left > 0 and (not self.pairs or pairs * self.seconds / self.pairs <= left)


def score_units(
    units: Sequence[ScoringUnit],
    scorer: Scorer | RayScorer,
    folder: Path,
    description: dict[str, object],
    advance: Callable[[int, bool], None] = lambda pairs, computed: None,
    pace: Pace | None = None,
) -> list[ScoringUnit]:
    """Score the units that are missing in ``folder`` as far as time allows; return all scored units, in order.

    The smallest units are scored in any case, as many as the pace's ``least``. A group of units (all candidates of some
    requests) is skipped if it would take longer than there is time left. ``advance`` is called with a number of pairs
    and whether they were computed in this run. Raises InputError if the folder has scores that were made otherwise.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _same_work(folder / WORK_FILE, description)
    done = {unit.name for unit in units if (folder / f"{unit.name}.parquet").exists()}
    advance(sum(unit.size for unit in units if unit.name in done), False)
    missing = [unit for unit in units if unit.name not in done]
    sizes: Counter[str] = Counter()
    for unit in missing:
        sizes[group_of(unit.name)] += unit.size
    pace = pace or Pace()
    sure = {unit.name for unit in _smallest_whole(missing)[: max(pace.least - len(done), 0)]}
    passed: set[str] = set()

    def batches() -> Iterator[list[ScoringUnit]]:
        """Yield the units that there is time for."""
        ordered = sorted(missing, key=lambda unit: unit.name not in sure)
        name = group_of if isinstance(scorer, RayScorer) else str
        for (_, surely), units in groupby(ordered, lambda unit: (name(unit.name), unit.name in sure)):
            batch = list(units)
            group = group_of(batch[0].name)
            if not surely and (group in passed or not pace.allows(sizes[group])):
                passed.add(group)
                continue
            yield batch

    def keep(unit: ScoringUnit, table: pa.Table, seconds: float) -> None:
        with replaced_file(folder / f"{unit.name}.parquet") as new:
            pq.write_table(table, new)
        pace.seconds, pace.pairs = pace.seconds + seconds, pace.pairs + unit.size
        sizes[group_of(unit.name)] -= unit.size
        advance(unit.size, True)
        done.add(unit.name)

    if isinstance(scorer, RayScorer):
        scorer.model.score(scorer.make, batches(), keep)
    else:
        for (unit,) in batches():
            started = time.monotonic()
            keep(unit, scorer.score(unit), time.monotonic() - started)
    return [unit for unit in units if unit.name in done]


def _smallest_whole(units: Sequence[ScoringUnit]) -> list[ScoringUnit]:
    """Sort the units: units that are a whole group, then the first unit of each group, then the rest, each by size."""
    several = Counter(group_of(unit.name) for unit in units)
    begins = {group_of(unit.name): unit.name for unit in reversed(units)}

    def key(unit: ScoringUnit) -> tuple[bool, bool, int]:
        group = group_of(unit.name)
        return several[group] > 1, begins[group] != unit.name, unit.size

    return sorted(units, key=key)


def group_of(name: str) -> str:
    """Return the name of a unit's group: the units that together have all candidates of their requests."""
    return name.rpartition("-")[0]


def _same_work(file: Path, description: dict[str, object]) -> None:
    text = json.dumps(description, indent=1, sort_keys=True, ensure_ascii=False)
    if not file.exists():
        with replaced_file(file) as new:
            new.write_text(text, encoding="utf-8")
    before, now = json.loads(file.read_text(encoding="utf-8")), json.loads(text)
    other = other_model(before, now)
    changed = [name for name in now if name not in ("model", "fingerprint") and before.get(name) != now[name]]
    if other or changed:
        name = other or changed[0].removesuffix("_sha256")
        if name == "options":
            then = before.get(name, {})
            option = next(key for key in sorted({*now[name], *then}) if now[name].get(key) != then.get(key))
            name = "--split" if option == "split" else f"--choose {option}"
        if (then := before.get("fingerprint", {}).get("dtype")) and name == "precision (--choose dtype)":
            name = f"precision (--choose dtype={then} goes on with them)"
        raise InputError(
            f"{file.parent}: holds scores that were made with another {name}; delete it, or have this run write "
            "elsewhere."
        )
