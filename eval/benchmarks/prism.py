"""PRISM (Kirk et al. 2024): the best-scored first response of a model to a person against another, random one."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from eval.benchmarks.choices import BELOW_10, ONE_MORE, SUBSTRING, THOUSAND
from eval.benchmarks.pairs import BuildOptions, Ledger, PersonaPair, json_rows, persona_of, the_file

SAMPLES = {THOUSAND: 1000, ONE_MORE: 1001}
TIE = 10  # points
_SUBSTRINGS = re.compile("language model|AI|chatbot")
_MODEL = r"an?\s+(?:ai|artificial\s+intelligence|(?:large\s+)?language\s+model|chatbot)\b"
_REFUSAL = re.compile(
    r"\s*(?:(?:i['’]m|i\s+am)\s+sorry|sorry|i\s+apologi[sz]e|unfortunately)\b[^.!?\n]{0,80}"
    r"\b(?:can['’]?t|cannot|can\s+not|unable|not\s+able|won['’]t)\b"
    r"|\s*i\s+(?:can['’]t|cannot|can\s+not|won['’]t|am\s+unable|am\s+not\s+able)\b"
    rf"|.{{0,200}}\b(?:as|i\s*['’]m|i\s+am)\s+(?:just\s+|only\s+)?{_MODEL}",
    re.IGNORECASE | re.DOTALL,
)


def prism_pairs(folder: Path, options: BuildOptions, ledger: Ledger) -> list[PersonaPair]:
    """Pair the best response of each interaction with another. Raises InputError for files not as published."""
    people = _people(the_file(folder, "survey.jsonl", "survey.jsonl.gz"))
    responses = _responses(the_file(folder, "utterances.jsonl", "utterances.jsonl.gz"), options, ledger)
    generator = random.Random(options.seed)
    limit = options.limit or SAMPLES[options.choices["samples"]]
    pairs: list[PersonaPair] = []
    for name in sorted(responses, key=lambda name: (int("".join(re.findall(r"\d", name)) or 0), name)):
        pair = _pair(name, responses[name], people, options, ledger, generator)
        if pair and ledger.keeps(name, {"beyond --limit": len(pairs) == limit}):
            pairs.append(pair)
    return pairs


def _people(path: Path) -> dict[str, dict[str, str]]:
    """Read the persona of each user, with the variables of the paper's table 6."""
    needed = ("user_id", "age", "gender", "employment_status", "education", "marital_status")
    return {
        str(row["user_id"]): persona_of(
            (
                ("age", row["age"]),
                ("sex", row["gender"]),
                ("race", row["ethnicity"].get("simplified")),
                ("birth country", row["location"].get("birth_country")),
                ("living country", row["location"].get("reside_country")),
                ("employment", row["employment_status"]),
                ("education", row["education"]),
                ("marital status", row["marital_status"]),
                ("religion", row["religion"].get("simplified")),
            )
        )
        for row in json_rows(path, *needed, objects=("religion", "ethnicity", "location"))
    }


def _responses(path: Path, options: BuildOptions, ledger: Ledger) -> dict[str, list[dict[str, Any]]]:
    """Read the usable first responses of each interaction."""
    needed = ("interaction_id", "user_id", "turn", "user_prompt", "model_response", "model_name", "score")
    by_interaction: dict[str, list[dict[str, Any]]] = defaultdict(list)
    refused = _SUBSTRINGS.search if options.choices["refusals"] == SUBSTRING else _REFUSAL.match
    family = (options.own_family or "").casefold()
    for row in json_rows(path, *needed):
        name, text = str(row["interaction_id"]), row["model_response"]
        if row["turn"] != 0:
            ledger.read["responses of later turns"] += 1
            continue
        ledger.read["responses of first turns"] += 1
        usable = by_interaction[name]
        faults = {
            "no score": isinstance(row["score"], bool) or not isinstance(row["score"], (int, float)),
            "empty response": not isinstance(text, str) or not text.strip(),
            "response of the judge's family": bool(family) and family in str(row["model_name"]).casefold(),
            "refusal": isinstance(text, str) and bool(refused(text)),
        }
        if ledger.keeps(name, faults):
            usable.append(row)
    return by_interaction


def _pair(
    name: str,
    rows: list[dict[str, Any]],
    people: dict[str, dict[str, str]],
    options: BuildOptions,
    ledger: Ledger,
    generator: random.Random,
) -> PersonaPair | None:
    ledger.read["interactions"] += 1
    if len(rows) < 2:
        ledger.drop("fewer than two responses left", name)
        return None
    best = max(rows, key=lambda row: row["score"])
    other = generator.choice([row for row in rows if row is not best])
    persona = people.get(str(best["user_id"]), {})
    right, wrong = best["model_response"], other["model_response"]
    gap = best["score"] - other["score"]
    tie = gap < TIE if options.choices["score_tie"] == BELOW_10 else gap <= TIE
    faults = {
        "person not in the survey": str(best["user_id"]) not in people,
        "empty persona": not persona,
        "the same response twice": right.strip() == wrong.strip(),
        "tie": tie and not options.ties,
    }
    if not ledger.keeps(name, faults):
        return None
    models = str(best["model_name"]), str(other["model_name"])
    question = best["user_prompt"].strip() if isinstance(best["user_prompt"], str) else ""
    return PersonaPair(name, persona, question, right, wrong, tie, models)
