"""docs/results/forensics_public.json: our figures against those of the public package, on the same synthetic pairs.

    python docs/compare_forensics.py --python PYTHON

PYTHON is the interpreter of an environment in which `feedback-forensics` is installed; it is no dependency of ours.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "docs" / "results" / "forensics_public.json"
PAIRS, TRAITS, PEOPLE = 3000, 38, 2
SHOWN = (
    "acc agreement relevance cohens_kappa cohens_kappa_og strength_with_stats num_votes agreed disagreed not_applicable"
)
# what the public package computes, in its own environment
PROGRAM = """
import json, sys
from pathlib import Path
from feedback_forensics.app.metrics import compute_annotator_metrics, get_overall_metrics
from feedback_forensics.app.model_annotators import generate_model_identity_annotators
from feedback_forensics.data.loader import get_votes_dict_from_annotated_pairs_json
from feedback_forensics.data.operations.core import csv_to_ap
pairs, reference, rows = sys.argv[1:4]
votes = get_votes_dict_from_annotated_pairs_json(Path(pairs))
frame, known = votes["df"], votes["annotator_metadata"]
added, more = generate_model_identity_annotators(frame, [], [])
for name in added:
    frame[name] = more[name]
known.update(added)
for name in known:
    known[name]["annotator_in_row_name"] = name
found = compute_annotator_metrics(frame, known, [name for name in known if name != reference], reference)
found["overall"] = get_overall_metrics(frame, reference)
found["csv_ids"] = [pair["id"] for pair in csv_to_ap(rows, "rows")["comparisons"]]
print("FOUND" + json.dumps(found, default=float))
"""
FIGURES = {
    "relevance": "relevance",
    "acc": "accuracy",
    "agreement": "agreement_of_all",
    "cohens_kappa": "kappa_randomized",
    "cohens_kappa_og": "kappa",
}
OVERALL = {
    "Prop selecting text_a": "text_a_chosen",
    "Prop selecting longer text": "longer_chosen",
    "Avg len text_a (chars)": "length_a",
    "Avg len text_b (chars)": "length_b",
    "Avg len selected text (chars)": "length_chosen",
    "Avg len rejected text (chars)": "length_rejected",
}


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from eval.recorded.forensics.measures import Resampling
    from eval.recorded.forensics.metrics import ForensicsOptions, forensics_figures
    from eval.recorded.forensics.pair_files import read_pairs, write_pairs
    from eval.recorded.forensics.pairs import default_annotator
    from eval.recorded.forensics.votes import model_identities, read_votes
    from pearl.cli.options import write_json

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="interpreter of an environment with feedback-forensics")
    python = parser.parse_args().python
    reference = default_annotator().id
    with TemporaryDirectory(prefix="pearl-") as folder:
        pairs, rows = Path(folder) / "pairs.json", Path(folder) / "rows.csv"
        write_pairs(pairs, synthetic())
        write_rows(rows)
        shown = {"FF_AVAIL_METRICS": json.dumps(SHOWN.split())}
        command = [python, "-c", PROGRAM, str(pairs), reference, str(rows)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | shown)
        public = json.loads(done.stdout.rpartition("FOUND")[2])
        ours = forensics_figures(
            model_identities(read_votes(pairs)), ForensicsOptions(reference, resampling=Resampling())
        )
        ids = [pair.id for pair in read_pairs(rows).pairs]
    gaps: dict[str, list[float]] = {}
    for name, theirs, mine in compared(public, ours):
        gaps.setdefault(name, []).append(abs(theirs - mine))
    result = {
        "command": "python docs/compare_forensics.py --python PYTHON",
        "package": "feedback-forensics 0.5.0",
        "pairs": ours["pairs"],
        "annotators": len(ours["annotators"]),
        "numbers": sum(map(len, gaps.values())),
        "same_ids_from_csv": sum(a == b for a, b in zip(ids, public["csv_ids"], strict=True)),
        "ids_from_csv": len(ids),
        "largest_difference": {name: max(values) for name, values in gaps.items()},
    }
    write_json(str(RESULT), result)


def compared(public: dict[str, Any], ours: dict[str, Any]) -> Iterator[tuple[str, float, float]]:
    """The name of each number, the package's and ours."""
    for row in ours["annotators"]:
        metrics = {name: values[row["id"]] for name, values in public["metrics"].items()}
        for theirs, mine in FIGURES.items():
            yield mine, metrics[theirs], row[mine]["value"]
        strength = metrics["strength_with_stats"]
        yield "strength", strength["strength"], row["strength"]["value"]
        yield "p_value", strength["p_value"], row["p_value"]
        yield "strength low", strength["ci_lower_95"], row["strength"]["low"]
        yield "strength high", strength["ci_upper_95"], row["strength"]["high"]
        for name in ("agreed", "disagreed", "not_applicable"):
            yield name, metrics[name], row[name]
        yield "n", metrics["num_votes"], ours["n"]
    for theirs, mine in OVERALL.items():
        yield mine, public["overall"][theirs], ours["overall"][mine]["value"]


def synthetic():  # type: ignore[no-untyped-def]
    """Pairs of four models, with votes of every kind at random; no two texts of a pair are equally long."""
    from eval.recorded.forensics.pairs import AnnotatedPairs, Annotator, Pair, Vote, default_annotator, trait_annotator

    chance = random.Random(11)
    traits = [trait_annotator(f"Select the response that has trait {number}") for number in range(TRAITS)]
    people = [Annotator(f"{number:08d}", {"name": f"person {number}", "type": "human"}) for number in range(PEOPLE)]
    pairs = []
    for number in range(PAIRS):
        votes = {default_annotator().id: chance.choice([Vote.A] * 5 + [Vote.B] * 4 + [Vote.BOTH, Vote.NEITHER])}
        for place, each in enumerate((*traits, *people)):
            some = [Vote.A, Vote.B, *[Vote.NOT_APPLICABLE] * (place % 9), Vote.INVALID, Vote.BOTH]
            never = place % 13 == 12  # one in thirteen never chooses; the package fails where one never votes
            votes[each.id] = Vote.NOT_APPLICABLE if never else chance.choice(some)
        length = chance.randrange(1, 200)
        models = chance.choices(["one", "two", "three", "four"], k=2)
        lengths = chance.sample((length, length + chance.randrange(1, 50)), 2)
        responses = {
            f"response_{side}": {"text": side * size, "model": model}
            for side, size, model in zip("ab", lengths, models, strict=True)
        }
        pairs.append(Pair({"id": f"{number:08x}", "prompt": f"Question {number}?", **responses}).with_votes(votes))
    annotators = {each.id: each for each in (default_annotator(), *traits, *people)}
    metadata = {"version": "2.0", "default_annotator": default_annotator().id}
    return AnnotatedPairs(annotators, tuple(pairs), metadata)


def write_rows(path: Path) -> None:
    """Write a CSV file with prompts and models, for which both packages compute the ids."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text_a", "text_b", "preferred_text", "prompt", "model_a", "model_b"])
        for number in range(200):
            chosen = "text_a" if number % 3 else "text_b"
            writer.writerow([f'Say {number}, "well".', f"Say\n{number} ä", chosen, f"Ask {number}?", "one", "two"])


if __name__ == "__main__":
    main()
