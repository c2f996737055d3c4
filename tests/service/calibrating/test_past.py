"""The texts that a calibration drafts again."""

from __future__ import annotations

from collections.abc import Callable

from pearl.records import Document
from retriever.baselines.trivial import RecentRetriever
from service.calibrating.study import past_texts


def test_a_long_history_without_requests_is_passed_over_quickly(grows_linearly: Callable[..., None]) -> None:
    def work(text: str) -> None:
        documents = [Document(str(place), word, float(place)) for place, word in enumerate(text.split())]
        past, left_out = past_texts(documents, RecentRetriever(), 60)
        assert (past, left_out) == ([], {"no_request": len(documents)})

    grows_linearly(work, "word ", 8000)
