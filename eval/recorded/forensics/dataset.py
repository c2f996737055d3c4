"""Figures of annotated pairs in Python, under the names of the public package (papers/feedback-forensics.txt, A.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.recorded.forensics.metrics import ForensicsOptions, metrics_of_file
from eval.recorded.forensics.pair_files import METADATA, stream_pairs
from eval.recorded.forensics.pairs import distinct_names
from pearl.errors import InputError

DEFAULT = "default_annotator"  # in the metadata of a file


@dataclass(slots=True)
class DatasetHandler:
    """Files of annotated pairs, each with a name. ``reference`` is the name or id of the annotator with which all other
    annotators are compared; None means the default annotator of each file."""

    reference: str | None = None
    figures: dict[str, dict[str, Any]] = field(default_factory=dict)  # as ``pearl forensics metrics`` writes them

    def add_data_from_path(self, path: str | Path, name: str | None = None) -> None:
        """Read a file and compute its figures; ``name`` defaults to the file's name. Raises InputError for a file that
        cannot be used, and for a file without a default annotator if no reference is set."""
        path = Path(path)
        metadata = dict(stream_pairs(path)).get(METADATA, {}) if self.reference is None else {}
        reference = self.reference or metadata.get(DEFAULT)
        if reference is None:
            raise InputError(f"{path}: names no default annotator; give the reference.")
        self.figures[name or path.name] = metrics_of_file(path, ForensicsOptions(str(reference)))

    def get_overall_metrics(self) -> dict[str, dict[str, Any]]:
        """For each file: the number of pairs, and how often the reference chooses text a and the longer text."""
        return {name: {"n": each["n"], **each["overall"]} for name, each in self.figures.items()}

    def get_annotator_metrics(self) -> dict[str, dict[str, dict[str, Any]]]:
        """For each file and annotator: agreement with the reference, kappa, strength and more, with intervals."""
        return {name: _by_name(each["annotators"]) for name, each in self.figures.items()}


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    names = distinct_names({row["id"]: row["name"] for row in rows})
    return {names[row["id"]]: row for row in rows}
