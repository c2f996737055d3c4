from __future__ import annotations

import pytest

from eval.retrieval.gains import GainsRecord, containment, kept_documents
from pearl.records import Document, Request

TARGET = "one two three four five"  # three trigrams


@pytest.mark.parametrize(
    ("target", "text", "share"),
    [
        (TARGET, TARGET, 1.0),
        (TARGET, "Zero, ONE two: three -- four! And five.", 2 / 3),
        (TARGET, "two three four", 1 / 3),
        (TARGET, "five four three two one", 0.0),
        (TARGET, "one two", 0.0),
        (TARGET, "", 0.0),
        ("la la la la la", "la la la", 1.0),  # a trigram counts once, however often it comes
        ("two words", "these two words", 1.0),  # fewer than three words are one n-gram
        ("two words", "words two", 0.0),
        ("word", "a word", 1.0),
        ("...", "...", 0.0),
        ("", "", 0.0),
    ],
)
def test_the_share_of_the_targets_trigrams(target, text, share):
    assert containment(target, text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("target", "threshold", "kept"),
    [
        (TARGET, 0.5, (False, False, True)),
        (TARGET, 0.7, (False, True, True)),
        (TARGET, 0.0, (False, False, False)),
        (None, 0.5, (True, True, True)),
    ],
)
def test_which_documents_are_kept(target, threshold, kept):
    texts = (TARGET, "one two three four", "nothing of it")
    documents = tuple(Document(str(index), text) for index, text in enumerate(texts))
    assert kept_documents(GainsRecord(Request("a"), None, None, target, documents, (1.0,) * 3), threshold) == kept
