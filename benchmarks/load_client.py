"""Clients that call again as soon as they are answered, for a while; a process of its own.

A plan comes as JSON on standard input, what came of it goes as JSON to standard output.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import httpx2
import uvloop

REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Plan:
    """``bodies`` are sent in turn; an answer that lacks ``expected`` is an error."""

    url: str
    headers: dict[str, str]
    bodies: list[dict[str, Any]]
    expected: str
    clients: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Latencies of all calls that were begun in time and answered. ``errors``: what went wrong, and how often;
    ``refused``: how many calls were told to come back, which they did when they were told to."""

    seconds: float
    milliseconds: list[float]
    errors: dict[str, int]
    refused: int


async def carry_out(plan: Plan) -> Outcome:
    milliseconds: list[float] = []
    errors: Counter[str] = Counter()
    bodies = itertools.cycle(plan.bodies)
    limits = httpx2.Limits(max_connections=plan.clients, max_keepalive_connections=plan.clients)
    async with httpx2.AsyncClient(timeout=60, limits=limits, headers=plan.headers, trust_env=False) as client:
        started = time.perf_counter()
        deadline = started + plan.seconds
        callers = (_call(client, plan, bodies, deadline, milliseconds, errors) for _ in range(plan.clients))
        await asyncio.gather(*callers)
        seconds = time.perf_counter() - started
    refused = errors.pop(REFUSED, 0)
    return Outcome(seconds, milliseconds, dict(errors), refused)


async def _call(
    client: httpx2.AsyncClient,
    plan: Plan,
    bodies: Iterator[dict[str, Any]],
    deadline: float,
    milliseconds: list[float],
    errors: Counter[str],
) -> None:
    while (started := time.perf_counter()) < deadline:
        try:
            answer = await client.post(plan.url, json=next(bodies))
        except httpx2.HTTPError as error:
            errors[type(error).__name__] += 1
            continue
        if answer.status_code == 503 and "retry-after" in answer.headers:
            errors[REFUSED] += 1
            await asyncio.sleep(float(answer.headers["retry-after"]))
            continue
        milliseconds.append((time.perf_counter() - started) * 1000)
        if answer.status_code != 200:
            errors[f"status {answer.status_code}"] += 1
        elif plan.expected not in answer.text:
            errors["another answer"] += 1


if __name__ == "__main__":
    print(json.dumps(asdict(uvloop.run(carry_out(Plan(**json.load(sys.stdin)))))))
