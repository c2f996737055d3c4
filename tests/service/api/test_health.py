from __future__ import annotations

from pearl import __version__


def test_health_needs_no_key(pearl):
    answer = pearl.client.get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "version": __version__})
