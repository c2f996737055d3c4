"""Which of the models of the table writes best: drafts of dev users by each, as the service writes them.

    python docs/experiments/prompt_forms.py cases ../shared/data work/cases.jsonl
    python docs/experiments/default_model.py work/cases.jsonl work/kept.sqlite --first 12

The models must be on this machine (``pearl models get``). Every answer is kept: an interrupted command goes on. Writes
docs/experiments/default_model.json.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from prompt_forms import Case, figures, first_of_kinds, likeness_of, means, read

from pearl.answers.assistant import answers_as_assistant
from pearl.answers.marks import CLOSING
from pearl.asking.kept import open_replies
from pearl.asking.write import WritingContext, WrittenText, write_drafts
from pearl.chat.base import Decoding
from pearl.chat.choose import local_names, make_chat_model
from pearl.cli.options import write_json
from pearl.prompts import PromptInputs
from pearl.records import Document
from pearl.settings import load_settings
from pearl.stats.bootstrap import Bootstrap
from pearl.templates import load_template
from pearl.weights.table import SMALLEST, TABLE

OUT = Path(__file__).with_suffix(".json")
DECODING = Decoding(stop=(CLOSING,))
MOST_FAILED, MOST_COPIED = 0.01, 0.144  # half of what was copied before texts were told to be manner, of 1.5B


def written(name: str, cases: Sequence[Case], kept: Path) -> list[WrittenText]:
    """The model's draft of each case from the documents that PEARL chose."""
    settings = load_settings(llm="embedded", llm_model=name)
    model, identity = make_chat_model(settings), local_names(settings)[1]
    all_inputs = [inputs_of(case) for case in cases]
    with open_replies(kept) as replies:
        (drafts,) = asyncio.run(write_drafts(WritingContext(model, identity, DECODING, replies), [all_inputs]))
    return drafts


def inputs_of(case: Case) -> PromptInputs:
    """Make the prompt's inputs for a case, with the documents that PEARL chose."""
    documents = tuple(
        Document(str(number), part["text"], request=part["request"])
        for number, part in enumerate(case["documents"]["embedded"])
    )
    return PromptInputs(load_template(case["template"]), case["request"] or "", documents)


def score(means: Mapping[str, float]) -> float:
    failed = max(0.0, means["assistant"] + means["loops"] - MOST_FAILED)
    return means["rouge1"] - failed / 2 - max(0.0, means["copied"] - MOST_COPIED) / 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("kept", type=Path)
    parser.add_argument("--first", type=int, default=12, help="requests of each kind at most")
    options = parser.parse_args()
    cases = first_of_kinds(read(options.cases), "dev", options.first)
    bootstrap = Bootstrap([case["owner"] for case in cases], seed=0)
    likeness, models, smallest = likeness_of(cases), [], None
    for weights in TABLE:
        texts = [draft.text or "" for draft in written(weights.name, cases, options.kept)]
        found = figures(cases, texts, "embedded", answers_as_assistant, likeness)
        of_model, ones = means(found), found["rouge1"][:, 0]
        smallest = ones if weights is SMALLEST else smallest
        less = bootstrap.mean(ones - smallest).to_json()
        models.append({"model": weights.name, **of_model, "score": score(of_model), "rouge1_minus_smallest": less})
        rows = {"n": len(cases), "users": len({case["owner"] for case in cases}), "models": models}
        write_json(str(OUT), {"command": "python docs/experiments/default_model.py", **rows})


if __name__ == "__main__":
    main()
