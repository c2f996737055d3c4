from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from rich.console import Console

from eval.commands.options import WritingOptions
from eval.commands.writing import WritingPlan, WritingSession, writer
from pearl.clock import Budget
from pearl.models.asking.write import WritingContext
from pearl.settings import load_settings


@pytest.fixture
def plan(tmp_path):
    options = WritingOptions(model=["random"], k=3)
    return WritingPlan(options, load_settings(llm="embedded", home=tmp_path))


def test_answers_are_kept_under_the_address_that_is_really_called(plan, monkeypatch):
    def writer(**settings):
        return replace(plan, settings=load_settings(llm="openai", llm_model="m", **settings)).writer

    for name in ("PEARL_LLM_BASE_URL", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    assert writer() == "m at https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://elsewhere/v1")
    assert writer() == "m at http://elsewhere/v1"
    assert writer(llm_base_url="http://here/v1") == "m at http://here/v1"


def test_the_budget_begins_with_the_writing(plan, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("eval.commands.writing.Budget", partial(Budget, clock=lambda: now[0]))
    options = replace(plan.options, budget_minutes=1)

    async def work(context: WritingContext) -> bool:
        return context.budget.until(1.0)()

    console = Console(stderr=True)
    with writer(plan, None, console) as writes:
        room = WritingSession(options, (), plan, console, None, None, [], writes)
        now[0] = 90.0  # of ranking
        assert room.write(work)
