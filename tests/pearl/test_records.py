from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from pearl import records
from pearl.records import Document, Usage


def test_records_are_frozen():
    kinds = [kind for kind in vars(records).values() if isinstance(kind, type) and is_dataclass(kind)]
    assert len(kinds) >= 8
    assert all(kind.__dataclass_params__.frozen and "__slots__" in vars(kind) for kind in kinds)
    with pytest.raises(FrozenInstanceError):
        Document("a", "b").text = "c"


def test_tokens_add_up():
    assert Usage(7, 3).total_tokens == 10
    assert Usage(7, 3) + Usage(1, 2) == Usage(8, 5)
    assert sum([Usage(1, 1)] * 3, Usage()) == Usage(3, 3)


def test_a_document_needs_only_its_id_and_text():
    required = [field.name for field in fields(Document) if field.default is not None]
    assert required == ["id", "text"]
