"""The files of likeness that ship: the figures of three registers, and the coefficients that make a probability.

    python docs/experiments/likeness_registers.py --data DATA [--out FOLDER]

Writes ``registers/NAME.safetensors`` for messages, mail and commits, and ``calibration.json`` below ``--out``, by
default the package's own. The mail register has the n-grams of messages, with the counts of mail alone: too few people
write mail for n-grams of their own. ``DATA`` has the four history files of SOURCES. Impostors are a register's figures,
people to tune on its coefficients; people to test have no part in either. The same data give the same figures; only the
order of the metadata in a register's header is safetensors' own. Takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from sklearn.linear_model import LogisticRegression

from eval.likeness.writers import DEV, IMPOSTORS, Claimant, part_of, passages, texts_by_user, writers_of
from pearl.likeness.calibration import FILE, GIVEN, SHIPPED, VARIABLES, LikenessEvidence
from pearl.likeness.impostors import Impostors, ReadText
from pearl.likeness.likeness import Likeness
from pearl.stats.bootstrap import Floats

SOURCES = {
    "chat": "chat/lean.jsonl.gz",
    "mail": "mail/everything.jsonl.gz",
    "git": "commits/git.jsonl.gz",
    "coreboot": "commits/coreboot.jsonl.gz",
}
REGISTERS = {"messages": ("chat", "mail"), "commits": ("git", "coreboot")}
WITHIN = ("mail",)  # registers of one source, of what its register above has
LEAST_AUTHORS = 20  # of an n-gram or a word that ships
PEOPLE, OWN, OTHERS = 45, 6, 18  # of a source, of a person's passages of a length, of other people's
LENGTHS = (60, 120, 400)
POWER = 0.5  # of the length
INVERSE_PENALTY = 100.0
INTERCEPT = "intercept"
USED = {SHIPPED: VARIABLES[:-1], GIVEN: VARIABLES}
BOUNDED = ("history", "surprise")
PERCENTILES = (1, 99)

Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """A passage of ``length`` words asked about for a person: the evidence, and True where the person wrote it."""

    length: int
    own: bool
    evidence: LikenessEvidence


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage as the impostors read it, and the share of its words that they know."""

    user: str
    read: ReadText
    known: bool


def impostors_of(texts: Texts) -> dict[str, Sequence[str]]:
    return {user: theirs for user, theirs in texts.items() if part_of(user) == IMPOSTORS}


def registers(texts: Mapping[str, Texts], out: Path) -> dict[str, Impostors]:
    """The register of each source, written to ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Impostors] = {}
    for name, sources in REGISTERS.items():
        people = {user: theirs for source in sources for user, theirs in impostors_of(texts[source]).items()}
        register = Impostors.of(name, people, least_authors=LEAST_AUTHORS)
        register.save(out / f"{name}.safetensors")
        say(f"{name}: {register.authors} people, {len(register.masking.vocabulary)} words")
        found |= dict.fromkeys(sources, register)
    for source in WITHIN:
        register = Impostors.of(source, impostors_of(texts[source]), within=found[source])
        register.save(out / f"{source}.safetensors")
        say(f"{source}: {register.authors} people")
        found[source] = register
    return found


def asked(texts: Texts, impostors: Impostors) -> list[Asked]:
    """The passages of the people to tune on, each person's own and other people's."""
    random = Random(0)
    people = writers_of(texts, DEV)
    people = random.sample(people, min(PEOPLE, len(people)))
    by_length = {length: list(_passages(people, length, impostors, random)) for length in LENGTHS}
    return [row for person in people for row in _of_person(person, by_length, impostors, random)]


def _passages(people: Iterable[Claimant], length: int, impostors: Impostors, random: Random) -> Iterator[Passage]:
    for person in people:
        every = list(passages(person.later, length))
        for text in random.sample(every, min(OWN, len(every))):
            yield Passage(person.user, impostors.read(text), impostors.reads_language(text))


def _of_person(
    person: Claimant, by_length: Mapping[int, Sequence[Passage]], impostors: Impostors, random: Random
) -> Iterator[Asked]:
    fitted = Likeness.fit(person.history, impostors)
    for length, every in by_length.items():
        own = [each for each in every if each.user == person.user]
        others = [each for each in every if each.user != person.user]
        for each in own + random.sample(others, min(OTHERS, len(others))):
            evidence = fitted.evidence(each.read)
            if evidence is not None and each.known:
                yield Asked(length, each.user == person.user, evidence)


def coefficients(
    sources: Sequence[Sequence[Asked]], names: Sequence[str], used: Sequence[str]
) -> dict[str, dict[str, float]]:
    """The coefficients of the variables that are ``used``, others 0, by the name of each source: an intercept a name,
    all else shared. Sources count alike, lengths alike within each, and own passages like other people's."""
    rows = [row for source in sources for row in source]
    named = sorted(set(names))
    of_source = [named.index(name) for source, name in zip(sources, names, strict=True) for _ in source]
    columns = [VARIABLES.index(name) for name in used if name != INTERCEPT]
    variables = np.array([row.evidence.variables()[columns] for row in rows])
    lengths = np.array([[(row.evidence.words / 100) ** POWER] for row in rows])
    values = np.hstack((np.eye(len(named))[of_source], variables)) * lengths
    weights = np.concatenate([_weights(source) for source in sources])
    scale = values.std(axis=0) + 1e-9
    model = LogisticRegression(C=INVERSE_PENALTY, fit_intercept=False, max_iter=2000)
    model.fit(values / scale, [row.own for row in rows], sample_weight=weights / weights.mean())
    intercepts, shared = np.split(model.coef_[0] / scale, [len(named)])
    fitted = dict(zip([name for name in used if name != INTERCEPT], shared, strict=True))
    return {
        name: {key: round(float((fitted | {INTERCEPT: intercept}).get(key, 0.0)), 4) for key in VARIABLES}
        for name, intercept in zip(named, intercepts, strict=True)
    }


def _weights(rows: Sequence[Asked]) -> Floats:
    kinds = [(row.length, row.own) for row in rows]
    return np.array([1 / kinds.count(kind) for kind in kinds])


def ranges(sources: Sequence[Sequence[Asked]]) -> dict[str, list[float]]:
    """Where the middle 98 of 100 values of each bounded variable lie."""
    evidence = [row.evidence for source in sources for row in source]
    values = {
        "history": [math.log(each.history_words) for each in evidence],
        "surprise": [each.surprise for each in evidence],
    }
    return {name: [round(float(each), 3) for each in np.percentile(values[name], PERCENTILES)] for name in BOUNDED}


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="Folder of the four history files.")
    options.add_argument("--out", type=Path, default=FILE.parent, help="Folder to write to.")
    told = options.parse_args()
    texts = {source: texts_by_user(told.data / file) for source, file in SOURCES.items()}
    shipped = registers(texts, told.out / "registers")
    calibration: dict[str, object] = {}
    for kind, used in USED.items():
        sources, names = [], []
        for source, people in texts.items():
            impostors = shipped[source] if kind == SHIPPED else Impostors.of(source, impostors_of(people))
            sources.append(asked(people, impostors))
            names.append(impostors.name if kind == SHIPPED else GIVEN)
            say(f"{kind}, {source}: {len(sources[-1])} passages")
        calibration |= {
            name: {"coefficients": fitted, "power": POWER, "ranges": ranges(sources)}
            for name, fitted in coefficients(sources, names, used).items()
        }
    (told.out / FILE.name).write_text(json.dumps(calibration, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
