from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

# no five words in a row that two paragraphs share: they would count as versions of one
PLAIN = ("the wheel stood", "rain fell", "nobody came", "we ate bread")
ORNATE = ("testament to longing", "tapestry of whispers", "golden light", "shimmering hope")


def versions(number: int) -> tuple[str, str]:
    """A plain text and an ornate one on the same thing."""
    begun = " ".join(f"letter{number}x{part}" for part in range(8))
    draw = [(number * 3 + step) % 4 for step in range(3)]
    return tuple(  # type: ignore[return-value]
        " ".join([begun, *(f"{phrases[place]} item{number}" for place in draw)]) + "." for phrases in (PLAIN, ORNATE)
    )


@pytest.fixture
def scored_file(tmp_path) -> Callable[..., Path]:
    """Paragraphs with scores: each in a plain version, which has more, and in an ornate one."""

    def write(paragraphs: int = 24, name: str = "scored.jsonl", more: tuple[dict[str, object], ...] = ()) -> Path:
        rows = [
            {"paragraph": text, "score": score + number % 3}
            for number in range(paragraphs)
            for text, score in zip(versions(number), (7, 3), strict=True)
        ]
        path = tmp_path / name
        path.write_bytes(b"\n".join(map(orjson.dumps, (*rows, *more))))
        return path

    return write
