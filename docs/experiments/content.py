"""Texts for ``pearl eval content``: LAMP's paragraphs by origin, and drafts for short and for detailed prompts.

    python docs/experiments/content.py lamp_PRE_val.json.gz ORIGINS.jsonl PROMPTS.jsonl NUMBER
    pearl eval content --texts ORIGINS.jsonl --model embedded --reference edited --json origins.json
    pearl eval content --texts PROMPTS.jsonl --model embedded --reference edited --json prompts.json

Of each pair of LAMP the preferred text is a writer's edit, the other one the draft of the model that the record names.
The prompts for the embedded model are made from NUMBER of the edits by rule: the words of the text without function
words and repetitions, the first 30 of them for a short prompt and all for a detailed one, which are about
half of the text's words. The texts stay on this machine.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from eval.asking.json_lines import write_lines
from pearl.chat.base import Decoding, Message, complete
from pearl.chat.choose import make_chat_model
from pearl.settings import load_settings
from retriever.reward.originals import underlying
from retriever.reward.record_files import parse_objects

EDIT, MODEL = "edited", "SmolLM2-135M"
SHORT_WORDS = 30
SENTENCE = re.compile(r"(?<=[.!?])\s+")


def notes(text: str) -> list[str]:
    """A line a sentence: its words but function words, and those that an earlier line has."""
    seen: set[str] = set()
    lines = []
    for sentence in SENTENCE.split(text):
        words = [word for word in re.findall(r"[\w'’-]+", sentence) if word.lower() not in ENGLISH_STOP_WORDS]
        new = [word for word in words if word.lower() not in seen]
        seen.update(word.lower() for word in new)
        if new:
            lines.append(" ".join(new))
    return lines


def asked(kind: str, number: int, lines: list[str]) -> list[Message]:
    listed = "\n".join(f"- {line}" for line in lines)
    words = f"Write one paragraph of {kind.lower()}, of about {number} words, from these notes."
    return [Message("user", f"{words} Answer with the paragraph alone.\n\n{listed}")]


def first_words(lines: list[str], number: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        left = number - sum(len(one.split()) for one in kept)
        if left > 0:
            kept.append(" ".join(line.split()[:left]))
    return kept


def drafted(edits: list[dict[str, Any]], file: Path) -> None:
    """Append to the file what is not in it yet."""
    done = set()
    if file.exists():
        done = {json.loads(line)["instruction"] for line in file.read_text(encoding="utf-8").splitlines()}
    model = make_chat_model(load_settings(llm="embedded"))
    for edit in edits:
        if edit["instruction"] in done:
            continue
        lines, rows = notes(edit["text"]), []
        for prompt, shown in (("short", first_words(lines, SHORT_WORDS)), ("detailed", lines)):
            question = asked(edit["type"], len(edit["text"].split()), shown)
            reply = asyncio.run(complete(model, question, Decoding(max_tokens=320, temperature=0.0)))
            row = {"instruction": edit["instruction"], "prompt": prompt}
            rows += [row | {"origin": EDIT, "text": edit["text"]}, row | {"origin": MODEL, "text": reply.text}]
        with file.open("a", encoding="utf-8") as written:
            written.writelines(json.dumps(row) + "\n" for row in rows)


def main() -> None:
    pairs, origins, prompts, number = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    records = [record for record in parse_objects(pairs, lambda value, line: value) if "paragraph1" in record]
    groups = underlying([f"{record['paragraph1']}\n{record['paragraph2']}" for record in records])
    of_group: dict[int, dict[str, Any]] = {}
    for group, record in zip(groups, records, strict=True):
        of_group.setdefault(group, record)
    texts, edits = [], []
    for place, record in enumerate(of_group.values(), start=1):
        better = record["reference_preference"]
        edit, draft = record[f"paragraph{better}"], record[f"paragraph{3 - int(better)}"]
        texts += [
            {"instruction": str(place), "origin": EDIT, "text": edit},
            {"instruction": str(place), "origin": record["source"], "text": draft},
        ]
        edits.append({"instruction": str(place), "type": record["type"], "text": edit})
    write_lines(origins, iter(texts), called=str(origins))
    drafted(edits[:number], prompts)


if __name__ == "__main__":
    main()
