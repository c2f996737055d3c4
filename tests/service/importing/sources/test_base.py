from __future__ import annotations

import pytest

from pearl.errors import InputError
from service.importing.sources.base import LeftOut, Options, importer_names, load_importer

BUILT_IN = {
    *("chatgpt", "claude", "discord", "git", "jsonl", "linkedin", "markdown", "mastodon", "mbox", "reddit", "slack"),
    *("takeout", "telegram", "whatsapp", "x"),
}


def test_the_built_in_importers_are_found():
    assert set(importer_names()) >= BUILT_IN


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_an_importer_says_what_it_is(name):
    importer = load_importer(name)
    assert importer.name == name
    assert importer.summary
    assert all(example.startswith(f"pearl import {name} ") for example in importer.examples)
    assert importer.unit in ("bytes", "commits", "files")


def test_an_unknown_importer_is_told_with_those_there_are():
    with pytest.raises(InputError, match="no importer 'telegraph'; there are apple-notes, bluesky, chatgpt"):
        load_importer("telegraph")


def test_the_owner_is_the_user_that_was_given():
    assert Options(user="ann").owner == "ann"
    with pytest.raises(InputError, match="--user"):
        _ = Options().owner


def test_left_out_because_of_an_error_keeps_its_field():
    error = InputError("'text' is empty.", param="text", code="empty_text")
    assert LeftOut.because_of(error, "a:1") == LeftOut("a:1", "empty text", "'text' is empty.", "text")
