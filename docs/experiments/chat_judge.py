"""A judge of writing quality fine-tuned with QLoRA on two cores: SmolLM2 on LAMP's pairs and scores (PR).

    python docs/experiments/chat_judge.py TRAIN.json PAIRS.json WORK     writes docs/experiments/chat_judge.json

TRAIN and PAIRS are LAMP's training texts and validation pairs. The model is asked before its training and after it, by
pairs (P) and by points (R). What ``WORK`` holds already is not done again.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from reward import pearl

from pearl.weights.smollm2 import embedded_model_file

OUT = Path(__file__).with_suffix(".json")
LEARNED, HELD = 520, 40  # conversations to learn from, and to look at after the epoch; two cores had an hour
SCHEMES = ("pair", "points")


def make_base(folder: Path) -> None:
    """The embedded model as a folder, whose linear layers can be read into four bits."""
    import torch

    from retriever.models.smollm2 import load_smollm2

    model, tokenizer = load_smollm2(embedded_model_file(), torch.float32)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def sample(chats: Path, learned: Path, held: Path) -> None:
    lines = chats.read_text(encoding="utf-8").splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    held.write_text("".join(lines[:HELD]), encoding="utf-8")
    learned.write_text("".join(lines[HELD : HELD + LEARNED]), encoding="utf-8")


def judged(name: str, model: Path, pairs: str, work: Path) -> list[dict[str, Any]]:
    """The judge's verdicts and accuracy by each scheme, beside the trivial baselines."""
    rows = []
    for scheme in SCHEMES:
        result = work / f"{name}-{scheme}.json"
        if not result.exists():
            words = ("--items", pairs, "--scheme", scheme, "--llm", "transformers", "--temperature", "0")
            kept = ("--replies", str(work / "replies.sqlite"), "--json", str(result))
            pearl("judge", "quality", *words, *kept, PEARL_LLM_MODEL=str(model))
        report = json.loads(result.read_text(encoding="utf-8"))
        figures = {
            field: report[field] for field in ("judgements", "verdicts", "invalid", "n", "originals", "baselines")
        }
        rows.append({"model": name, "scheme": scheme, **figures, "accuracy": report["intervals"]["accuracy"]})
    return rows


def main() -> None:
    train, pairs, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    base, chats, learned, held, model = (
        work / name for name in ("base", "chats.jsonl", "learned.jsonl", "held.jsonl", "judge")
    )
    if not base.exists():
        make_base(base)
    if not chats.exists():
        pearl("judge", "quality-chats", "--data", train, "--variant", "PR", "--out", str(chats))
    if not learned.exists():
        sample(chats, learned, held)
    if not model.exists():
        words = ("--base", str(base), "--data", str(learned), "--dev", str(held), "--out", str(model))
        pearl("train", "chat", "--four-bit", *words, "--epochs", "1")
    training = json.loads((model / "training.json").read_text(encoding="utf-8"))
    rows = judged("before", base, pairs, work) + judged("after", model, pairs, work)
    report = {"command": "python docs/experiments/chat_judge.py TRAIN PAIRS WORK", "training": training, "rows": rows}
    OUT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
