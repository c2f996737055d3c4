"""Synthetic files of annotated pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval.recorded.forensics.pairs import annotation_of, spelled_vote, trait_annotator

WORDS = {"a": "a", "b": "b", "&": "both", "0": "neither", "-": "not_applicable", "!": "invalid"}


@pytest.fixture
def pairs_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of pairs: votes are strings with a character a pair (a, b, & both, 0 neither, - not applicable,
    ! invalid, a blank for no vote), by name; a name that begins with 'is' or 'uses' is a trait."""

    def write(votes: dict[str, str], name: str = "pairs.json", **fields: Any) -> Path:
        annotators, ids = {}, {}
        for annotator in votes:
            if annotator.startswith(("is ", "uses ")):
                made = trait_annotator(f"Select the response that {annotator}")
                ids[annotator], annotators[made.id] = made.id, dict(made.fields)
            else:
                ids[annotator] = annotator.replace(" ", "_")
                annotators[ids[annotator]] = {"name": annotator, "type": "human"}
        length = len(next(iter(votes.values())))
        pairs = [
            {
                "id": f"{place:08x}",
                "prompt": f"Question {place}?",
                "response_a": {"text": "A" * (place + 1), "model": "first"},
                "response_b": {"text": "B" * (place + 2), "model": "second"},
                "annotations": {
                    ids[annotator]: annotation_of(spelled_vote(WORDS[given[place]], ""))
                    for annotator, given in votes.items()
                    if given[place] != " "
                },
                "metadata": {"topic": "even" if place % 2 == 0 else "odd"},
            }
            for place in range(length)
        ]
        metadata = {"version": "2.0", "available_metadata_keys_per_comparison": ["topic"]}
        path = tmp_path / name
        value = {"metadata": metadata, "annotators": annotators, "comparisons": pairs, **fields}
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    return write
