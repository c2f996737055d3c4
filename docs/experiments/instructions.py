"""How often the embedded model repeats its instructions in the draft, and what cutting them leaves.

    python docs/experiments/instructions.py [--drafts N]      writes docs/experiments/instructions.json

30 standing instructions on 10 requests of the sample user, each drafted as the service does it, from the other
documents of its voice that the shipped retriever finds; only the first 60 tokens, where a repetition shows. Replies are
kept in docs/experiments/.instructions.jsonl as they come, so a run that was stopped goes on. The prompt and the replies
are the same before and after: what differs is what is done with the reply.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from pathlib import Path

from kept import rounded

from pearl.chat.base import Decoding, complete
from pearl.chat.gguf_chat import GgufChatModel
from pearl.marks import CLOSING, unfenced
from pearl.prompts import Brief, draft_prompt
from pearl.proportions import wilson
from pearl.records import Document, Request
from pearl.settings import EMBEDDED
from pearl.templates import load_template
from pearl.weights.smollm2 import embedded_model_file
from retriever.base import choose
from retriever.models.encoder import SentenceEncoder
from retriever.registry import make_retriever
from service.repetition import RepetitionFilter, Repetitions
from service.sample import VOICES, sample_documents

OUT = Path(__file__).with_suffix(".json")
KEPT = OUT.with_name(".instructions.jsonl")
MAX_TOKENS = 60
REQUESTS = (
    "email-002", "blog-002", "email-004", "email-008", "blog-006",
    "email-012", "email-017", "blog-010", "email-023", "email-029",
)  # fmt: skip
INSTRUCTIONS = (
    "At most five lines.",
    "No emoji.",
    "Be brief.",
    "Sign as Otti.",
    "Never use exclamation marks.",
    "Write in British English.",
    "Use short sentences and plain words.",
    "Always begin with a greeting and the person's first name.",
    "Do not apologise more than once.",
    "Mention that the workshop is closed on Mondays.",
    "Keep it under one hundred words, and leave out anything that was not asked for.",
    "Be warm, but firm about money.",
    "Do not promise a date.",
    "End with a question.",
    "Write as if to a friend you have not seen for years.",
    "Use a numbered list where there are steps to follow.",
    "Don't use the word 'unfortunately'.",
    "Say thank you first, then come to the point.",
    "Prices in pounds, always with the pound sign.",
    "No jargon: the reader has never held a spanner.",
    "Please keep my jokes, but not more than one a text.",
    "Formal tone. No contractions. Close with 'Yours sincerely'.",
    "I never start a sentence with 'I'.",
    "Write everything in lower case.",
    "Avoid the passive voice and words that end in -ly.",
    "If the answer is no, say so in the first sentence and give one reason, then offer what we can do instead.",
    "- No headings\n- No bold\n- One blank line between paragraphs",
    "Refer to the shed as 'the Shed', with a capital S, and to the volunteers as 'the crew'.",
    "Make it sound like it was written in a hurry between two repairs.",
    "Use metric units and spell out numbers below ten. Never mention the name of a customer.",
)


def briefs() -> list[tuple[str, Brief]]:
    """Each request with what it is drafted from."""
    documents = sample_documents()
    retriever = make_retriever(EMBEDDED, SentenceEncoder())
    found = []
    for name in REQUESTS:
        asked = next(document for document in documents if document.id == name)
        others = [other for other in documents if other.voice == asked.voice and other.id != name]
        template = load_template(VOICES[asked.voice or ""])
        ranking = retriever.rank(Request(asked.request or ""), others)
        chosen: tuple[Document, ...] = tuple(
            each.document for each in choose(ranking, template.k, retriever.calibration)
        )
        found.append((name, Brief(template, asked.request or "", chosen)))
    return found


async def reply(model: GgufChatModel, brief: Brief) -> str:
    prompt = draft_prompt(brief, model, MAX_TOKENS)
    return (await complete(model, prompt.messages, Decoding(MAX_TOKENS, stop=(CLOSING,)))).text


def repeated(draft: str, instruction: str) -> bool:
    """True where four words in a row of a line of the instruction, or all of a shorter one, stand in the draft."""
    said = " ".join(re.findall(r"[\w'’]+", draft.lower()))
    for line in re.split(r"(?<=[.!?])\s+|\n", instruction.lower()):
        words = re.findall(r"[\w'’]+", line)
        runs = [words[at : at + 4] for at in range(max(len(words) - 3, 1))]
        if any(len(run) > 1 and " ".join(run) in said for run in runs):
            return True
    return False


def share(count: int, n: int) -> dict[str, float]:
    """A share with its 95% interval (Wilson)."""
    interval = wilson(count, n)
    assert interval is not None, "there are drafts"
    return {"count": count, **rounded(interval.to_json())}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--drafts", type=int, default=len(REQUESTS) * len(INSTRUCTIONS))
    wanted = options.parse_args().drafts
    kept = {}
    if KEPT.exists():
        for line in KEPT.read_text().splitlines():
            row = json.loads(line)
            kept[row["request"], row["instruction"]] = row["reply"]
    model, work = GgufChatModel(embedded_model_file()), briefs()
    pairs = [(name, brief, instruction) for name, brief in work for instruction in INSTRUCTIONS][:wanted]
    with KEPT.open("a") as out:
        for name, brief, instruction in pairs:
            if (name, instruction) not in kept:
                asked = Brief(brief.template, brief.request, brief.documents, instruction)
                kept[name, instruction] = asyncio.run(reply(model, asked))
                row = {"request": name, "instruction": instruction, "reply": kept[name, instruction]}
                out.write(json.dumps(row) + "\n")
                out.flush()

    before, after, cut, emptied = 0, 0, 0, 0
    for name, brief, instruction in pairs:
        asked = Brief(brief.template, brief.request, brief.documents, instruction)
        draft = unfenced(kept[name, instruction])
        repetition = RepetitionFilter(Repetitions(asked))
        text = repetition.feed(draft) + repetition.finish()
        before += repeated(draft, instruction)
        after += repeated(text, instruction)
        cut += repetition.cut
        emptied += not text.strip()
    figures = {
        "command": "python docs/experiments/instructions.py",
        "n": len(pairs),
        "tokens": MAX_TOKENS,
        "repeat_an_instruction": {"before": share(before, len(pairs)), "after": share(after, len(pairs))},
        "sentences_cut": cut,
        "drafts_left_empty": emptied,
    }
    OUT.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
