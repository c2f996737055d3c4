"""Personas of public Reddit comments (Staab et al. 2024): which of two question-answer pairs a person wrote."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eval.benchmarks.choices import CONSTANT
from eval.benchmarks.pairs import BuildOptions, Ledger, PersonaPair, json_rows, persona_of, the_file
from pearl.errors import InputError

FIELDS = {
    "age": "age",
    "sex": "sex",
    "living country": "city_country",
    "birth country": "birth_city_country",
    "education": "education",
    "occupation": "occupation",
    "income": "income",
    "marital status": "relationship_status",
}


@dataclass(frozen=True, slots=True)
class RedditAnswer:
    """A person's answer to a question."""

    name: str  # line of the file
    persona: dict[str, str]
    question: str
    answer: str

    @property
    def profile(self) -> str:
        """The persona as text for the encoder, one field per line."""
        return "\n".join(f"{name}: {value}" for name, value in self.persona.items())

    @property
    def shown(self) -> str:
        return f"Question: {self.question}\nAnswer: {self.answer}"


def reddit_pairs(folder: Path, options: BuildOptions, ledger: Ledger) -> list[PersonaPair]:
    """Pair each answer with another person's answer. Raises InputError for a file that is not as published."""
    path = the_file(folder, "synthetic_dataset.jsonl", "synthetic_dataset.jsonl.gz")
    answers = _read(path, ledger)
    ledger.check_left(str(path), answers)
    if options.choices["distractor"] == CONSTANT:
        others = {answer.name: answers[-1] for answer in answers}
    else:
        others = _of_the_nearest(path, answers, options)
    pairs: list[PersonaPair] = []
    for answer in answers:
        other = others.get(answer.name)
        if other is None:
            ledger.drop("nobody else answered another question", answer.name)
        elif options.limit and len(pairs) == options.limit:
            ledger.drop("beyond --limit", answer.name)
        else:
            pairs.append(PersonaPair(answer.name, answer.persona, "", answer.shown, other.shown))
    return pairs


def _read(path: Path, ledger: Ledger) -> list[RedditAnswer]:
    answers = []
    for number, row in enumerate(json_rows(path, "question_asked", "response", objects=("personality",)), start=1):
        name, person = f"line {number}", row["personality"]
        ledger.read["answers"] += 1
        lacking = [column for column in FIELDS.values() if column not in person]
        if lacking:
            raise InputError(f"{path}:{number}: personality: has no {', '.join(lacking)}; is it another version?")
        persona = persona_of((field, person[column]) for field, column in FIELDS.items())
        texts: tuple[Any, Any] = row["question_asked"], row["response"]
        complete = all(isinstance(text, str) and text.strip() for text in texts)
        if ledger.keeps(name, {"empty persona": not persona, "empty question or answer": not complete}):
            answers.append(RedditAnswer(name, persona, *texts))
    return answers


def _of_the_nearest(path: Path, answers: Sequence[RedditAnswer], options: BuildOptions) -> dict[str, RedditAnswer]:
    """Choose for each answer, by name, an answer to another question by the person with the nearest profile."""
    by_person: dict[str, list[RedditAnswer]] = defaultdict(list)
    for answer in answers:
        by_person[answer.profile].append(answer)
    profiles = list(by_person)
    if len(profiles) < 2:
        raise InputError(f"{path}: there is only one person in it, and so no other to compare with.")
    vectors = np.asarray(options.encode(profiles), float)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    order = np.argsort(-(vectors @ vectors.T), axis=1, kind="stable")
    generator = random.Random(options.seed)
    others = {}
    for index, profile in enumerate(profiles):
        nearest = [by_person[profiles[other]] for other in order[index] if other != index]
        for answer in by_person[profile]:
            usable = ([one for one in of_person if one.question != answer.question] for of_person in nearest)
            if candidates := next(filter(None, usable), None):
                others[answer.name] = generator.choice(candidates)
    return others
