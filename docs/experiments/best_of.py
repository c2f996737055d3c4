"""Real drafts to measure best-of-N on: drafts of people's own requests from what they had written before.

    python docs/experiments/best_of.py DRAFTS.jsonl NUMBER TEMPLATE:HISTORY.jsonl.gz ...
    pearl eval best-of --drafts DRAFTS.jsonl --model embedded --candidates 20 --llm embedded --json best_of.json

Of each file NUMBER people among those whom ``pearl eval likeness`` tests, one draft each: the embedded retriever and
chat model write to the request of the person's latest text, as the service does. Drafts of fewer than LEAST_WORDS are
left out, since likeness abstains there. The texts stay on this machine; every draft is kept in PEARL_HOME.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from eval.asking.json_lines import write_lines
from eval.drafts.cases import Case, held_back, sample
from eval.drafts.systems import retrieved
from eval.likeness.writers import TEST, part_of
from pearl.asking.ask import generate
from pearl.asking.kept import ReplyStore, open_replies
from pearl.asking.patience import Failed
from pearl.chat.base import Decoding
from pearl.chat.gguf_chat import GgufChatModel
from pearl.marks import CLOSING, unfenced
from pearl.prompts import Brief, draft_prompt
from pearl.settings import EMBEDDED, load_settings
from pearl.templates import load_template
from pearl.weights.smollm2 import embedded_model_file
from retriever.models.encoder import SentenceEncoder
from retriever.registry import make_retriever

LEAST_WORDS = 30
LEAST_TEXTS = 15  # of a person before the draft, as `pearl eval likeness` has it
LATEST_TEXTS = 60  # that a draft may be made from
CONTEXT, MAX_TOKENS = 1024, 200


def people(history: Path) -> list[Case]:
    """The latest request of each person to test, in a random order, with what they had written before."""
    known = [case for case in held_back(history, 1) if part_of(case.record.user_id or "") == TEST]
    enough = [case for case in known if len(case.record.documents) >= LEAST_TEXTS]
    return sample(enough, len(enough), 0)


def drafts(history: Path, template: str, number: int, kept: ReplyStore) -> Iterator[dict[str, object]]:
    """The first ``number`` drafts of a file that are long enough, as `pearl eval best-of` reads them."""
    model, manner = GgufChatModel(embedded_model_file(), context_tokens=CONTEXT), load_template(template)
    retriever = make_retriever(EMBEDDED, SentenceEncoder())
    written = 0
    for case in people(history):
        latest = sorted(case.record.documents, key=lambda document: document.timestamp or 0.0)[-LATEST_TEXTS:]
        few = replace(case, record=replace(case.record, documents=tuple(latest), gains=(0.0,) * len(latest)))
        (shown,) = retrieved(EMBEDDED, retriever, [few], manner.k, kind=EMBEDDED).shown
        prompt = draft_prompt(Brief(manner, case.record.request.text, shown.documents), model, MAX_TOKENS)
        decoding = Decoding(MAX_TOKENS, stop=(CLOSING,))
        (reply,) = asyncio.run(generate(model, model.identity, [prompt.messages], decoding, kept))
        text = "" if isinstance(reply, Failed) else unfenced(reply.text)
        if len(text.split()) < LEAST_WORDS:
            continue
        written += 1
        called = f"{history.name.partition('.')[0]} {written}"
        yield {"id": called, "user_id": case.owner, "text": text, "history": list(case.earlier_texts)}
        if written == number:
            return


def main() -> None:
    out, number, *sources = sys.argv[1:]
    with open_replies(load_settings().home / "best-of-drafts.sqlite") as kept:
        lines = [
            list(drafts(Path(history), template, int(number), kept))
            for template, history in (source.split(":", 1) for source in sources)
        ]
    write_lines(Path(out), (line for together in zip(*lines, strict=True) for line in together), called=out)


if __name__ == "__main__":
    main()
