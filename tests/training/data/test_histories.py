from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pearl.errors import InputError
from training.data.histories import read_histories


def line(user: str, id: str, text: str) -> dict[str, Any]:
    return {"user_id": user, "id": id, "text": text}


def test_a_document_that_is_there_twice_counts_once(write_lines: Any) -> None:
    path = write_lines([line("ann", "a", "one"), line("ben", "a", "two"), line("ann", "a", "one")])
    histories = read_histories(path)
    assert {user: [each.text for each in own] for user, own in histories.items()} == {"ann": ["one"], "ben": ["two"]}


def test_two_texts_by_one_id(write_lines: Any) -> None:
    path: Path = write_lines([line("ann", "a", "one"), line("ann", "a", "two")])
    with pytest.raises(InputError, match=r":2: id: is 'a', as another document of user 'ann' is"):
        read_histories(path)
