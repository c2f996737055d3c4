from __future__ import annotations

import random
import re

import pytest

from pearl.text.alternatives import Alternatives
from pearl.text.phrases import Phrases

PATTERNS = (
    "tea(?:s|pots?)?",
    "tea time",
    "(?:i )?(?:hope|want) (?:you|that)",
    "hope(?:d|s)? so",
    r"(?:improv|enhanc)(?:e|ing) (?:\w+ )?clarity",
    r"\[(?:your|the) name\]",
    "(?:^|(?<=[.!?] ))(?:overall|thus),",
    "é(?:lan|tude){1,2}",
    "a{2,3}b??c",
    "[tm]ea(?:l|n)",
    r"\d+ cups",
    "x*y",
)


@pytest.mark.parametrize("lists", ["tells", "answers", None])
def test_it_finds_what_one_expression_finds(lists: str | None) -> None:
    patterns = Phrases.of("pearl", "machine").entries(lists) if lists else PATTERNS
    one = re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.MULTILINE)
    many = Alternatives(patterns, re.MULTILINE)
    draw = random.Random(3)
    letters = re.findall(r"\w+|[^\w\\(|)?:]", "".join(patterns))
    texts = [
        "tea time teapots i hope hope so",
        "improve clarity improve the clarity",
        "thus, x. overall, 3 cups xxy",
        "",
    ]
    texts += ["".join(draw.choice((*letters, " ", " ")) for _ in range(200)) for _ in range(300)]
    assert any(one.search(text) for text in texts)
    for text in texts:
        assert [found.span() for found in many.finditer(text)] == [found.span() for found in one.finditer(text)]
