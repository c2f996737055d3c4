"""How documents are best shown to the embedded model, and what keeps it from repeating itself.

    python docs/experiments/drafting.py        writes docs/experiments/drafting.json (about ten minutes on two cores)

Every second document of the sample user that has at least six earlier ones in its voice is drafted from those, by its
own request, and compared with what was really written. Means with 95% intervals by bootstrap over the documents.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from rich.progress import track
from rouge_score.rouge_scorer import RougeScorer

from pearl.chat.base import Decoding, Message
from pearl.chat.embedded import EmbeddedChatModel
from pearl.chat.sampling import AnswerText, Sampler
from pearl.marks import CLOSING, unfenced
from pearl.prompts import Brief, draft_prompt, fenced
from pearl.records import Document, Request
from pearl.templates import load_template
from retriever.models.encoder import SentenceEncoder
from retriever.registry import make_retriever
from service.sample import VOICES, sample_documents

OUT = Path(__file__).with_suffix(".json")
MAX_TOKENS = 400
CONTEXT = 4096

Frame = Callable[[Brief, EmbeddedChatModel], tuple[Message, ...]]


def turns_best_last(brief: Brief, model: EmbeddedChatModel) -> tuple[Message, ...]:
    return draft_prompt(brief, model, MAX_TOKENS).messages


def turns_best_first(brief: Brief, model: EmbeddedChatModel) -> tuple[Message, ...]:
    reversed_brief = Brief(brief.template, brief.request, brief.documents[::-1])
    return draft_prompt(reversed_brief, model, MAX_TOKENS).messages


def quoted(brief: Brief, model: EmbeddedChatModel) -> tuple[Message, ...]:
    """All documents in one message, as the paper's prompts 1 and 2 have them."""
    system, *_, task = draft_prompt(Brief(brief.template, brief.request), model, MAX_TOKENS).messages
    blocks = (f"<document>\n{fenced(document.text)}\n</document>" for document in brief.documents)
    samples = f"Earlier {brief.template.noun}s by the author:\n\n" + "\n\n".join(blocks)
    return system, Message("user", f"{samples}\n\n{task.content}")


def without_documents(brief: Brief, model: EmbeddedChatModel) -> tuple[Message, ...]:
    return draft_prompt(Brief(brief.template, brief.request), model, MAX_TOKENS).messages


# name, frame, repeat penalty, its window in tokens, frequency penalty
ARMS: tuple[tuple[str, Frame, float, int, float], ...] = (
    ("turns, best last; penalty 1.1 over 256 tokens (shipped)", turns_best_last, 1.1, 256, 0.0),
    ("turns, best first; penalty 1.1 over 256", turns_best_first, 1.1, 256, 0.0),
    ("quoted in one message; penalty 1.1 over 256", quoted, 1.1, 256, 0.0),
    ("no documents; penalty 1.1 over 256", without_documents, 1.1, 256, 0.0),
    ("turns, best last; no penalty", turns_best_last, 1.0, 64, 0.0),
    ("turns, best last; penalty 1.05 over 64", turns_best_last, 1.05, 64, 0.0),
    ("turns, best last; penalty 1.1 over 64", turns_best_last, 1.1, 64, 0.0),
    ("turns, best last; penalty 1.1 over 64, frequency 0.1", turns_best_last, 1.1, 64, 0.1),
    ("turns, best last; penalty 1.05 over 256", turns_best_last, 1.05, 256, 0.0),
    ("turns, best last; penalty 1.15 over 256", turns_best_last, 1.15, 256, 0.0),
)


def tasks() -> list[tuple[Document, Brief]]:
    """The documents to write again, and what they are written from."""
    documents = sample_documents()
    retriever = make_retriever("fusion", SentenceEncoder())
    found = []
    for place, document in enumerate(documents):
        before = [other for other in documents[:place] if other.voice == document.voice]
        if len(before) >= 6 and document.request and document.voice:
            template = load_template(VOICES[document.voice])
            best = retriever.rank(Request(document.request), before)[: template.k]
            found.append((document, Brief(template, document.request, tuple(each.document for each in best))))
    return found[::2]


def repeated(text: str) -> float:
    """The share of four-word runs that stood in the text before."""
    words = text.split()
    runs = Counter(tuple(words[place : place + 4]) for place in range(len(words) - 3))
    return 1 - len(runs) / runs.total() if runs else 0.0


def interval(values: list[float]) -> dict[str, float]:
    generator = np.random.default_rng(0)
    means = generator.choice(values, (10_000, len(values))).mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return {"value": round(float(np.mean(values)), 4), "low": round(float(low), 4), "high": round(float(high), 4)}


def answered(
    model: EmbeddedChatModel, messages: Sequence[Message], penalty: float, window: int, frequency: float
) -> tuple[str, str]:
    """The text of the draft, and why it ended."""
    vocabulary, answer, finish_reason = model._vocabulary, AnswerText((CLOSING,)), "length"
    sampler = Sampler(vocabulary, Decoding(), penalty, window, frequency)
    texts = []
    with model._writer() as writer:
        for token in islice(writer.write(model._prompt(list(messages)), sampler, lambda: False), MAX_TOKENS):
            ended = vocabulary.ends(token)
            texts.append("" if ended else answer.add(vocabulary.piece(token)))
            if ended or answer.stopped:
                finish_reason = "stop"
                break
    return unfenced("".join(texts) + answer.rest()), finish_reason


def main() -> None:
    model = EmbeddedChatModel(context_tokens=CONTEXT)
    model.load()
    rouge = RougeScorer(["rouge1", "rouge2"])
    work = tasks()
    arms = []
    for name, frame, penalty, window, frequency in ARMS:
        figures: dict[str, list[float]] = {"rouge1": [], "rouge2": [], "repeated": [], "cut_off": [], "length": []}
        for document, brief in track(work, name):
            text, finish_reason = answered(model, frame(brief, model), penalty, window, frequency)
            scores = rouge.score(document.text, text)
            figures["rouge1"].append(scores["rouge1"].fmeasure)
            figures["rouge2"].append(scores["rouge2"].fmeasure)
            figures["repeated"].append(repeated(text))
            figures["cut_off"].append(float(finish_reason == "length"))
            figures["length"].append(len(text.split()) / len(document.text.split()))
        arms.append({"arm": name, "n": len(work), **{key: interval(values) for key, values in figures.items()}})
    OUT.write_text(json.dumps({"command": "python docs/experiments/drafting.py", "arms": arms}, indent=1))


if __name__ == "__main__":
    sys.exit(main())
