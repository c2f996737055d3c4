"""How often a model's replies to the recorded questions of a personalised judge are right, beside the recorded judges'.

    python docs/experiments/personalized_larger.py ../shared/data/personalized-judge work/replies.jsonl

A line of the replies is ``{"messages": [{"role": "user", "content": PROMPT}], "text": REPLY}``. The prompts are 150 of
each of two recordings, drawn by ``random.Random(1).sample`` and asked word by word at temperature 0. Only the letter in
double brackets is read: a reply without the certainty that the prompt asks for counts. Each recorded judge is measured
on those of the prompts that it was asked word by word. Writes docs/results/personalized-larger.json.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prompt_forms import read

from eval.recorded.personalized.judgements import Recording, parse_judgement, recording_of
from eval.recorded.personalized.reading import read_verdicts
from eval.recorded.personalized.report import PersonalizedOptions, recording_report
from pearl.cli.options import write_json
from pearl.stats.bootstrap import Bootstrap

OUT = Path(__file__).parents[1] / "results" / "personalized-larger.json"
SETS = {  # the recording that the prompts were drawn from, and others that have some of them
    "ap_all_features_all_features_gpt-4o_jun5": "ap_all_features_all_features_*",
    "ec_all_features_command-r-plus": "ec_all_features_*",
}
BASELINES = ("longer", "shorter", "commoner", "rarer", "persona_words")
Rows = Sequence[dict[str, Any]]


def recording(rows: Rows) -> Recording:
    return recording_of([parse_judgement(row, line) for line, row in enumerate(rows, 1)])


def figures(rows: Rows, replies: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The figures of the recorded answers, or with ``replies`` those of the model and its difference from them."""
    options = PersonalizedOptions()
    recorded = read_verdicts(recording(rows), options.reading, options.unparsed)
    read_again = recorded
    if replies is not None:
        kept = ("prompt", "ground_truth", "user_info", "asst_A", "asst_B", "article", "question")
        again = [
            {name: row[name] for name in kept if name in row} | {"answer": letter and letter[1]}
            for row in rows
            for letter in [re.search(r"\[\[([AB])\]\]", replies[row["prompt"]])]
        ]
        read_again = read_verdicts(recording(again), options.reading, options.unparsed)
    found = recording_report(read_again, options)
    own = {name: found[name] for name in ("n", "correct", "clusters", "without_certainty", "high", "auroc")}
    own["accuracy"] = found["intervals"]["accuracy_by_persona"]
    own["verdicts"] = {name: number for name, number in found["verdicts"].items() if number}
    if replies is None:
        return own
    bootstrap = Bootstrap(recorded.names, seed=options.seed)
    difference = bootstrap.mean(read_again.correct) - bootstrap.mean(recorded.correct)
    baselines = {row["name"]: row["accuracy"] for row in found["baselines"] if row["name"] in BASELINES}
    return own | {"minus_recorded": difference.to_json(), "baselines": baselines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("replies", type=Path)
    parser.add_argument("--model", default="Qwen2.5-Coder-1.5B-Instruct")
    options = parser.parse_args()
    replies = {row["messages"][0]["content"]: row["text"] for row in read(options.replies)}
    sets = []
    for drawn_from, pattern in SETS.items():
        judges = []
        for path in sorted(options.data.glob(f"{pattern}.jsonl.gz")):
            rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
            asked = [row for row in rows if row["prompt"] in replies]
            if asked:
                name = path.name.removesuffix(".jsonl.gz")
                judges.append({"recording": name, **figures(asked), "model": figures(asked, replies)})
        sets.append({"drawn_from": drawn_from, "judges": judges})
    command = f"python docs/experiments/personalized_larger.py {options.data} {options.replies}"
    write_json(str(OUT), {"command": command, "model": options.model, "sets": sets})


if __name__ == "__main__":
    main()
