from __future__ import annotations

from pathlib import Path

from eval.report.head import Head
from pearl import __version__


def test_a_command_is_spelled_as_it_was_given():
    head = Head.of(
        *("judge", "style-detect"),
        judge="mock",
        items=Path("my items.jsonl"),
        scheme=["yes_no", "likert_3"],
        systems=("ours", "bm25"),
        style_shown=None,
        reflect=True,
        protected=False,
        threshold=80.0,
        share=0.12345678,
        **{"--no-persona": True},
    )
    assert head.to_json() == {
        "command": "pearl judge style-detect --items 'my items.jsonl' --scheme yes_no --scheme likert_3 --systems ours "
        "bm25 --reflect --threshold 80 --share 0.12345678 --no-persona",
        "version": __version__,
        "judge": "mock",
    }
    assert Head.of("eval", "style").to_json() == {"command": "pearl eval style", "version": __version__}
