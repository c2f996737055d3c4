"""Retries of calls that fail temporarily; a rate limit pauses all calls to the endpoint."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

from pearl.errors import ChatError, ChatRateLimited, ChatRefused, ChatRejected, ContextExceeded
from pearl.models.chat.base import ChatModel, Decoding, Message, Reply, complete

TRIES = 4
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
LONGEST_LIMIT_S = 900.0  # without one answer; then the limit is no passing one
DOWN = 5  # questions in a row that failed every time: the endpoint is taken to be down
FATAL = frozenset({"llm_key_refused", "llm_not_found", "llm_closed", "llm_untrusted"})  # for every question alike
UNREADABLE = "llm_unreadable"  # the address is wrong, unless a good answer came from it: then it fails for now

OUT_OF_TIME = "out_of_time"


@dataclass(frozen=True, slots=True)
class Failed:
    """The failure of a call, in place of a reply."""

    reason: str  # the error's code


Ask: TypeAlias = Callable[[Sequence[Message], Decoding], Awaitable[Reply]]


class ProgressReporter(Protocol):
    """Observes the progress of a run."""

    def advance(self, failed: bool) -> None: ...

    def waits(self, seconds: float) -> None:
        """Report that all calls wait for the endpoint's rate limit."""
        ...


class Unreported:
    def advance(self, failed: bool) -> None:
        pass

    def waits(self, seconds: float) -> None:
        pass


UNREPORTED = Unreported()


def asking(model: ChatModel) -> Ask:
    """Return a function that asks the model for a whole answer, without streaming if possible, which is cheaper."""
    whole: Ask | None = getattr(model, "answer", None)
    return whole or partial(complete, model)


class Patience:
    """Calls an endpoint, and repeats calls that fail temporarily. At a rate limit all calls pause, and ``tell`` is
    called with the seconds. Once ``go_on`` returns False, calls fail as OUT_OF_TIME, and the endpoint is not asked."""

    def __init__(
        self,
        ask: Ask,
        tell: Callable[[float], None],
        *,
        go_on: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._ask = ask
        self._tell = tell
        self._go_on = go_on
        self._clock = clock
        self._sleep = sleep
        self._open_at = 0.0  # by the clock; there are no calls before it
        self._pause = FIRST_PAUSE_S
        self._limited_since: float | None = None
        self._failed_in_a_row = 0
        self._has_replied = False
        self.repeated = 0  # calls that were made again

    async def answer(self, messages: Sequence[Message], decoding: Decoding) -> Reply | Failed:
        """Ask the endpoint; return its reply or why it failed. Raises ChatError if later questions would fail, too."""
        tries = 0
        while True:
            await self._wait_for_limit()
            if not self._go_on():
                return Failed(OUT_OF_TIME)
            try:
                reply = await self._ask(messages, decoding)
            except (ContextExceeded, ChatRefused) as error:  # of this question alone
                self._answered()
                return Failed(error.code)
            except ChatRejected as error:
                return self._rejected(error)
            except ChatRateLimited as error:
                self._limited(error)
            except ChatError as error:
                tries += 1
                if error.code in FATAL or (error.code == UNREADABLE and not self._has_replied):
                    raise
                if tries == TRIES:
                    return self._give_up(error)
                await self._sleep(min(FIRST_PAUSE_S * 2**tries, LONGEST_PAUSE_S) * random.uniform(0.5, 1))
            else:
                self._answered()
                self._has_replied = True
                return reply
            self.repeated += 1

    def _answered(self) -> None:
        self._pause, self._limited_since, self._failed_in_a_row = FIRST_PAUSE_S, None, 0

    def _rejected(self, error: ChatRejected) -> Failed:
        """Fail this question alone if another was answered before; otherwise every question may have the fault."""
        if not self._has_replied:
            return self._give_up(error)
        self._answered()
        return Failed(error.code)

    def _give_up(self, error: ChatError) -> Failed:
        self._failed_in_a_row += 1
        if self._failed_in_a_row == DOWN:
            raise error
        return Failed(error.code)

    def _limited(self, error: ChatRateLimited) -> None:
        now = self._clock()
        since = self._limited_since = now if self._limited_since is None else self._limited_since
        asked_for = error.retry_after or FIRST_PAUSE_S
        if now - since + asked_for > LONGEST_LIMIT_S:
            raise error
        if now < self._open_at:  # a call that was under way when another one heard of the limit
            self._open_at = max(self._open_at, now + asked_for)
            return
        self._pause = min(self._pause * 2, LONGEST_PAUSE_S)
        wait = max(asked_for, self._pause)
        self._open_at = now + wait
        self._tell(wait)

    async def _wait_for_limit(self) -> None:
        while (left := self._open_at - self._clock()) > 0 and self._go_on():
            await self._sleep(min(left, LONGEST_PAUSE_S) + random.uniform(0, min(left, 1.0)))  # not all in one moment
