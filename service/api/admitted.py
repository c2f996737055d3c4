"""Letting drafts in: within the budget of the caller's key, and as many at once as this worker writes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from anyio import CancelScope
from fastapi import Request

from service.api.dependencies import admission_of
from service.drafting.drafter import Event, Finished
from service.process.rate_limits import RateLimited, Spending, counted
from service.process.threads import in_writing_thread
from service.services import Services
from service.store.keys import Identity, until_tomorrow


async def admitted(
    request: Request, services: Services, events: AsyncGenerator[Event, None]
) -> AsyncGenerator[Event, None]:
    """Yield the events of a draft in a slot of this worker. Count its tokens for the caller's key if that has a budget,
    also if the draft fails or its reader leaves. Before the first event raises Overloaded, and RateLimited if the
    budget is used up."""
    caller: Identity = request.state.caller
    async with aclosing(admission_of(request).admit(events)) as let_in:
        if (budget := caller.budget) is None:
            async for event in let_in:
                yield event
            return
        if budget.spent >= budget.per_day:
            raise RateLimited(
                f"The drafts of this key have taken {budget.spent:,} tokens today, and may take {budget.per_day:,} a "
                "day; the next day begins at midnight UTC.",
                code="token_budget_exceeded",
                retry_after=until_tomorrow(),
            )
        spending = Spending(services.database, caller.key_id)
        counted.set(spending)  # for the tasks of this request, which end with it
        try:
            async for event in let_in:
                if isinstance(event, Finished):  # the client's next call must find it counted
                    await in_writing_thread(spending.store)
                yield event
        finally:
            await let_in.aclose()  # then the model's last call is counted
            if spending.tokens:
                with CancelScope(shield=True):
                    await in_writing_thread(spending.store)
