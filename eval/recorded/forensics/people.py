"""Judges of traits against people who judged the same traits.

A person's votes on a trait are an annotator whose ``trait`` names the trait's id or description, or whose description
is ``Human (NAME): DESCRIPTION``, as the public tool writes it.
"""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import numpy as np

from eval.recorded.forensics.pairs import TRAIT, Annotator, Vote
from eval.recorded.forensics.votes import NO_VOTE, PLACES, A, B, Codes, VoteTable, chooses
from eval.stats.proportions import wilson_json

BY_A_PERSON = re.compile(r"Human \((.*?)\): (.*)", re.DOTALL)
NOT_APPLICABLE = PLACES[Vote.NOT_APPLICABLE]


def people_figures(table: VoteTable) -> list[dict[str, Any]]:
    """For each trait that people judged: the judge against their common opinion and against each of them, and every two
    of them against each other."""
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
    """The common opinion of people's votes (N, P): the side of those who choose if they agree, else not applicable;
    no vote where nobody voted: (N,)."""
    a, b = (votes == A).any(axis=1), (votes == B).any(axis=1)
    sides = np.where(a & ~b, A, np.where(b & ~a, B, NOT_APPLICABLE))
    return np.where((votes == NO_VOTE).all(axis=1), NO_VOTE, sides).astype(np.int8)


def agreement_of(first: Codes, second: Codes) -> dict[str, Any]:
    """The agreement of two annotators on relevance, over the pairs that both judged, and on the side, over those that
    both find relevant."""
    judged = (first != NO_VOTE) & (second != NO_VOTE)
    relevant, also = chooses(first) & judged, chooses(second) & judged
    both = relevant & also
    same, same_side = int(((relevant == also) & judged).sum()), int((both & (first == second)).sum())
    return {
        "judged": int(judged.sum()),
        "both_relevant": int(both.sum()),
        "relevance_agreement": wilson_json(same, int(judged.sum())),
        "choice_agreement": wilson_json(same_side, int(both.sum())),
    }


def _trait(annotator: Annotator) -> str | None:
    """The trait that a person judged; None where the annotator is no person's votes on a trait."""
    if annotator.fields.get("trait"):
        return str(annotator.fields["trait"])
    by_a_person = BY_A_PERSON.fullmatch(str(annotator.fields.get("description", "")))
    return by_a_person[2] if by_a_person else None
