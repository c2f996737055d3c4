from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pearl.errors import Overloaded
from service.process.rate_limits import LONGEST_WAIT_S, Admission

Work = Callable[[], Awaitable[None]]


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def full(most: int = 1, seconds: float = 0.5) -> tuple[Admission, asyncio.Event, list[asyncio.Task[None]]]:
    """An admission whose drafts take so long, with all slots taken until the event."""
    admission, end = Admission(most), asyncio.Event()
    admission._seconds = seconds

    async def draft() -> None:
        async with admission.slot():
            await end.wait()

    drafts = [asyncio.create_task(draft()) for _ in range(most)]
    await settled()
    assert admission.inside == most
    return admission, end, drafts


def test_who_comes_when_all_slots_are_taken_has_the_next() -> None:
    async def work() -> None:
        admission, end, drafts = await full()
        order: list[int] = []

        async def later(number: int) -> None:
            async with admission.slot():
                assert admission.inside == 1
                order.append(number)

        waiting = [asyncio.create_task(later(number)) for number in range(3)]
        await settled()
        assert order == []
        end.set()
        await asyncio.gather(*drafts, *waiting)
        assert order == [0, 1, 2]
        assert admission.inside == 0

    asyncio.run(work())


def test_who_would_wait_too_long_is_refused_at_once_and_told_for_how_long() -> None:
    async def work() -> None:
        admission, end, drafts = await full(most=2, seconds=2.5 * LONGEST_WAIT_S)
        with pytest.raises(Overloaded) as refused:
            async with admission.slot():
                raise AssertionError("there is no third place")
        assert (refused.value.http_status, refused.value.code) == (503, "overloaded")
        assert refused.value.retry_after == pytest.approx(1.25 * LONGEST_WAIT_S)
        assert admission.inside == 2
        end.set()
        await asyncio.gather(*drafts)

    asyncio.run(work())


def test_nobody_waits_before_it_is_known_how_long_a_draft_takes() -> None:
    async def work() -> None:
        admission, end, drafts = await full(seconds=0)
        with pytest.raises(Overloaded):
            async with admission.slot():
                pass
        end.set()
        await asyncio.gather(*drafts)

    asyncio.run(work())


@pytest.mark.parametrize("handed_on", [False, True])
def test_who_leaves_the_queue_keeps_no_slot(handed_on: bool) -> None:
    async def work() -> None:
        admission, end, drafts = await full()

        async def later() -> None:
            async with admission.slot():
                pass

        leaving, staying = asyncio.create_task(later()), asyncio.create_task(later())
        await settled()
        if handed_on:  # the slot and the cancellation come in one turn of the loop
            end.set()
            while len(admission._waiting) == 2:  # noqa: ASYNC110 - to the very turn of the loop
                await asyncio.sleep(0)
        leaving.cancel()
        await settled()
        assert leaving.cancelled()
        end.set()
        await asyncio.gather(*drafts, staying)
        assert not admission._waiting
        assert admission.inside == 0

    asyncio.run(work())


def test_a_failure_gives_its_place_back() -> None:
    async def work() -> None:
        admission = Admission(most=1)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                async with admission.slot():
                    raise ZeroDivisionError
        assert admission.inside == 0

    asyncio.run(work())
