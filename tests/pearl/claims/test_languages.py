from __future__ import annotations

from pathlib import Path

import pytest

from pearl.claims.languages import LanguageWords, words
from pearl.errors import InputError
from pearl.text.phrases import Phrases


def test_seven_languages_ship() -> None:
    assert {words().months[name] for name in ("march", "märz", "mars", "marzo", "março", "maart")} == {3}
    assert len(set(words().weekdays.values())) == 7


def test_a_month_that_is_missing_is_said(tmp_path: Path) -> None:
    file = tmp_path / "claims.toml"
    file.write_text('[en]\nmonths = ["January", "March"]\n')
    with pytest.raises(InputError, match=r"claims\.toml: months must have 12 entries, and January, \.\.\. has 2"):
        LanguageWords.of(Phrases(file))
