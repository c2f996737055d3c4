from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from retriever.models.hardware import TURNS, onednn_has_bfloat16, prefers_bfloat16


@pytest.fixture
def unmeasured() -> Iterator[None]:
    """What is remembered of this processor is forgotten before and after."""
    prefers_bfloat16.cache_clear()
    yield
    prefers_bfloat16.cache_clear()


@pytest.mark.parametrize(("bfloat16", "preferred"), [(4.0, False), (1.7, False), (1.0, True), (0.2, True)])
@pytest.mark.usefixtures("unmeasured")
def test_bfloat16_is_preferred_where_products_in_it_are_clearly_faster(bfloat16, preferred, monkeypatch):
    # in turns, float32 first; the least counts, the rest is noise
    seconds = iter([9.0, bfloat16, 2.0, 9.0] + [3.0, 9.0] * (TURNS - 2))
    threads = torch.get_num_threads()

    def timed(product: Callable[[], object], **_: int) -> float:
        assert torch.get_num_threads() == 1  # several wait for each other on a machine at work
        product()
        return next(seconds)

    monkeypatch.setattr("timeit.timeit", timed)
    assert prefers_bfloat16("cpu") is preferred
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("variables", "has"),
    [
        ({}, True),
        ({"ONEDNN_MAX_CPU_ISA": ""}, True),
        ({"ONEDNN_MAX_CPU_ISA": "ALL"}, True),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}, True),
        ({"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI"}, False),
        ({"ONEDNN_MAX_CPU_ISA": "avx2"}, False),
        ({"DNNL_MAX_CPU_ISA": "AVX2"}, False),
        ({"DNNL_MAX_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "ALL"}, True),
    ],
)
def test_the_environment_may_keep_onednn_from_bfloat16(variables, has, monkeypatch):
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert onednn_has_bfloat16() is has
