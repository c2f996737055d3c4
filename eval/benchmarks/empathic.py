"""Empathic Conversations (Omitaomu et al. 2022): which of two essays on a news article a person wrote."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from pathlib import Path

from eval.benchmarks.choices import BELOW_3, CAPPED
from eval.benchmarks.pairs import BuildOptions, Ledger, PersonaPair, persona_of, the_file
from eval.stats.ratings import numbers
from pearl.text.files.csv_rows import csv_rows

# the published run asks for 5 pairs an article and for 100 ties, and its code stops one later: 510 items, 101 ties
PAIRS_AN_ARTICLE, MOST_TIES = 6, 101
SCORES = ("person_empathy", "person_distress")
SEX = {"1": "male", "2": "female", "5": "other"}
RACE = {
    "1": "White",
    "2": "Hispanic / Latino",
    "3": "Black / African American",
    "4": "Native American / American Indian",
    "5": "Asian / Pacific Islander",
    "6": "other",
}
EDUCATION = {
    "1": "less than a high school diploma",
    "2": "high school degree or diploma",
    "3": "technical / vocational school",
    "4": "some college, no degree",
    "5": "two year associate degree",
    "6": "college or university degree",
    "7": "postgraduate / professional degree",
}
TRAITS = ("conscientiousness", "extraversion", "agreeableness", "stability")
OPENNESS = "personality_openess"  # as it is spelled there


def empathic_pairs(folder: Path, options: BuildOptions, ledger: Ledger) -> list[PersonaPair]:
    """Pair each person's essay on an article with another person's. Raises InputError for files not as published."""
    people = _people(the_file(folder, "*per*train*.csv", "*_per_*.csv"))
    articles = {
        _code(row["article_id"]): row["text"]
        for _, row in csv_rows(the_file(folder, "articles*.csv"), ("article_id", "text"))
    }
    needed = ("article_id", "person_id", "person_essay", *SCORES)
    essays: dict[str, list[dict[str, str]]] = defaultdict(list)
    for _, row in csv_rows(the_file(folder, "*emp*train*.csv", "*_emp_*.csv"), needed):
        ledger.read["essays"] += 1
        faults = {
            "empty essay": not row["person_essay"].strip(),
            "no empathy or distress score": numbers([row[what] for what in SCORES]) is None,
        }
        if ledger.keeps(f"{row['article_id']} {row['person_id']}", faults):
            essays[_code(row["article_id"])].append(row)
    pairs: list[PersonaPair] = []
    for article, rows in essays.items():
        text = articles.get(article, "")
        faults = {"essays on an article without text": not text.strip(), "article with one essay": len(rows) < 2}
        if ledger.keeps(article, faults):
            _add_pairs(pairs, article, text, rows, people, options, ledger)
    return pairs


def _add_pairs(
    pairs: list[PersonaPair],
    article: str,
    text: str,
    essays: list[dict[str, str]],
    people: dict[str, dict[str, str]],
    options: BuildOptions,
    ledger: Ledger,
) -> None:
    least, before = 3 if options.choices["essay_tie"] == BELOW_3 else 2, len(pairs)
    for essay, other in combinations(essays, 2):
        who, whose = _code(essay["person_id"]), _code(other["person_id"])
        name = f"{article} {who} {whose}"
        persona, right, wrong = people.get(who, {}), essay["person_essay"], other["person_essay"]
        ledger.read["pairs of essays"] += 1
        tie = any(abs(float(essay[what]) - float(other[what])) < least for what in SCORES)
        faults = {
            "person not in the file of people": who not in people,
            "empty persona": not persona,
            "the same writer or text twice": who == whose or right.split() == wrong.split(),
            "tie": tie and not options.ties,
            "beyond the pairs of an article": len(pairs) - before == PAIRS_AN_ARTICLE,
            "beyond --limit": len(pairs) == options.limit,
            "tie beyond their share": tie and not _may_tie(pairs, options),
        }
        if ledger.keeps(name, faults):
            pairs.append(PersonaPair(name, persona, text, right, wrong, tie))


def _may_tie(pairs: list[PersonaPair], options: BuildOptions) -> bool:
    """True if another tie is allowed: among the first hundred, or within a fifth of all pairs, as the options say."""
    ties = sum(pair.tie for pair in pairs)
    return ties < MOST_TIES if options.choices["tie_share"] == CAPPED else 5 * (ties + 1) <= len(pairs) + 1


def _people(path: Path) -> dict[str, dict[str, str]]:
    """Read the persona of each writer, with the variables of the paper's table 6."""
    traits = {trait: f"personality_{trait}" for trait in TRAITS}
    needed = ("person_id", "gender", "race", "age", "education", "income", OPENNESS, *traits.values())
    return {
        _code(row["person_id"]): persona_of(
            (
                ("age", _code(row["age"])),
                ("sex", SEX.get(_code(row["gender"]))),
                ("race", RACE.get(_code(row["race"]))),
                ("education", EDUCATION.get(_code(row["education"]))),
                ("income", _code(row["income"])),
                ("openness", row[OPENNESS]),
                *((trait, row[column]) for trait, column in traits.items()),
            )
        )
        for _, row in csv_rows(path, needed)
    }


def _code(cell: str) -> str:
    """A whole number without its decimal point, as it may be written as 2 or as 2.0."""
    return cell.strip().removesuffix(".0")
