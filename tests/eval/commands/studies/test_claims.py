"""``pearl eval claims``"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

DRAFT = {
    "id": "1",
    "request": "Tell Nan that the rails are ready.",
    "samples": ["The fair in Skellmouth was cold."],
    "draft": "The rails are ready at 10:30, as the fair in Skellmouth. I'll bring them.",
    "spans": [
        {"kind": "carried_over", "text": "Skellmouth"},
        {"kind": "unsupported", "text": "rails are"},
        {"kind": "commitment", "text": "I'll bring them"},
        {"kind": "dropped", "text": "Nan"},
    ],
}


def labels(tmp_path: Path, **changed: Any) -> Path:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(orjson.dumps(DRAFT | changed))
    return path


def test_precision_and_recall_by_kind(run_pearl: Any, tmp_path: Path) -> None:
    result = run_pearl("eval", "claims", "--labels", labels(tmp_path), "--json", "-").json
    shown = {
        row["kind"]: (row["labelled"], row["found"], row["precision"]["value"], row["recall"]["value"])
        for row in result["kinds"]
        if row["found"]
    }
    assert shown == {
        "facts": (2, 2, 0.5, 0.5),
        "carried_over": (1, 1, 1.0, 1.0),
        "unsupported": (1, 1, 0.0, 0.0),  # 10:30 is one, and is not labelled
        "commitment": (1, 1, 1.0, 1.0),
        "dropped": (1, 1, 1.0, 1.0),
    }
    assert "Claims of 1 drafts" in run_pearl("eval", "claims", "--labels", labels(tmp_path)).out


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"spans": [{"kind": "rumour", "text": "Nan"}]}, "labels.jsonl:1: spans.kind: 'rumour' is no kind of claim."),
        ({"spans": [{"kind": "dropped", "text": "Ilse"}]}, "'Ilse' does not stand in the request."),
        ({"spans": ["Nan"]}, "None is no kind of claim."),
        ({"samples": "Nan"}, "'samples' and 'spans' must be lists."),
        ({"draft": 3}, "labels.jsonl:1: draft: "),
    ],
)
def test_labels_that_cannot_be_read(run_pearl: Any, tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    done = run_pearl("eval", "claims", "--labels", labels(tmp_path, **changed))
    assert done.status == 2
    assert message in done.err
