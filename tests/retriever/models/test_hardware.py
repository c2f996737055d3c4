from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from retriever.models.hardware import TURNS, prefers_bfloat16


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
