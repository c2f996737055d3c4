"""No importer takes more than linear time on what was made to keep it busy."""

from __future__ import annotations

import pytest

from benchmarks import hostile_sources
from benchmarks.hostile_imports import BYTES, LINEAR, ROWS, TIMES, repeated


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_eight_times_the_input_takes_no_more_than_about_eight_times_the_time(row):
    # the square would be 64 times; looked at again before a busy machine counts as one
    assert LINEAR < TIMES**2 / 2
    assert any(row.growth(attempts=1) < LINEAR for _ in range(4))


@pytest.mark.parametrize("row", hostile_sources.ROWS, ids=lambda row: row.name)
def test_so_it_is_with_notes_chats_and_tables(row):
    assert any(row.growth(hostile_sources.BYTES, attempts=1) < LINEAR for _ in range(4))


def test_rows_have_names_of_their_own():
    names = [row.name for row in (*ROWS, *hostile_sources.ROWS)]
    assert len(set(names)) == len(names)


def test_an_input_has_about_the_size_that_was_asked_for():
    assert [len(repeated("tea ", size)) for size in (0, 3, 400)] == [4, 4, 400]
    for row in ROWS:
        assert BYTES / 2 <= len(row.make(BYTES)) <= 2 * BYTES + 1_000, row.name
