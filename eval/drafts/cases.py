"""Requests with the text that a person really wrote, for which drafts are made and compared: from gains files, from
histories, and as items for judges."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, zip_longest
from pathlib import Path
from typing import Any, TypeVar

from eval.retrieval.gains import GainsRecord, kept_documents
from pearl.errors import InputError
from pearl.models.asking.write import WrittenText
from pearl.records import Document, Request
from pearl.text.history.files import read_histories
from pearl.text.history.partition import partition, users_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """A request for which drafts are made, and what its user really wrote (``target``)."""

    record: GainsRecord
    owner: str  # whose history it is; a record without a user has an owner of its own
    target: str  # the text that the user really wrote

    @property
    def earlier_texts(self) -> tuple[str, ...]:
        """The texts that the user had written before."""
        return tuple(document.text for document in self.record.documents)


def cases_of(records: Sequence[GainsRecord]) -> list[Case]:
    """Make a case (a request with its real answer) of each record that has a target."""
    return [
        Case(record, f"record {index}" if record.user_id is None else f"user {record.user_id}", record.target)
        for index, record in enumerate(records)
        if record.target is not None and record.target.strip()
    ]


def sample(cases: Sequence[Case], limit: int | None, seed: int = 0) -> list[Case]:
    """Sample at most ``limit`` cases, as evenly over users as possible; the cases keep their order."""
    if limit is None or limit >= len(cases):
        return list(cases)
    generator = random.Random(seed)
    indices: dict[str, list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        indices[case.owner].append(index)
    shuffled = [generator.sample(of_user, len(of_user)) for of_user in indices.values()]
    generator.shuffle(shuffled)
    chosen = list(chain.from_iterable(rounds(shuffled)))[:limit]
    return [cases[index] for index in sorted(chosen)]


def without_near_duplicates(cases: Sequence[Case], threshold: float) -> list[Case]:
    """Remove documents that share at least ``threshold`` of the target's word trigrams, and cases without documents."""
    left = []
    for case in cases:
        keep = kept_documents(case.record, threshold)
        if any(keep):
            documents, gains = tuple(compress(case.record.documents, keep)), tuple(compress(case.record.gains, keep))
            left.append(replace(case, record=replace(case.record, documents=documents, gains=gains)))
    return left


def held_back(path: Path, targets: int, split: str | None = None) -> list[Case]:
    """Make cases of each user's most recent texts that answer a request, at most ``targets``, with the texts before the
    first of them as documents. Users without such a text are left out.

    Raises InputError that names file, line and field of the first bad line, for a file without such a text, and for an
    unknown split.
    """
    cases = cases_of_histories(users_of(read_histories(path, timestamp_required=True), split), targets)
    if not cases:
        raise InputError(
            f"{path}: request: no text {f'of the {split} split ' * bool(split)}answers a request and has documents of "
            "its user before it."
        )
    return cases


def cases_of_histories(histories: Mapping[str, Sequence[Document]], targets: int) -> list[Case]:
    """Make cases of each user's ``targets`` latest texts that answer a request; earlier texts are the documents."""
    parts = [partition(user, documents, targets=targets) for user, documents in histories.items()]
    records = [
        GainsRecord(
            request=Request(target.request or "", timestamp=target.timestamp),
            user_id=part.user_id,
            id=f"{part.user_id} {target.id}",
            target=target.text,
            documents=before,
            gains=(0.0,) * len(before),  # not used
        )
        for part in parts
        if part
        for target, before in part.requests()
    ]
    return cases_of(records)


def case_ids(cases: Sequence[Case]) -> list[str]:
    """Return each case's id as an item: its record's id, or the case's index if ids are missing or repeated."""
    ids = [case.record.id for case in cases if case.record.id is not None]
    usable = len(ids) == len(set(ids)) == len(cases)  # several files may use one id
    return ids if usable else [str(index) for index in range(len(cases))]


def items_of(
    cases: Sequence[Case], names: Sequence[str], written: Sequence[Sequence[WrittenText]], generator: str
) -> Iterator[dict[str, Any]]:
    """Yield an item for judges per case: the model ``generator``'s drafts with each system of ``names``, and what the
    user really wrote as reference."""
    ids = case_ids(cases)
    for index, case in enumerate(cases):
        yield {
            "id": ids[index],
            **({} if case.record.user_id is None else {"user_id": case.record.user_id}),
            "request": case.record.request.text,
            "reference": case.target,
            "candidates": {name: drafts[index].text for name, drafts in zip(names, written, strict=True)},
            "generators": dict.fromkeys(names, generator),
        }


def rounds(groups: Iterable[Sequence[T]]) -> list[list[T]]:
    """Return the first members of all groups, then the second members of the groups that have one, and so on."""
    return [[member for member in members if member is not None] for members in zip_longest(*groups)]
