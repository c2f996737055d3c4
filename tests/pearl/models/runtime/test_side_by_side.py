from __future__ import annotations

import asyncio

import pytest

from pearl.models.runtime.side_by_side import side_by_side


def test_each_takes_what_is_next():
    left, taken = iter(range(10)), []

    async def work() -> None:
        for each in left:
            await asyncio.sleep(0)
            taken.append(each)

    asyncio.run(side_by_side(work, 3))
    assert sorted(taken) == list(range(10))


def test_the_first_failure_ends_all():
    left, taken = iter(range(100)), []

    async def work() -> None:
        for each in left:
            if each == 4:
                raise ValueError(each)
            await asyncio.sleep(0)
            taken.append(each)

    with pytest.raises(ValueError, match="4"):
        asyncio.run(side_by_side(work, 3))
    assert len(taken) < 10
