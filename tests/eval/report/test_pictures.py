from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from eval.report.pictures import canvas, draw
from pearl.errors import InputError


def titled(result: Any) -> Any:
    figure, grid = canvas(1, 1, (2, 2))
    grid[0, 0].set_title(result["title"])
    return figure


def test_letters_that_no_font_has_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "picture.svg"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(titled, {"title": "a \U000f0000"}, path)  # of private use
    assert "\U000f0000" in path.read_text(encoding="utf-8")


def test_a_picture_that_cannot_be_finished_leaves_the_one_before(
    tmp_path: Path, files_of_at_most: Callable[[int], AbstractContextManager[None]]
) -> None:
    path = tmp_path / "picture.svg"
    draw(titled, {"title": "a"}, path)
    before = path.read_bytes()
    with files_of_at_most(100), pytest.raises(InputError, match=r"--picture .*: File too large"):
        draw(titled, {"title": "b"}, path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_other_warnings_stay(tmp_path: Path) -> None:
    def warned(result: Any) -> Any:
        warnings.warn("flat", stacklevel=1)
        return titled(result)

    with pytest.warns(UserWarning, match="flat"):
        draw(warned, {"title": "a"}, tmp_path / "picture.svg")
