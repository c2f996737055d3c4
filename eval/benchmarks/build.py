"""Building items for the personalised judge from a published data set, with counts of what was used and dropped."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.asking.verdict import Answer
from eval.benchmarks.empathic import empathic_pairs
from eval.benchmarks.opinionqa import opinionqa_pairs
from eval.benchmarks.pairs import BuildOptions, Ledger, PersonaPair
from eval.benchmarks.prism import prism_pairs
from eval.benchmarks.reddit import reddit_pairs
from eval.recorded.personalized.judgements import Recording, parse_judgement
from eval.recorded.personalized.preflight import CHECKS
from eval.recorded.personalized.reply import ReplyForm
from eval.report.checks import BROKEN, preflight
from eval.report.tables import Json, Table, checks_table
from pearl.errors import InputError

SOURCES: dict[str, Callable[[Path, BuildOptions, Ledger], list[PersonaPair]]] = {
    "prism": prism_pairs,
    "opinionqa": opinionqa_pairs,
    "empathic": empathic_pairs,
    "reddit": reddit_pairs,
}
READ = {  # the names of the files, so that none is written over
    "prism": ("survey.jsonl*", "utterances.jsonl*"),
    "opinionqa": ("info.csv", "responses.csv"),
    "empathic": ("*.[cC][sS][vV]",),
    "reddit": ("synthetic_dataset.jsonl*",),
}


def build_items(source: str, folder: Path, options: BuildOptions) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Build the items of a data set, the right text in a random place. Return items and figures: counts of what was
    used and dropped, and faults found. Raises InputError for files that are not as published, and if no item is
    left."""
    if options.own_family and source != "prism":
        raise InputError(f"--own-family: the texts of {source} are people's own; leave it out.")
    if options.ties and source not in ("prism", "empathic"):
        raise InputError(f"--choose ties=kept: {source} has no ties; leave it out.")
    ledger = Ledger()
    pairs = SOURCES[source](folder, options, ledger)
    ledger.check_left(f"--data {folder}", pairs)
    own_texts = {} if source == "prism" else {"own": True}  # of its responses, written by models, people chose one
    items = [pair.to_item(random.Random(f"{options.seed} {pair.id}").random() < 0.5) | own_texts for pair in pairs]
    findings = preflight(CHECKS, _recording(items))
    return items, {
        "source": source,
        "choices": dict(options.choices),
        "items": len(items),
        "preferred": dict(sorted(Counter(item["preferred"] for item in items).items())),
        "personas": len({tuple(pair.persona.items()) for pair in pairs}),
        "questions": len({pair.question for pair in pairs} - {""}),
        "fields": dict(Counter(name for pair in pairs for name in pair.persona)),
        **ledger.to_json(),
        "preflight": [finding.to_json() for finding in findings],
        "broken": any(finding.level == BROKEN for finding in findings),
    }


def _recording(items: Sequence[Mapping[str, Any]]) -> Recording:
    """Convert the items to the records of a judge that answered none of them."""
    lines = [
        {
            "ground_truth": item["preferred"],
            "answer": False,
            "id": item["id"],
            "user_info": "\n".join(f"{name}: {value}" for name, value in item["persona"].items()),
            "asst_A": item["responses"]["A"],
            "asst_B": item["responses"]["B"],
            **({"question": item["question"]} if "question" in item else {}),
        }
        for item in items
    ]
    judgements = tuple(parse_judgement(line, number) for number, line in enumerate(lines, start=1))
    ties = any(judgement.gold is Answer.TIE for judgement in judgements)
    return Recording(judgements, ReplyForm(ties, certainty=False), has_persona=True, passed_over={})


def build_tables(result: Json) -> Iterator[Table]:
    """Yield the tables of a build's counts and of its items' faults."""
    rows = [("read", what, f"{count:,}", "") for what, count in result["read"].items()]
    rows += [("dropped", row["reason"], f"{row['count']:,}", ", ".join(row["first"][:2])) for row in result["dropped"]]
    rows.append(("taken", f"items of {result['personas']:,} personas", f"{result['items']:,}", ""))
    rows += [
        ("taken", f"of them preferred {letter}", f"{count:,}", "") for letter, count in result["preferred"].items()
    ]
    yield Table(f"Built from {result['source']}.", ("", "what", "number", "such as"), tuple(rows), result["command"])
    yield from checks_table(result["preflight"])
