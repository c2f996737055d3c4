"""The cost of a run of questions: an estimate before it, a cap while it runs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from pearl.errors import InputError
from pearl.records import Prices, Usage

NO_PRICES = Prices()
NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """An estimate before a run: the number of questions, and the most tokens that they may use."""

    questions: int  # different ones
    kept: int  # of these, with a kept reply
    most: (
        Usage  # prompt tokens as the model counts them, which errs upwards, and answers of the greatest length allowed
    )

    @property
    def missing(self) -> int:
        return self.questions - self.kept

    def to_json(self, prices: Prices) -> dict[str, Any]:
        return {
            "questions": self.questions,
            "kept": self.kept,
            "calls": self.missing,
            "prompt_tokens": self.most.prompt_tokens,
            "completion_tokens_at_most": self.most.completion_tokens,
            "cost_at_most": prices.of(self.most),
        }


class SpendingCap:
    """A cap on the cost of one run. The highest possible cost of a call is reserved until its real cost is known."""

    def __init__(self, prices: Prices = NO_PRICES, cap: float | None = None) -> None:
        if cap is not None and prices.of(Usage()) is None:
            raise InputError("--max-cost needs prices; set PEARL_LLM_PRICES, such as 0.15,0.60.", param="max_cost")
        self._prices = prices
        self.cap = cap
        self._set_aside = 0.0
        self._under_way = 0  # calls that cost is set aside for
        self._settled = asyncio.Event()
        self.usage = Usage()

    @property
    def spent(self) -> float | None:
        return self._prices.of(self.usage)

    async def set_aside(self, most: Usage) -> bool:
        """Reserve a call's highest possible cost, after waiting for running calls if necessary; False if over the
        cap."""
        cost = self._prices.of(most) or 0.0
        while self.cap is not None and (self.spent or 0.0) + self._set_aside + cost > self.cap:
            if not self._under_way:
                return False
            self._settled.clear()
            await self._settled.wait()
        self._set_aside += cost
        self._under_way += 1
        return True

    def settle(self, most: Usage, used: Usage) -> None:
        """Replace the cost reserved for a call by the tokens it really used, which are none if the call failed."""
        self.usage += used
        self._under_way -= 1
        # nothing is left of it by rounding when no call is under way
        self._set_aside = self._set_aside - (self._prices.of(most) or 0.0) if self._under_way else 0.0
        self._settled.set()
