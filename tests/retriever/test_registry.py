"""One entry a retriever: everything that lists their names takes them from there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from retriever.baselines.likelihood import LikelihoodRetriever
from retriever.models.encoder import Vectors
from retriever.registry import ENTRIES, SERVED, UNTRAINED, RetrieverEntry, find_entry
from service.http.api.rerank import RerankIn

ROOT = Path(__file__).parents[2]


def names(entries: tuple[RetrieverEntry, ...]) -> list[str]:
    return [entry.name for entry in entries]


def test_names_are_unique_and_every_entry_says_what_it_is():
    assert len(set(names(ENTRIES))) == len(ENTRIES)
    assert all(entry.summary and "|" not in entry.summary for entry in ENTRIES)


def test_all_but_the_artifact_are_baselines_and_all_but_likelihood_are_served():
    assert set(names(ENTRIES)) - set(UNTRAINED) == {EMBEDDED}
    assert set(names(ENTRIES)) - set(SERVED) == {LikelihoodRetriever.name}


class UntouchedEncoder:
    """An encoder that fails when it is used."""

    name = "untouched"

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        raise AssertionError

    def encode_request(self, text: str) -> Vectors:
        raise AssertionError


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if not entry.needs_encoder and entry.served])
def test_without_need_of_the_encoder_it_is_not_used(entry):
    found = entry.make(UntouchedEncoder()).rank(Request("a"), [Document("1", "a b"), Document("2", "b")])
    assert len(found) == 2


def test_a_folder_is_a_trained_retriever_that_needs_the_encoder(tmp_path):
    entry = find_entry(str(tmp_path))
    assert (entry.trained, entry.needs_encoder, entry.name) == (True, True, str(tmp_path))


def test_the_route_names_those_that_are_served():
    description = RerankIn.model_fields["model"].description or ""
    assert [name for name in names(ENTRIES) if f"`{name}`" in description] == list(SERVED)


@pytest.mark.parametrize("page", ["docs/configuration.md", "docs/http-api.md"])
def test_the_pages_name_those_that_are_served(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in SERVED)


def test_the_page_about_retrieval_has_a_row_for_each():
    text = (ROOT / "docs" / "retrieval.md").read_text(encoding="utf-8")
    assert [entry for entry in ENTRIES if f"| `{entry.name}` | {entry.summary} |" not in text] == []
