"""Real drafts to measure best-of-N on: recent requests of people, drafted from what they wrote before.

    python docs/experiments/best_of.py DRAFTS.jsonl NUMBER HISTORY.jsonl.gz:TEMPLATE ...

Writes NUMBER drafts of the embedded model for each history, as lines of ``pearl eval best-of --drafts``, each with what
its person had written before it, for likeness. The texts stay on this machine.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from eval.asking.json_lines import write_lines
from eval.drafts.held_back import held_back
from eval.drafts.systems import MODEL, retrieved, sample
from pearl.chat.base import Decoding, complete
from pearl.chat.embedded import EmbeddedChatModel
from pearl.marks import CLOSING, unfenced
from pearl.prompts import Brief, draft_prompt
from pearl.settings import EMBEDDED
from pearl.templates import load_template
from retriever.models.encoder import SentenceEncoder
from retriever.registry import make_retriever

MAX_TOKENS = 200
LEAST_WORDS = 30  # of a draft, for likeness abstains below


async def main() -> None:
    out, number, *histories = sys.argv[1:]
    retriever, model = make_retriever(EMBEDDED, SentenceEncoder()), EmbeddedChatModel(context_tokens=4096)
    lines = []
    for name, kind in (history.rsplit(":", 1) for history in histories):
        template, mine = load_template(kind), 0
        cases = [case for case in held_back(Path(name), 2) if len(case.record.documents) >= 12]
        for case in sample(cases, 3 * int(number), 0):
            (shown,) = retrieved(EMBEDDED, retriever, [case], template.k, kind=MODEL).shown
            brief = Brief(template, case.record.request.text, shown.documents)
            prompt = draft_prompt(brief, model, MAX_TOKENS)
            reply = await complete(model, prompt.messages, Decoding(MAX_TOKENS, stop=(CLOSING,)))
            text = unfenced(reply.text)
            if len(text.split()) < LEAST_WORDS:
                continue
            mine += 1
            history = [document.text for document in case.record.documents]
            lines.append(
                {
                    "id": f"{Path(name).name.split(chr(46))[0]} {mine}",
                    "user_id": case.owner,
                    "text": text,
                    "history": history,
                }
            )
            sys.stderr.write(f"{Path(name).name}: {mine} of {number}\n")
            if mine == int(number):
                break
    write_lines(Path(out), lines, called=out)
    await model.close()


asyncio.run(main())
