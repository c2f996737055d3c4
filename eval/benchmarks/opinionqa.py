"""OpinionQA (Santurkar et al. 2023): which of two answers a respondent of a survey gave."""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass
from pathlib import Path

from eval.benchmarks.choices import RANDOM
from eval.benchmarks.pairs import BuildOptions, Ledger, PersonaPair, persona_of
from pearl.errors import InputError
from pearl.text.files.csv_rows import csv_rows

RESPONDENTS, FIRST_RESPONDENTS = 200, 201  # the authors' code stops one later than it says
MOST_OPTIONS = 3
REFUSED = "refused"
FIELDS = {
    "age": "AGE",
    "sex": "SEX",
    "race": "RACE",
    "region": "CREGION",
    "education": "EDUCATION",
    "citizen": "CITIZEN",
    "marital status": "MARITAL",
    "religion": "RELIG",
    "religious attendance": "RELIGATTEND",
    "party": "POLPARTY",
    "ideology": "POLIDEOLOGY",
    "income": "INCOME",
}


@dataclass(frozen=True, slots=True)
class SurveyQuestion:
    """A question of a survey, with two possible answers."""

    key: str
    text: str
    options: tuple[str, str]  # the two answers that count


def opinionqa_pairs(folder: Path, options: BuildOptions, ledger: Ledger) -> list[PersonaPair]:
    """Pair answers to a question of each survey with the other answer. Raises InputError for files not as published."""
    waves = sorted({path.parent for path in folder.rglob("info.csv")}) if folder.is_dir() else []
    if not waves:
        raise InputError(f"--data {folder}: no folder in it has an info.csv.")
    generator, drawn = random.Random(options.seed), options.choices["question"] == RANDOM
    pairs: list[PersonaPair] = []
    for wave in waves:
        ledger.read["waves"] += 1
        questions = _questions(wave / "info.csv", ledger, binary=drawn)
        if not questions:
            ledger.drop("wave without a question of so few options", wave.name)
            continue
        question = generator.choice(questions) if drawn else questions[0]
        pairs += _answers(wave, question, options, ledger, generator if drawn else None)
    return pairs


def _questions(path: Path, ledger: Ledger, *, binary: bool) -> list[SurveyQuestion]:
    """Read the questions with two answers; if not ``binary``, with up to three, of which the first two count."""
    questions = []
    for _, row in csv_rows(path, ("key", "question", "option_mapping")):
        ledger.read["questions"] += 1
        try:
            mapping = ast.literal_eval(row["option_mapping"])
            answers = {float(code): str(text) for code, text in mapping.items()}
        except (ValueError, SyntaxError, AttributeError, TypeError) as error:
            raise InputError(
                f"{path}: option_mapping: {row['key']} has no mapping of numbers to answers; is it another version?"
            ) from error
        real = [answers[code] for code in sorted(answers) if answers[code].casefold() != REFUSED]
        usable = len(real) == 2 if binary else len(answers) <= MOST_OPTIONS and {1.0, 2.0} <= answers.keys()
        if usable:
            first, second = real if binary else (answers[1.0], answers[2.0])
            questions.append(SurveyQuestion(row["key"], row["question"], (first, second)))
    return questions


def _answers(
    wave: Path, question: SurveyQuestion, options: BuildOptions, ledger: Ledger, generator: random.Random | None
) -> list[PersonaPair]:
    """Return the pairs of the first respondents, or random ones, who gave one of the two answers."""
    limit = options.limit or (FIRST_RESPONDENTS if generator is None else RESPONDENTS)
    taken: list[PersonaPair] = []
    rows = csv_rows(wave / "responses.csv", (question.key, *FIELDS.values()))
    for number, (_, row) in enumerate(rows, start=1):
        ledger.read["respondents"] += 1
        name, answer = f"{wave.name} {question.key} {number}", row[question.key]
        persona = persona_of((field, row[column]) for field, column in FIELDS.items())
        faults = {"none of the two answers": answer not in question.options, "empty persona": not persona}
        if ledger.keeps(name, faults):
            other = question.options[1 - question.options.index(answer)]
            taken.append(PersonaPair(name, persona, question.text, answer, other))
    indices = range(len(taken)) if generator is None else generator.sample(range(len(taken)), min(limit, len(taken)))
    chosen = set(indices[:limit])
    return [pair for index, pair in enumerate(taken) if ledger.keeps(pair.id, {"beyond --limit": index not in chosen})]
