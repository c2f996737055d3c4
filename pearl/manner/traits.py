"""The traits that are counted by rule. Tables, documentation and the voice card are made from these declarations."""

from __future__ import annotations

from pearl.manner.diction import DICTION
from pearl.manner.form import FORM
from pearl.manner.places import BOLD_OR_ITALIC, CODE, FIRST_PERSON, FIRST_PERSONS, HEADING, SECOND_PERSON
from pearl.manner.trait import PER_100_WORDS, Trait, any_of, matches
from pearl.manner.writing import LIST_ITEM

TRAITS = (*FORM, *DICTION)
# sums of others, for which pairs of texts are annotated
SUMS = (
    Trait(
        "pronouns",
        "personal pronouns",
        "I, we and you in all their forms.",
        PER_100_WORDS,
        any_of(FIRST_PERSON | FIRST_PERSONS | SECOND_PERSON),
        "say I, we or you more|less often",
    ),
    Trait(
        "structure",
        "formatting",
        "List items, headings and passages in bold, italics or code.",
        PER_100_WORDS,
        matches(rf"(?m:{LIST_ITEM.pattern}|{HEADING})|{BOLD_OR_ITALIC}|{CODE}"),
        "format more|less",
    ),
)
BY_NAME = {trait.name: trait for trait in (*TRAITS, *SUMS)}
