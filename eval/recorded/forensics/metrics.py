"""The figures of ``pearl forensics metrics``: each annotator's agreement with a reference, statistics of the
reference's choices, and the agreement of the model's votes on traits with people's votes on the same traits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.recorded.forensics import measures
from eval.recorded.forensics.identity import identity_annotator
from eval.recorded.forensics.measures import MEASURES, Resampling
from eval.recorded.forensics.pairs import NON_PREFERENCE, TRAIT, Annotator, Vote, distinct_names
from eval.recorded.forensics.votes import (
    NO_VOTE,
    PLACES,
    VOTES,
    A,
    B,
    Codes,
    VoteTable,
    chooses,
    model_identities,
    read_votes,
)
from eval.stats.proportions import interval_json, wilson_json
from pearl.errors import InputError
from pearl.stats.proportions import holm

MODEL = "model:"
LEVEL = 0.05
BY_A_PERSON = re.compile(r"Human \((.*?)\): (.*)", re.DOTALL)
NOT_APPLICABLE = PLACES[Vote.NOT_APPLICABLE]


@dataclass(frozen=True, slots=True)
class ForensicsOptions:
    """Options of the figures. ``reference``: the annotator that all others are compared with, by name or id, or
    ``model:NAME`` for the annotator that always chooses this model's texts. ``against``: for ``model:NAME``, the models
    that the other text may be by; all if empty. ``pairwise``: compare every two traits, too."""

    reference: str
    against: Sequence[str] = ()
    pairwise: bool = False
    resampling: Resampling = field(default_factory=Resampling)


def metrics_of_file(path: Path, options: ForensicsOptions) -> dict[str, Any]:
    """Read a file and measure its annotators against the reference. Raises InputError that names the file."""
    try:
        return forensics_figures(read_votes(path), options)
    except InputError as error:
        if str(path) in error.message:
            raise
        raise InputError(f"{path}: {error.message}") from None


def forensics_figures(table: VoteTable, options: ForensicsOptions) -> dict[str, Any]:
    """Measure annotators against the reference in a table of votes. Raises InputError if the reference never chooses a
    response."""
    table, place = with_reference(table, options.reference, options.against)
    reference = table.codes[:, place]
    chosen = chooses(reference)
    if not chosen.any():
        votes = int((reference != NO_VOTE).sum())
        raise InputError(
            f"--reference {options.reference}: none of its {votes:,} votes chooses a response, "
            "so there is nothing to agree with."
        )
    figures: dict[str, Any] = {
        "n": int(chosen.sum()),
        "pairs": len(table.ids),
        "left_out": table.left_out,
        "reference": _annotator(table, place)
        | {"votes": {vote.value: int((reference == code).sum()) for code, vote in enumerate(VOTES)}},
        "overall": overall_figures(table, reference),
        "annotators": annotator_rows(table, rows_of(table, place), reference, options.resampling),
    }
    if people := people_figures(table):
        figures["people"] = people
    if options.pairwise:
        figures["trait_pairs"] = trait_pairs(table, options.resampling)
    return figures


def with_reference(table: VoteTable, reference: str, against: Sequence[str] = ()) -> tuple[VoteTable, int]:
    """The table and the reference's column. For ``model:NAME`` an annotator is added that always chooses this model."""
    if not reference.startswith(MODEL):
        return table, table.place(reference)
    model = reference.removeprefix(MODEL).strip()
    added = model_identities(table, [model], against)
    return added, added.place(identity_annotator(model).id)


def rows_of(table: VoteTable, reference: int) -> list[int]:
    """The columns of the annotators that are compared with the reference."""
    return [
        place
        for place, annotator in enumerate(table.annotators)
        if place != reference and annotator.kind != NON_PREFERENCE
    ]


def annotator_rows(
    table: VoteTable, rows: Sequence[int], reference: Codes, resampling: Resampling
) -> list[dict[str, Any]]:
    """The figures of the annotators in the columns ``rows``, in that order; p-values are corrected over them."""
    counts = measures.five_counts(table.codes[:, list(rows)], reference)
    measured, closed = measures.intervals(counts, resampling), measures.closed_form(counts)
    p = measures.p_values(counts)
    figures = [
        _annotator(table, place)
        | {
            "votes": int((table.codes[:, place] != NO_VOTE).sum()),
            "agreed": int(measures.agreed(counts)[row]),
            "disagreed": int(measures.disagreed(counts)[row]),
            "not_applicable": int(counts[row, -1]),
            **{measure.name: interval_json(measured[measure.name][row]) for measure in MEASURES},
            "strength_closed_form": closed[row].to_json(),
            "p_value": float(p[row]),
        }
        for row, place in enumerate(rows)
    ]
    add_corrected(figures)
    return figures


def add_corrected(rows: Sequence[dict[str, Any]]) -> None:
    """Add to each row its p-value corrected over all rows (Bonferroni, Holm), and whether it is significant."""
    for row, p_holm in zip(rows, holm([row["p_value"] for row in rows]), strict=True):
        bonferroni = min(row["p_value"] * len(rows), 1.0)
        row |= {"p_corrected": bonferroni, "p_holm": p_holm, "significant": bonferroni < LEVEL}


def trait_pairs(table: VoteTable, resampling: Resampling, places: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """Compare every two traits (``places``: their columns): Cohen's kappa over the pairs on which both traits choose a
    text, and the number of these pairs divided by the number on which at least one trait chooses (the overlap)."""
    if places is None:
        places = [place for place, annotator in enumerate(table.annotators) if annotator.kind == TRAIT]
    pairs = list(combinations(places, 2))
    if not pairs:
        return []
    counts = np.concatenate(
        [measures.five_counts(table.codes[:, [first]], table.codes[:, second]) for first, second in pairs]
    )
    counts[counts.sum(axis=-1) == 0] = [0, 0, 0, 0, 1]  # where the second never chooses, there is nothing to draw from
    kappas = measures.intervals(counts, resampling)["kappa"]
    names = distinct_names({annotator.id: annotator.name for annotator in table.annotators})
    ids, choosing = list(names), chooses(table.codes)
    rows = []
    for (first, second), kappa in zip(pairs, kappas, strict=True):
        both = int((choosing[:, first] & choosing[:, second]).sum())
        either = int((choosing[:, first] | choosing[:, second]).sum())
        rows.append(
            {
                "trait": names[ids[first]],
                "against": names[ids[second]],
                "trait_id": ids[first],
                "against_id": ids[second],
                "both": both,
                "either": either,
                "kappa": interval_json(kappa) if both else None,
                "overlap": wilson_json(both, either),
            }
        )
    return rows


def _annotator(table: VoteTable, place: int) -> dict[str, str]:
    annotator = table.annotators[place]
    return {"name": annotator.name, "id": annotator.id, "type": annotator.kind}


def overall_figures(table: VoteTable, reference: Codes) -> dict[str, Any]:
    """Shares in which the reference chooses text a and the longer text, and the texts' mean lengths in characters."""
    chosen = chooses(reference)
    for_a, characters = (reference == A)[chosen], table.characters[chosen]
    selected = np.where(for_a, characters[:, 0], characters[:, 1])
    rejected = np.where(for_a, characters[:, 1], characters[:, 0])
    different = selected != rejected
    return {
        "text_a_chosen": wilson_json(int(for_a.sum()), len(for_a)),
        "longer_chosen": wilson_json(int((selected > rejected).sum()), int(different.sum())),
        "of_equal_length": int((~different).sum()),
        "length_a": _mean(characters[:, 0]),
        "length_b": _mean(characters[:, 1]),
        "length_chosen": _mean(selected),
        "length_rejected": _mean(rejected),
    }


def _mean(values: NDArray[np.int64]) -> dict[str, float]:
    """A mean with its normal interval."""
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return measures.normal_interval(values.mean(), error).to_json()


def people_figures(table: VoteTable) -> list[dict[str, Any]]:
    """A row for each trait on which people voted, too. It has the agreement of the trait's votes with the people's
    common opinion and with each person, and the agreement of every two people."""
    names, votes = [annotator.name for annotator in table.annotators], table.codes.T
    rows = []
    for place, annotator in enumerate(table.annotators):
        if annotator.kind != TRAIT or _trait(annotator) is not None:
            continue
        people = [
            other
            for other, person in enumerate(table.annotators)
            if _trait(person) in (annotator.id, str(annotator.fields.get("description", ""))) and other != place
        ]
        if people:
            rows.append(
                {"name": annotator.name, "id": annotator.id, "people": len(people)}
                | agreement_of(votes[place], soft_unanimous(table.codes[:, people]))
                | {
                    "each": [{"person": names[one]} | agreement_of(votes[place], votes[one]) for one in people],
                    "among_people": [
                        {"person": names[one], "against": names[other]} | agreement_of(votes[one], votes[other])
                        for one, other in combinations(people, 2)
                    ],
                }
            )
    return rows


def soft_unanimous(votes: Codes) -> Codes:
    """The common opinion of people, (N,), from their votes, (N, P): the text chosen by all who choose one, not
    applicable if they choose different texts or none, and no vote if nobody voted."""
    a, b = (votes == A).any(axis=1), (votes == B).any(axis=1)
    sides = np.where(a & ~b, A, np.where(b & ~a, B, NOT_APPLICABLE))
    return np.where((votes == NO_VOTE).all(axis=1), NO_VOTE, sides).astype(np.int8)


def agreement_of(first: Codes, second: Codes) -> dict[str, Any]:
    """The agreement of two annotators: on whether the trait applies, over the pairs with votes of both, and on the
    text, over the pairs on which both choose a text."""
    judged = (first != NO_VOTE) & (second != NO_VOTE)
    relevant, also = chooses(first), chooses(second)
    both = relevant & also
    same, same_side = int(((relevant == also) & judged).sum()), int((both & (first == second)).sum())
    return {
        "judged": int(judged.sum()),
        "both_relevant": int(both.sum()),
        "relevance_agreement": wilson_json(same, int(judged.sum())),
        "choice_agreement": wilson_json(same_side, int(both.sum())),
    }


def _trait(annotator: Annotator) -> str | None:
    """The trait on which a person voted: the field ``trait``, or the end of a description of the form ``Human (NAME):
    DESCRIPTION``, which the public tool writes. None if the annotator is no person who voted on a trait."""
    if annotator.fields.get("trait"):
        return str(annotator.fields["trait"])
    by_a_person = BY_A_PERSON.fullmatch(str(annotator.fields.get("description", "")))
    return by_a_person[2] if by_a_person else None
