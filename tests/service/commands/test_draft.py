from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pearl.settings import load_settings
from service.commands.common import open_database
from service.sample import load_sample, sample_documents


@pytest.fixture
def sample(own_home: Path) -> None:
    settings = load_settings(home=own_home)
    with open_database(settings) as database:
        load_sample(database, settings)


def test_a_draft_with_the_real_models(process: Any, sample: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """From end to end: the installed command, the embedded models, the sample user."""
    monkeypatch.setenv("PEARL_RETRIEVER", "fusion")  # a trained one may ask instead, or leave documents out
    running = process(
        "draft", "Ask Nan for the costume rails again", "--user", "sample", "--voice", "email", "--json", "-"
    )
    out, err = running.communicate(timeout=100)
    assert running.returncode == 0, err
    draft = json.loads(out)  # and nothing else is on standard output
    assert draft["object"] == "draft"
    assert len(draft["text"].split()) > 3
    assert draft["stage"] == "draft"
    assert draft["revision"]["reason"] == "no_threshold"
    emails = {document.id for document in sample_documents() if document.voice == "email"}
    shown = [document["id"] for document in draft["retrieval"]["documents"]]
    assert len(shown) == 4
    assert set(shown) <= emails
    assert draft["usage"]["completion_tokens"] > 3
    assert "<document>" not in draft["text"]


def test_an_unreachable_model_is_status_1(command: Any, sample: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEARL_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("PEARL_LLM_MODEL", "nothing")
    monkeypatch.setenv("PEARL_LLM_MAX_RETRIES", "0")
    monkeypatch.setenv("PEARL_RETRIEVER", "bm25")
    ran = command("draft", "write", "--user", "sample", "--json", "-")
    assert (ran.status, ran.out) == (1, "")
    assert "cannot be reached" in ran.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("write", "--user", "nobody"), "There is no user 'nobody'"),
        (("write", "--user", "sample", "--voice", "nobody"), "There is no voice 'nobody'"),
        (("", "--user", "sample"), "'request' is empty"),
        (("write", "--user", "sample", "--revise", "perhaps"), "revise"),
        (("write", "--user", "sample", "-k", "0"), "-k"),
        (("write", "--user", "sample", "--voice", ""), "'voice' must have"),
        (("write",), "--user"),
        ((), "REQUEST"),
    ],
)
def test_options_that_cannot_be(
    command: Any, sample: None, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.setenv("PEARL_RETRIEVER", "bm25")
    ran = command("draft", *arguments)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_help_has_examples(command: Any) -> None:
    assert "pearl draft" in command("draft", "--help").out
