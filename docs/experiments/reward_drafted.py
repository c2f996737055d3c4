"""Does prose of the embedded model, beside what people wrote, teach a reward model sense, and what does that cost?

    python docs/experiments/reward_drafted.py ../shared/data WORK    writes docs/experiments/reward_drafted.json

LAMP's drafts are by large models, so a model trained on them alone never saw prose without sense. Here the embedded
model goes on from the first sentence of some of LAMP's paragraphs, and answers requests that training people of four
histories answered, with their two texts before it. What the person wrote is the better text of each pair, and the
longer of the two is cut to the other's length. Heads as in reward_length.py, on LAMP's scores and pairs and on these
pairs at several weights, are measured on LAMP's pairs in five folds, and on the pairs of each source by a head that saw
none of them. Every reply is kept in ``WORK``.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from reward_length import CHOICES, FOLDS, Mask, folds_of, standardised, worth_of
from rich.console import Console

from pearl.asking.ask import generate
from pearl.asking.kept import ReplyStore, open_replies
from pearl.asking.patience import Failed
from pearl.chat.base import Decoding, Message
from pearl.chat.gguf_chat import GgufChatModel
from pearl.history import read_histories
from pearl.marks import CLOSING, unfenced
from pearl.prompts import Brief, draft_prompt
from pearl.records import Document
from pearl.settings import EMBEDDED
from pearl.split import TRAIN, users_of
from pearl.stats import Bootstrap, Floats
from pearl.templates import load_template
from pearl.weights.smollm2 import embedded_model_file
from retriever.reward.originals import underlying
from retriever.reward.records import ScoredParagraph, read_quality
from training.reward.lengths import evened
from training.reward.material import RewardMaterial, read_material
from training.reward.reading import kept_vectors, layers_of

OUT = Path(__file__).with_suffix(".json")
LAMP = "writing-quality/lamp-R_train_dataset.json.gz"
VALIDATION = "writing-quality/lamp_PRE_val.json.gz"
HISTORIES = {
    "chat/lean.jsonl.gz": "message",
    "mail/everything.jsonl.gz": "message",
    "commits/git.jsonl.gz": "commit",
    "commits/coreboot.jsonl.gz": "commit",
}
PARAGRAPHS, REQUESTS = 120, 60  # of LAMP, and of each history
SHOWN = 2  # documents of a prompt, the latest before the text
LEAST_WORDS, MOST_WORDS = 25, 200  # of a person's text
CONTEXT, MAX_TOKENS = 1536, 260
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
LAYERS = ("0,1", "0,1,3")  # what the shipped head reads, and more
LAMP_ALONE = "LAMP"
WEIGHTS = (0.0, 0.25, 0.5, 1.0)  # of a drafted pair beside one of LAMP's


@dataclass(frozen=True)
class Asked:
    """A person's text, and the question that the embedded model is to answer in their place. ``source``: the file that
    the text is from."""

    source: str
    written: str
    messages: tuple[Message, ...]


def of_paragraphs(file: Path, number: int) -> Iterator[Asked]:
    """To go on from the first sentence of each paragraph's best version."""
    scored = [record for record in read_quality(file) if isinstance(record, ScoredParagraph) and not record.off_scale]
    best: dict[int, ScoredParagraph] = {}
    for group, record in zip(underlying([record.text for record in scored]), scored, strict=True):
        if group not in best or record.score > best[group].score:
            best[group] = record
    for record in random.Random(0).sample(list(best.values()), number):
        words, first = len(record.text.split()), SENTENCE_END.split(record.text)[0]
        question = f"Write one paragraph of about {words} words. It begins with this sentence: {first}"
        yield Asked(file.name, record.text, (Message("user", question),))


def of_history(file: Path, manner: str, number: int, model: GgufChatModel) -> Iterator[Asked]:
    """The requests that people answered: in turn one of each person, in a random order."""
    template, drawn = load_template(manner), random.Random(0)

    def asked(documents: Sequence[Document]) -> Iterator[Asked]:
        known = sorted(documents, key=lambda document: document.timestamp or 0.0)
        fit = [place for place, document in enumerate(known) if document.request and place >= SHOWN]
        for place in drawn.sample(fit, len(fit)):
            text, request = known[place].text, known[place].request or ""
            if LEAST_WORDS <= len(text.split()) <= MOST_WORDS:
                shown = tuple(known[place - SHOWN : place])
                yield Asked(file.name, text, draft_prompt(Brief(template, request, shown), model, MAX_TOKENS).messages)

    people = [asked(documents) for _, documents in sorted(users_of(read_histories(file), TRAIN).items())]
    drawn.shuffle(people)
    in_turn = (one for turn in zip_longest(*people) for one in turn if one is not None)
    yield from islice(in_turn, number)


def pairs(questions: Sequence[Asked], model: GgufChatModel, kept: ReplyStore) -> Iterator[dict[str, str]]:
    """A person's text and the model's, of about one length, as `pearl train reward` reads them."""
    decoding = Decoding(MAX_TOKENS, stop=(CLOSING,))
    prompts = [question.messages for question in questions]
    replies = asyncio.run(generate(model, model.identity, prompts, decoding, kept))
    for question, reply in zip(questions, replies, strict=True):
        if isinstance(reply, Failed):
            continue
        written, draft = evened(question.written, unfenced(reply.text), SENTENCE_END)
        if min(len(written.split()), len(draft.split())) >= LEAST_WORDS and written != draft:
            yield {"paragraph1": written, "paragraph2": draft, "reference_preference": "1", "origin": question.source}


def decided(vectors: Floats, material: RewardMaterial, sources: Floats, weight: float) -> Floats:
    """(P,): whether each pair is decided rightly: LAMP's by folds, a drafted one by a head that saw none of its
    source."""
    pairs = np.array([(pair.better, pair.worse) for pair in material.pairs])
    lamp = sources == LAMP_ALONE
    weights = np.where(lamp, 1.0, weight)
    right = np.zeros(len(pairs))

    def decide(part: Mask, inside: Mask, learned: Mask) -> None:
        learned = learned & (weights > 0)
        inputs = standardised(vectors, inside)
        worth = worth_of(inputs, material, inside, pairs[learned], weights[learned], CHOICES["weight"])
        right[part] = (worth[pairs[:, 0]] > worth[pairs[:, 1]])[part]

    folds = folds_of(material)
    for fold in range(FOLDS):
        inside = folds != fold
        decide(lamp & ~inside[pairs[:, 0]], inside, inside[pairs[:, 0]])
    for source in sorted(set(sources[~lamp])):
        decide(sources == source, np.ones(len(vectors), bool), sources != source)
    return right


def figures(material: RewardMaterial, sources: Floats, right: Floats, before: Floats) -> dict[str, Any]:
    """Accuracy by source, and over LAMP's pairs and all drafted ones what it has more than LAMP alone."""
    bootstrap = Bootstrap([str(material.originals[pair.better]) for pair in material.pairs], seed=0)

    def over(part: Floats) -> dict[str, Any]:
        more = bootstrap.ratio((right - before) * part, part)
        return {"accuracy": bootstrap.ratio(right * part, part).to_json(), "more": more.to_json()}

    lamp = sources == LAMP_ALONE
    return {
        "lamp": over(lamp),
        "drafted": over(~lamp),
        "sources": {source: float(right[sources == source].mean()) for source in sorted(set(sources[~lamp]))},
    }


def main() -> None:
    data, work = Path(sys.argv[1]), Path(sys.argv[2])
    work.mkdir(parents=True, exist_ok=True)
    model = GgufChatModel(embedded_model_file(), context_tokens=CONTEXT)
    histories = (of_history(data / file, manner, REQUESTS, model) for file, manner in HISTORIES.items())
    with open_replies(work / "replies.sqlite") as kept:
        drafted = list(pairs(list(chain(of_paragraphs(data / LAMP, PARAGRAPHS), *histories)), model, kept))
    (work / "drafted.json").write_text(json.dumps(drafted), encoding="utf-8")
    material = read_material((data / LAMP, work / "drafted.json"), (data / VALIDATION,), CHOICES["duplicates"])
    source_of = {(pair["paragraph1"], pair["paragraph2"]): pair["origin"] for pair in drafted}
    texts = material.texts
    sources = np.array([source_of.get((texts[pair.better], texts[pair.worse]), LAMP_ALONE) for pair in material.pairs])
    rows = []
    for layers in LAYERS:
        read = layers_of(EMBEDDED, layers)
        vectors = kept_vectors(EMBEDDED, texts, read, 512, work, Console(stderr=True)).astype(float)
        before = decided(vectors, material, sources, 0.0)
        for weight in WEIGHTS:
            right = before if weight == 0 else decided(vectors, material, sources, weight)
            rows.append({"layers": layers, "weight": weight, **figures(material, sources, right, before)})
    counts = {source: int((sources == source).sum()) for source in sorted(set(sources))}
    OUT.write_text(json.dumps({"folds": FOLDS, "pairs": counts, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
