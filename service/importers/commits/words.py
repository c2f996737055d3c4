"""The patterns of words.toml, by name."""

from __future__ import annotations

import tomllib
from importlib.resources import files

KNOWN = {
    name: "|".join(patterns)
    for name, patterns in tomllib.loads((files(__package__) / "words.toml").read_text("utf-8")).items()
}
LONGEST_LINE = 1_000  # characters of a footer or a subject that is looked at
