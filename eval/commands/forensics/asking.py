"""The options of the forensic commands that ask a model: those of every judge, about a file of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from eval.commands.judge.made import SharedOptions, Temperature
from eval.commands.options import PresetName, option
from eval.judges.traits import PRESETS
from eval.recorded.forensics.pair_files import kind_of
from pearl.cli.options import check_apart, check_writable
from pearl.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsOptions(SharedOptions):
    """``items`` is the file of pairs. A vote is drawn at temperature 0: several have their orders to differ by."""

    items: Annotated[Path, option("--pairs", metavar="PAIRS", help="Pairs of texts: .json, .jsonl or .csv, or .gz.")]
    preset: PresetName = PRESETS.default
    temperature: Temperature = 0.0

    def drawing(self) -> dict[str, Any]:
        """The options that a reply depends on, and which pairs are asked about: for the head of a result."""
        names = ("preset", "choose", "temperature", "top_p", "max_tokens", "limit")
        return {name: getattr(self, name) for name in names}


def check_out(out: Path, others: Mapping[str, str | Path | None]) -> None:
    """Check, before anybody is asked, that annotated pairs can be written, and not to a file of the ``others``.
    Raises InputError: a CSV cannot hold them."""
    if kind_of(out) == ".csv":
        raise InputError(f"--out {out}: a CSV has no place for these annotators; write .json or .jsonl.", param="out")
    check_writable("--out", out)
    check_apart({"--out": out, **others})
