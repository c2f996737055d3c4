from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pearl.records import Document, Request
from training.data.records import Example
from training.gains.proxy import DOCUMENT_WORDS, ProxyScale, overlaps, unlabelled_examples


def example(target: str, *texts: str, gains: Any = None) -> Example:
    documents = tuple(Document(str(number), text) for number, text in enumerate(texts))
    return Example(
        "u", "t", Request("r"), target, documents, np.zeros(len(texts), np.float32) if gains is None else gains
    )


def test_overlaps_by_hand() -> None:
    found = overlaps(example("a b c d", "a b c x", "B c, a b", "", "d c b a", "a b a b"))
    # ab bc and abc; bc ab; nothing; nothing; ab once
    assert found.tolist() == [[2, 1], [2, 0], [0, 0], [0, 0], [1, 0]]


def test_only_what_the_auxiliary_model_sees_counts() -> None:
    late = "x " * (DOCUMENT_WORDS - 1)
    assert overlaps(example("a b", late + "a b", "x " * (DOCUMENT_WORDS - 2) + "a b")).tolist() == [[0, 0], [1, 0]]


def test_the_scale_is_least_squares_and_labels_in_nats() -> None:
    texts = ("a b c d e", "a b c", "a b", "c d", "nothing")
    shared = overlaps(example("a b c d e", *texts))
    gains = (3.0 * shared[:, 0] + 2.0 * shared[:, 1] - 1.0).astype(np.float32)
    scale = ProxyScale.fit([example("a b c d e", *texts, gains=gains)])
    assert scale.weights == pytest.approx((3.0, 2.0, -1.0), abs=1e-5)
    assert scale.pearson_r == pytest.approx(1.0)
    labelled = scale.label(example("a b c d e", "a b c d e", "x"))
    assert labelled.gains.tolist() == pytest.approx([3 * 4 + 2 * 3 - 1, -1.0], abs=1e-4)
    assert labelled.gains.dtype == np.float32


def test_where_nothing_is_shared_the_scale_is_finite() -> None:
    scale = ProxyScale.fit([example("a b", "x", "y", gains=np.array([2.0, 4.0], np.float32))])
    assert scale.weights == pytest.approx((0.0, 0.0, 3.0), abs=1e-6)
    assert scale.pearson_r == 0.0


def histories(writings: Any, **options: Any) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for line in writings(["ann", "ben"], **options):
        document = Document(line["id"], line["text"], line.get("timestamp"), line["request"])
        found.setdefault(line["user_id"], []).append(document)
    return found


def test_past_texts_with_what_was_written_before(writings: Callable[..., Any]) -> None:
    found = unlabelled_examples("c", histories(writings), targets=4, candidates=5, least=6, seed=1)
    assert [each.user_id for each in found] == ["c:ann"] * 4 + ["c:ben"] * 4
    for each in found:
        assert len(each.documents) == len(each.gains) == 5
        assert all(document.timestamp < each.request.timestamp for document in each.documents)
        assert each.target not in {document.text for document in each.documents}
    again = unlabelled_examples("c", histories(writings), targets=4, candidates=5, least=6, seed=1)
    assert [each.request_id for each in again] == [each.request_id for each in found]


def test_who_gives_none(writings: Callable[..., Any]) -> None:
    options: Any = {"targets": 4, "candidates": 5, "least": 6, "seed": 1}
    assert unlabelled_examples("c", histories(writings, timed=False), **options) == []
    assert unlabelled_examples("c", histories(writings, documents=6), **options) == []
    assert len(unlabelled_examples("c", histories(writings, documents=7), **options)) == 2
    assert unlabelled_examples("c", {}, **options) == []
