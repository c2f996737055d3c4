"""The scores that training/recipes keeps belong to the splits, the templates and the histories that it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pearl.text.history.partition import SPLITS, split_of
from tests.source import ROOT
from training.data.histories import Corpus
from training.gains.scores import read_scores, scored_examples
from training.recipes.domains import CANDIDATES, DOMAINS, KEPT

FILES = [(domain, split) for domain in DOMAINS for split in SPLITS]
named = pytest.mark.parametrize(("domain", "split"), FILES, ids=lambda part: getattr(part, "name", part))


def kept(domain, split: str) -> Path:
    return ROOT / KEPT / f"{domain.name}-{split}.parquet"


@named
def test_kept_scores_are_of_their_split_and_as_the_recipe_makes_them(domain, split):
    table, description = read_scores(kept(domain, split))
    options, extent = description["options"], domain.extents[split]
    assert {split_of(user) for user in table["user_id"].to_pylist()} == {split}
    assert (options["split"], options["template"], options["partition"]) == (split, domain.template, "rolling")
    made = (options["targets"], options["users"], options["candidates"], options["least_candidates"])
    assert made == (extent.targets, extent.users, CANDIDATES, extent.least)
    assert description["fingerprint"]["dtype"] == "bfloat16"


def test_nothing_else_is_kept():
    assert set((ROOT / KEPT).iterdir()) == {kept(*file) for file in FILES}


@named
def test_kept_scores_fit_the_histories(domain, split, shared):
    table, description = read_scores(kept(domain, split))
    corpus = Corpus.read(shared / "data" / domain.file)
    assert description["history_sha256"] == corpus.fingerprint
    examples = scored_examples(corpus.histories, table, "sum")
    assert sum(len(example.gains) for example in examples) == table.num_rows
