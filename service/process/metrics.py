"""Prometheus metrics: ids, counts and times, never texts."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from pearl.records import Draft

STAGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # a variable of the library; `pearl serve --workers` sets it


class Metrics:
    """The metrics of one process; with several worker processes :meth:`render` adds up all of them."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "pearl_http_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "pearl_http_request_seconds",
            "Time until the answer was complete.",
            ("route",),
            buckets=STAGES,
            registry=self.registry,
        )
        self.drafts = Counter("pearl_drafts", "Drafts written.", ("stage", "revision"), registry=self.registry)
        self.stages = Histogram(
            "pearl_draft_stage_seconds", "Time of a draft's stages.", ("stage",), buckets=STAGES, registry=self.registry
        )
        self.notes = Counter("pearl_draft_notes", "Notes on drafts.", ("code",), registry=self.registry)
        self.failures = Counter(
            "pearl_llm_failures", "Calls of the chat model that failed.", ("code",), registry=self.registry
        )
        self.indexes_built = Counter(
            "pearl_history_indexes_built", "Indexes of histories built anew.", registry=self.registry
        )
        self.tokens = Counter("pearl_llm_tokens", "Tokens of the chat model.", ("kind",), registry=self.registry)

    def count_draft(self, draft: Draft) -> None:
        self.drafts.labels(draft.stage, draft.revision.reason).inc()
        for note in draft.retrieval.notes:
            self.notes.labels(note.code).inc()
        for name, milliseconds in draft.timings.items():
            self.stages.labels(name.removesuffix("_ms")).observe(milliseconds / 1000)
        self.tokens.labels("prompt").inc(draft.usage.prompt_tokens)
        self.tokens.labels("completion").inc(draft.usage.completion_tokens)

    def render(self) -> bytes:
        """The metrics in the text format that Prometheus reads."""
        if MULTIPROCESS_FOLDER not in os.environ:
            return generate_latest(self.registry)
        all_processes = CollectorRegistry()
        MultiProcessCollector(all_processes)  # type: ignore[no-untyped-call]
        return generate_latest(all_processes)
