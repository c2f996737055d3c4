"""Files of judgements, labels and pairs with odd values: an error of one line that names the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eval.asking.reply import NO_VERDICT
from eval.asking.verdict import Invalid
from eval.asking.votes import read_votes
from eval.judges.style_detect import _ANSWER
from eval.recorded import labels
from eval.recorded.forensics.pair_files import read_pairs
from eval.recorded.style import judged
from pearl.errors import InputError

RANKING = {"kind": "ranking", "item": "a", "task": "t", "scheme": "s", "judge": "j", "draw": 0, "order": "ab"}
RESPONSES = {"response_a": {"text": "tea"}, "response_b": {"text": "milk"}}
DRAFT = {"id": "d", "text": "tea", "request": "drink?"}
SENT = {"id": "s", "text": "milk"}
FEEDBACK = {"draft_id": "d", "document_id": "s"}


def written(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"item": "a", "style": 5, "verdict": "A"}, "judged.jsonl:1: style: must be a style or an array of styles"),
        ({"item": "a", "style": [5], "verdict": "A"}, "judged.jsonl:1: style: must be a style or an array of styles"),
        ({"item": "a", "verdict": []}, "Judgement 1 has a score, not a label"),
        ({"item": "a", "label": {}}, "Judgement 1 has a score, not a label"),
    ],
)
def test_a_judgement_of_another_type(tmp_path, value, message):
    with pytest.raises(InputError, match=message):
        labels.read_judged([written(tmp_path, "judged.jsonl", json.dumps(value))])


def test_an_answer_that_is_no_letter_is_none(tmp_path):
    (item,) = labels.read_judged([written(tmp_path, "judged.jsonl", json.dumps({"item": "a", "answer": ["A"]}))])
    assert item.answers == ()


def test_a_label_of_a_style_of_another_type(tmp_path):
    with pytest.raises(InputError, match=r"labels\.jsonl:1: style: must be a style"):
        labels.read_people(written(tmp_path, "labels.jsonl", json.dumps({"id": "a", "label": "x", "style": 5})))


def test_a_ranking_whose_verdict_is_an_array(tmp_path):
    path = written(tmp_path, "judged.jsonl", json.dumps({**RANKING, "verdict": []}))
    with pytest.raises(InputError, match=r"judged\.jsonl:1: verdict: must be one of"):
        judged.read_judged([path])


def export(**changed: dict[str, Any]) -> str:
    parts = {"documents": SENT, "drafts": DRAFT, "feedback": FEEDBACK} | changed
    return json.dumps({"object": "export"} | {name: [value] for name, value in parts.items()})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"comparisons": %s}' % ("9" * 5000), "pairs.json:1: has a number with more digits than can be read"),
        (json.dumps({"comparisons": [{**RESPONSES, "prompt": 5}]}), "pair 1: prompt: must not be a number"),
        (
            json.dumps({"metadata": {"available_metadata_keys_per_comparison": 5}, "comparisons": []}),
            "metadata.available_metadata_keys_per_comparison: must be an array of names",
        ),
        (export(documents={**SENT, "id": []}), "documents: id: must be a string, not an array"),
        (export(drafts={**DRAFT, "text": None}), "feedback: text: must be a string, not null"),
        (export(drafts={**DRAFT, "request": 5}), "feedback: request: must be a string, not a number"),
        (export(feedback={**FEEDBACK, "draft_id": []}), "feedback: draft_id: must be a string, not an array"),
    ],
)
def test_pairs_of_another_type(tmp_path, content, message):
    with pytest.raises(InputError, match=message):
        read_pairs(written(tmp_path, "pairs.json", content))


def test_blanks_without_end_are_read_in_linear_time():
    """In quadratic time this takes minutes."""
    assert _ANSWER.search("\n" * 100_000) is None
    assert _ANSWER.search("answer" + " " * 100_000) is None
    assert _ANSWER.search("text\n > **Answer** : yes")
    assert read_votes("{" + " " * 200_000 + "x}", 2) == Invalid(NO_VERDICT)
