"""Every rule of text of every importer takes time in proportion to its text: each is tried on what it half matches.

A rule is a regular expression in a module of the importers. Its own parts make the attacks: the beginning of something
that it matches, a piece of that over and over, and an end that it does not match.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import service.importing
import service.importing.sources

Rule = re.Pattern[str] | re.Pattern[bytes]
SAMPLES, PUMPED, PIECE = 100, 16, 2
SIZES = (200, 2_000)  # a repeat with a bound may look like the square up to its bound: so the second decides
TIMES = 8  # the larger input: in linear time 8 times, by the square 64
LINEAR = 24
SUSPICIOUS_S = 0.002
ANCHORED = {"match", "fullmatch"}


def rules() -> dict[str, Rule]:
    """The expressions by the module's name and theirs."""
    found: dict[str, Rule] = {}
    rooms = ((room, f"{room.__name__}.") for room in (service.importing.sources, service.importing))
    for info in (info for room, prefix in rooms for info in pkgutil.walk_packages(room.__path__, prefix)):
        for name, value in vars(importlib.import_module(info.name)).items():
            several = (
                value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else [value]
            )
            for number, rule in enumerate(several):
                if isinstance(rule, re.Pattern) and rule not in found.values():
                    found[f"{info.name.removeprefix('service.').removeprefix('importers.')}.{name}.{number}"] = rule
    return found


@cache
def uses() -> dict[str, set[str]]:
    """The methods that are called on an expression, by its name; what is passed on is matched at the start of lines."""
    used: dict[str, set[str]] = {}
    for path in (*service.importing.sources.__path__, *service.importing.__path__):
        for file in Path(path).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    used.setdefault(node.value.id, set()).add(node.attr)
                if isinstance(node, ast.Call):
                    for argument in node.args:
                        if isinstance(argument, ast.Name):
                            used.setdefault(argument.id, set()).add("match")
    return used


def members(items: list[Any]) -> list[str]:
    """Some characters of a set."""
    excluded = items[0][0] is kinds.NEGATE
    common = [character for character in " a1\n\t-.A>[(:#'" if matches(items, character) != excluded]
    own = [
        chr(value[0] if kind is kinds.RANGE else value) for kind, value in items if kind in (kinds.LITERAL, kinds.RANGE)
    ]
    return common[:3] or own[:3]


def matches(items: list[Any], character: str) -> bool:
    categories = {
        kinds.CATEGORY_DIGIT: r"\d",
        kinds.CATEGORY_NOT_DIGIT: r"\D",
        kinds.CATEGORY_SPACE: r"\s",
        kinds.CATEGORY_NOT_SPACE: r"\S",
        kinds.CATEGORY_WORD: r"\w",
        kinds.CATEGORY_NOT_WORD: r"\W",
    }
    return any(
        (kind is kinds.LITERAL and ord(character) == value)
        or (kind is kinds.RANGE and value[0] <= ord(character) <= value[1])
        or (kind is kinds.CATEGORY and re.match(categories[value], character) is not None)
        for kind, value in items
    )


def samples(tree: Any) -> list[str]:
    """Strings that an expression matches, or nearly: every alternative once, repeats none, one and three times."""
    whole = [""]
    for kind, value in tree:
        several = list(dict.fromkeys(parts(kind, value))) or [""]
        whole = [begun + several[0] for begun in whole] + [whole[0] + part for part in several[1:]]
        whole = list(dict.fromkeys(whole))[:SAMPLES]
    return whole


def parts(kind: Any, value: Any) -> list[str]:
    if kind is kinds.LITERAL:
        return [chr(value)]
    if kind in (kinds.ANY, kinds.NOT_LITERAL):
        return ["a" if kind is kinds.ANY or value != ord("a") else "b"]
    if kind is kinds.IN:
        return members(value)
    if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
        least, most, repeated = value
        inner = samples(repeated)
        return [inner[0] * min(least, 3), *(inner if most else []), inner[0] * min(most, 3)]
    if kind is kinds.SUBPATTERN:
        return samples(value[-1])
    if kind is kinds.ATOMIC_GROUP:
        return samples(value)
    if kind is kinds.BRANCH:
        return [part for branch in value[1] for part in samples(branch)]
    return [""]


def attacks(rule: Rule) -> Iterator[tuple[str, str]]:
    """The beginnings of what the rule matches, and the pieces at their ends."""
    pattern = rule.pattern if isinstance(rule.pattern, str) else rule.pattern.decode("latin-1")
    seen = set()
    for sample in samples(parser.parse(pattern, rule.flags & ~re.UNICODE)):
        for end in range(1, len(sample[:PUMPED]) + 1):
            for start in {*range(max(0, end - PIECE), end), 0}:
                seen.add((sample[:start], sample[start:end]))
    yield from sorted(seen)


def seconds(rule: Any, method: str, attack: tuple[str, str], size: int, end: str) -> float:
    text: Any = attack[0] + attack[1] * (size // len(attack[1])) + end
    text = text if isinstance(rule.pattern, str) else text.encode("latin-1", "replace")
    started = time.process_time()
    if method in ANCHORED:
        getattr(rule, method)(text)
    else:
        for _ in rule.finditer(text):
            pass
    return time.process_time() - started


def growth(rule: Rule, method: str, attack: tuple[str, str], end: str) -> float:
    """How many times longer eight times the text takes; 0 where that is no time."""
    for size in SIZES:
        large = seconds(rule, method, attack, TIMES * size, end)
        if large < SUSPICIOUS_S:
            return 0
        grown = min(large / seconds(rule, method, attack, size, end) for _ in range(3))
        if grown < LINEAR:
            return grown
    return grown


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rule"), rules().items(), ids=rules().keys())
def test_a_rule_takes_linear_time_on_what_it_half_matches(name, rule):
    used = uses().get(name.split(".")[-2], set())
    methods = sorted(used & ANCHORED) + (["finditer"] if used - ANCHORED or not used else [])
    slow = (
        (method, attack, end)
        for attack in attacks(rule)
        for method in methods
        for end in ("\0", "!\n")
        if growth(rule, method, attack, end) >= LINEAR
    )
    assert next(slow, None) is None


@pytest.mark.slow
def test_the_attacks_find_what_takes_the_square_of_the_time():
    for pattern, method in ((r"#\w+[ ]*\s*$", "match"), (r"(?:ab|cd)*e", "finditer"), (r"x(?:y|z\s+)\s*$", "match")):
        rule = re.compile(pattern)
        assert any(growth(rule, method, attack, "!\n") >= LINEAR for attack in attacks(rule)), pattern
