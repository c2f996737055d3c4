from __future__ import annotations

from importlib.resources import files

import pytest

from pearl.claims.languages import read_words
from pearl.errors import PearlError

SHIPPED = files("pearl.claims").joinpath("languages.toml").read_text(encoding="utf-8")


def test_seven_languages_ship() -> None:
    known = read_words("languages.toml", SHIPPED)
    assert {known.months[name] for name in ("march", "märz", "mars", "marzo", "março", "maart")} == {3}
    assert len(set(known.weekdays.values())) == 7


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[de]", "[de", r"languages\.toml: .*line"),
        ('"März", ', "", r"languages\.toml: \[de\]: months must have 12 entries, and has 11"),
        ('ordinals = ["premier"]', "ordinals = [1]", r"\[fr\]: ordinals must be a list of words"),
        ('ordinals = ["primo"]', 'ordinal = ["primo"]', r"\[it\] must have months, .*, and nothing else"),
        ('"(?:prometo|garanto', '"((?:prometo|garanto', r"\[pt\]: commitments: '.*' is no regular expression: "),
    ],
)
def test_a_broken_entry_is_named(old: str, new: str, message: str) -> None:
    assert SHIPPED.count(old) == 1
    with pytest.raises(PearlError, match=message):
        read_words("languages.toml", SHIPPED.replace(old, new))
