"""The README shows what was recorded, and nothing degenerate."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from service.sample import REQUEST

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECORDED = json.loads((ROOT / "docs" / "assets" / "side-by-side.json").read_text(encoding="utf-8"))
DRAFTS = [pair[side] for pair in RECORDED["recorded"] for side in ("without_history", "with_history")]


def test_its_order() -> None:
    assert re.findall(r"^## (.*)", README, flags=re.MULTILINE) == [
        "Two commands",
        "The same requests, with and without the history",
        "Your history",
        "Your model",
        "Where you write",
        "The API",
        "From history to draft",
        "Figures",
        "Privacy",
        "More",
    ]
    opening = README.partition("## ")[0].partition("\n")[2].strip()
    assert len(re.findall(r"\.(?:\s|$)", opening)) == 1  # one sentence


def test_the_command_is_the_one_that_the_server_prints() -> None:
    assert f'.venv/bin/pearl draft "{REQUEST}" --user sample --voice email\n' in README


@pytest.mark.parametrize("draft", DRAFTS, ids=lambda draft: draft["id"])
def test_each_draft_stands_there_as_it_was_recorded(draft: dict[str, Any]) -> None:
    text = draft["text"] if draft["retrieval"]["documents"] else " ".join(draft["text"].split(" ")[:30])
    assert html.escape(text, quote=False).replace("\n", "<br>") in README


@pytest.mark.parametrize("draft", DRAFTS, ids=lambda draft: draft["id"])
def test_no_draft_repeats_itself_or_breaks_off(draft: dict[str, Any]) -> None:
    lines = [re.sub(r"^\d+\) ", "", line) for line in draft["text"].splitlines() if line.strip()]
    assert Counter(lines).most_common(1)[0][1] == 1
    assert draft["usage"]["completion_tokens"] < 512


def test_only_the_history_differs() -> None:
    for pair in RECORDED["recorded"]:
        assert html.escape(pair["request"], quote=False) in README
        assert pair["without_history"]["retrieval"]["documents"] == []
        assert pair["with_history"]["retrieval"]["documents"]
