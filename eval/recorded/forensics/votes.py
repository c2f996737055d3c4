"""The votes of a data set as one array; all figures are computed from it without the texts.

Dimensions in comments: N pairs, K annotators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.recorded.forensics.identity import Models, identity_annotator, identity_vote, models_of
from eval.recorded.forensics.pair_files import ANNOTATORS, PAIRS, stream_pairs
from eval.recorded.forensics.pairs import Annotator, Pair, Vote, named, vote_of
from pearl.errors import InputError

Codes = NDArray[np.int8]  # places in VOTES
Mask = NDArray[np.bool_]

VOTES = tuple(Vote)
A, B = VOTES.index(Vote.A), VOTES.index(Vote.B)
NO_VOTE = len(VOTES)
PLACES = {vote: place for place, vote in enumerate(VOTES)}
NO_TEXT = ("", "nan")  # what the public tool leaves out, too
REPEATED, WITHOUT_TEXT = "repeated", "without_text"


@dataclass(frozen=True, slots=True)
class VoteTable:
    """The votes of a data set. ``codes``: the votes, (N, K), as indices into VOTES; ``characters``: the lengths of both
    texts, (N, 2); ``left_out``: the number of pairs left out, by reason."""

    annotators: tuple[Annotator, ...]
    codes: Codes
    ids: tuple[str, ...]
    characters: NDArray[np.int64]
    models: tuple[Models, ...]
    metadata: tuple[Mapping[str, Any], ...]
    left_out: Mapping[str, int]

    @property
    def places(self) -> dict[str, int]:
        """The index of each annotator's column, by id."""
        return {annotator.id: place for place, annotator in enumerate(self.annotators)}

    def place(self, name: str) -> int:
        """The index of an annotator's column, by name or id. Raises InputError for none, or several of a name."""
        annotator = named({annotator.id: annotator for annotator in self.annotators}, name)
        return self.annotators.index(annotator)

    def of_pairs(self, mask: Mask) -> VoteTable:
        """The table restricted to the pairs in a mask (N,)."""
        return replace(
            self,
            codes=self.codes[mask],
            characters=self.characters[mask],
            ids=tuple(compress(self.ids, mask)),
            models=tuple(compress(self.models, mask)),
            metadata=tuple(compress(self.metadata, mask)),
        )


def chooses(codes: Codes) -> Mask:
    """True where a vote chooses a response; False for votes such as both or neither, and where there is no vote."""
    return np.asarray((codes == A) | (codes == B))


def read_votes(path: Path) -> VoteTable:
    """Read the votes of a file of any size; repeated pairs and pairs without both texts are left out. Raises InputError
    that names file, line and field, and if two different pairs have one id, or no pair has both texts."""
    annotators: Mapping[str, Annotator] = {}
    columns: dict[str, int] = {}  # of every id that votes, in the order in which they come
    digests: dict[str, bytes] = {}  # by the id of the pair
    left_out: Counter[str] = Counter()
    pairs: list[tuple[str, bytearray, tuple[int, int], Models, Mapping[str, Any]]] = []
    for name, value in stream_pairs(path):
        if name == ANNOTATORS:
            annotators = value
        if name != PAIRS:
            continue
        digest = value.digest
        before = digests.setdefault(value.id, digest)
        if before != digest:
            message = f"{path}: two pairs with different texts have the id {value.id}."
            raise InputError(message)
        if before is not digest:
            left_out[REPEATED] += 1
        elif any(text in NO_TEXT for text in value.texts):
            left_out[WITHOUT_TEXT] += 1
        else:
            lengths = (len(value.texts[0]), len(value.texts[1]))
            pairs.append((value.id, _codes(value, columns), lengths, value.models, value.metadata))
    if left_out[WITHOUT_TEXT] and not pairs:
        raise InputError(
            f"{path}: none of its {left_out[WITHOUT_TEXT]:,} pairs has both texts; put it together with the file that "
            "has them, by pearl forensics merge."
        )
    codes = np.full((len(pairs), len(columns) + 1), NO_VOTE, np.int8)  # the last is of those without a vote
    for row, (_, votes, *_) in zip(codes, pairs, strict=True):
        row[: len(votes)] = np.frombuffer(votes, np.int8)
    ordered = [*annotators.values(), *(Annotator(id, {}) for id in columns if id not in annotators)]
    codes = codes[:, [columns.get(annotator.id, -1) for annotator in ordered]]
    ids, _, sizes, models, metadata = zip(*pairs, strict=True) if pairs else ((),) * 5
    characters = np.array(sizes, np.int64).reshape(-1, 2)
    return VoteTable(tuple(ordered), codes, ids, characters, models, metadata, dict(left_out))


def model_identities(table: VoteTable, targets: Sequence[str] = (), references: Sequence[str] = ()) -> VoteTable:
    """Return the table with an added annotator for each of the models ``targets``, by default for every model. It votes
    as :func:`~eval.recorded.forensics.identity.identity_vote` says. Raises InputError for an unknown model."""
    known = sorted(models_of(table.models))
    for model in (*targets, *references):
        if model not in known:
            raise InputError(f"there is no model '{model}'; there are {', '.join(known) or 'none'}.", param="models")
    annotators = {annotator.id: annotator for annotator in table.annotators}
    columns = dict(zip(annotators, table.codes.T, strict=True))
    for model in targets or known:
        votes = {models: PLACES[identity_vote(models, model, references)] for models in set(table.models)}
        annotator = identity_annotator(model, references)
        annotators[annotator.id] = annotator
        columns[annotator.id] = np.array([votes[models] for models in table.models], np.int8)
    return replace(table, annotators=tuple(annotators.values()), codes=np.column_stack(list(columns.values())))


def _codes(pair: Pair, columns: dict[str, int]) -> bytearray:
    """The codes of a pair's votes, in the order of ``columns``, to which new annotators are added."""
    codes = bytearray([NO_VOTE]) * len(columns)
    for annotator, annotation in pair.annotations.items():
        place = columns.setdefault(annotator, len(columns))
        if place == len(codes):
            codes.append(NO_VOTE)
        codes[place] = PLACES[vote_of(annotation)]
    return codes
