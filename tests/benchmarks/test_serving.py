from __future__ import annotations

import pytest

from benchmarks import serving
from retriever.models.graph import Arithmetic


@pytest.mark.parametrize(("arithmetic", "most"), [(Arithmetic.FLOAT32, 450), (Arithmetic.BFLOAT16, 350)])
def test_the_goal_of_memory_goes_by_the_arithmetic_of_the_models(
    monkeypatch: pytest.MonkeyPatch, arithmetic: Arithmetic, most: int
) -> None:
    monkeypatch.setattr(serving, "fastest", lambda: arithmetic)
    kept = serving.Kept([1.0], [1.0], 300.0)
    figures = {figure.name: figure for figure in serving._figures(kept, kept, [1.0], 0)}
    assert figures["memory_endpoint_mib"].at_most == most
