"""What PEARL_MASK_PERSONAL costs drafts: placeholders in prompts, put back or left over in drafts, and ROUGE-1.

    python docs/experiments/prompt_forms.py cases ../shared/data work/cases.jsonl
    python docs/experiments/masking.py work/cases.jsonl work/kept.sqlite

Each request is drafted twice by the same model on this machine, with and without placeholders. Every answer is kept: an
interrupted command goes on. Writes docs/results/masking.json.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections import Counter
from collections.abc import Sequence
from importlib.resources import files
from itertools import compress
from pathlib import Path
from typing import Any

from default_model import DECODING, inputs_of
from drafts_of_kinds import rounded
from prompt_forms import Case, carried, first_of_kinds, read

from eval.drafts.cases import held_back
from eval.drafts.comparison import Rouge
from eval.drafts.systems import retrieved
from pearl.answers.loops import without_loops
from pearl.answers.marks import unfenced
from pearl.asking.ask import generate
from pearl.asking.kept import open_replies
from pearl.chat.base import Message, Reply
from pearl.chat.choose import local_names, make_chat_model
from pearl.claims.personal import KINDS, PLACEHOLDER, Mask, Restorer
from pearl.cli.options import write_json
from pearl.prompts import draft_prompt
from pearl.settings import load_settings
from pearl.stats.bootstrap import Bootstrap
from pearl.templates import load_template
from retriever.models.encoder import SentenceEncoder
from retriever.registry import make_retriever
from service.process.masked_model import hide
from service.sample import VOICES

OUT = Path(__file__).parents[1] / "results" / "masking.json"
MODEL, SAMPLE, TEXTS = "Qwen2.5-Coder-0.5B-Instruct", "sample", 20
# what a reader takes for a placeholder: also with another sign, or none, before its number
VISIBLE = re.compile(rf"\b(?:{'|'.join(KINDS)})\\?[ _-]?\d+\b")


def sample_cases() -> list[dict[str, Any]]:
    """The latest texts of the sample user as cases, with what PEARL shows for each."""
    found = held_back(Path(str(files("service.sample") / "history.jsonl")), TEXTS)
    templates = [VOICES[str(case.record.id).split()[-1].partition("-")[0]] for case in found]
    most = max(load_template(template).k for template in templates)
    shown = retrieved("embedded", make_retriever("embedded", SentenceEncoder()), found, most, kind="").shown
    return [
        {
            "kind": SAMPLE,
            "template": template,
            "owner": case.record.id,
            "id": case.record.id,
            "request": case.record.request.text,
            "target": case.target,
            "documents": {
                "embedded": [
                    {"request": part.request, "text": part.text}
                    for part in selection.documents[: load_template(template).k]
                ]
            },
        }
        for case, template, selection in zip(found, templates, shown, strict=True)
    ]


def of_prompts(cases: Sequence[Case], masks: Sequence[Mask]) -> dict[str, Any]:
    """How many placeholders the prompts hold, each counted once a prompt."""
    found = [Counter(name.partition("_")[0] for name in mask.placeholders) for mask in masks]
    bootstrap = Bootstrap([case["owner"] for case in cases], seed=0)
    return {
        "prompts": len(cases),
        "users": 1 if cases[0]["kind"] == SAMPLE else len({case["owner"] for case in cases}),
        "masked": bootstrap.share([bool(mask) for mask in masks]).to_json(),
        "placeholders": bootstrap.mean([counts.total() for counts in found]).to_json(),
        **{kind: sum(counts[kind] for counts in found) / len(found) for kind in KINDS},
    }


def of_drafts(cases: Sequence[Case], masks: Sequence[Mask], plain: Sequence[str], raw: Sequence[str]) -> dict[str, Any]:
    """Count what becomes of placeholders in the answers, and compare the drafts with those without any."""
    written = [PLACEHOLDER.findall(text) for text in raw]
    back = [sum(mask.original(name) != name for name in names) for mask, names in zip(masks, written, strict=True)]
    restored = [draft(Restorer(mask).feed(text, last=True)) for mask, text in zip(masks, raw, strict=True)]
    left = [len(VISIBLE.findall(text)) for text in restored]
    bootstrap, rouge = Bootstrap([case["owner"] for case in cases], seed=0), Rouge()
    figures: dict[str, Any] = {
        "drafts": len(cases),
        "users": len({case["owner"] for case in cases}),
        "placeholders_written": sum(map(len, written)),
        "put_back": sum(back),
        "left_visible": sum(left),
        "drafts_with_one_left": bootstrap.share([bool(count) for count in left]).to_json(),
    }
    for name, of in {
        "rouge1": lambda text, case: rouge.scores(case["target"], text)[0],
        "carried": lambda text, case: carried(text, case, "embedded"),
        "words": lambda text, case: len(text.split()),
    }.items():
        without, with_masks = (
            [float(of(text, case)) for text, case in zip(texts, cases, strict=True)] for texts in (plain, restored)
        )
        less = [one - other for one, other in zip(with_masks, without, strict=True)]
        means = {"plain": bootstrap.mean(without).value, "masked": bootstrap.mean(with_masks).value}
        figures[name] = {**means, "masked_minus_plain": bootstrap.mean(less).to_json()}
    return figures


def draft(text: str) -> str:
    return without_loops(unfenced(text))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--first", type=int, default=4, help="requests of each kind that are drafted")
    options = parser.parse_args()
    settings = load_settings(llm="embedded", llm_model=MODEL)
    model, identity = make_chat_model(settings), local_names(settings)[1]
    drafted = first_of_kinds(read(options.cases), "test", options.first)
    every = [*sample_cases(), *first_of_kinds(read(options.cases), "test", TEXTS)]
    messages = [draft_prompt(inputs_of(case), model, DECODING.max_tokens).messages for case in every]
    hidden = [hide(prompt) for prompt in messages]
    masks = [mask for mask, _ in hidden]
    prompts = {
        kind: of_prompts(list(compress(every, chosen)), list(compress(masks, chosen)))
        for kind in dict.fromkeys(case["kind"] for case in every)
        for chosen in [[case["kind"] == kind for case in every]]
    }
    places = [index for index, case in enumerate(every) if case in drafted]
    asked: list[tuple[Message, ...]] = [tuple(of) for place in places for of in (messages[place], hidden[place][1])]
    with open_replies(options.kept) as replies:
        answers = asyncio.run(generate(model, identity, asked, DECODING, replies))
    texts = [answer.text if isinstance(answer, Reply) else "" for answer in answers]
    plain, raw = [draft(text) for text in texts[::2]], texts[1::2]
    found = of_drafts([every[place] for place in places], [masks[place] for place in places], plain, raw)
    command = f"python docs/experiments/masking.py work/cases.jsonl work/kept.sqlite --first {options.first}"
    write_json(str(OUT), rounded({"command": command, "model": MODEL, "prompts": prompts, "drafted": found}))


if __name__ == "__main__":
    main()
