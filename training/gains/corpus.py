"""Files of scores in a working folder, one per history file and split, and the examples made of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from shutil import copyfile
from typing import Any

from pearl.errors import InputError
from pearl.records import Document
from pearl.text.files.whole import replaced_file
from training.data.histories import Corpus, fingerprint
from training.data.records import Example
from training.data.split import BY_TIME, BY_USERS, written_in
from training.gains.scores import other_model, read_scores, scored_examples


def scores_file(folder: Path, corpus: str, split: str | None) -> Path:
    return folder / f"{corpus}-{split or 'all'}.parquet"


def examples_of(corpus: Corpus, split: str | None, folder: Path, normalize: str) -> list[Example]:
    """Read the scored requests of a history file's split from ``folder``, as examples. User ids get the corpus's name
    as a prefix.

    Raises InputError if there are no scores, or the history file has changed since.
    """
    scores = scores_file(folder, corpus.name, split)
    table, description = read_scores(scores)
    if description.get("history_sha256", corpus.fingerprint) != corpus.fingerprint:
        raise InputError(f"{scores}: was made of another history file than this '{corpus.name}'; score it again.")
    return [
        replace(example, user_id=f"{corpus.name}:{example.user_id}", domain=corpus.name)
        for example in scored_examples(corpus.histories, table, normalize)
    ]


def take_scores(corpora: Sequence[Corpus], files: Sequence[Path], folder: Path) -> set[str]:
    """Copy files of scores into ``folder``, named by the history and split in their metadata. Returns the splits.

    Raises InputError for scores of another history or of no split, for two files of the same split, and if ``folder``
    has other scores of it.
    """
    by_fingerprint = {corpus.fingerprint: corpus.name for corpus in corpora}
    taken: dict[Path, Path] = {}
    splits: set[str] = set()
    for file in files:
        description: Any = read_scores(file)[1]
        corpus = by_fingerprint.get(description.get("history_sha256"))
        split = description.get("options", {}).get("split")
        if corpus is None or split is None:
            problem = "was made of none of the --history files" if corpus is None else "has no split"
            raise InputError(f"--scores {file}: {problem}; give what 'pearl train score --split' made of them.")
        target = scores_file(folder, corpus, split)
        if target in taken:
            raise InputError(
                f"--scores {file}: is of '{corpus}' and its split '{split}', and so is {taken[target]}; give one."
            )
        if target.exists() and fingerprint(target) != fingerprint(file):
            raise InputError(
                f"--work {folder}: holds other scores of '{corpus}' and its split '{split}'; name another folder."
            )
        taken[target] = file
        splits.add(split)
    folder.mkdir(parents=True, exist_ok=True)
    for target, file in taken.items():
        with replaced_file(target) as partial:
            copyfile(file, partial)
    return splits


def check_scored(corpora: Sequence[Corpus], splits: Sequence[str], folder: Path) -> None:
    """Check that ``folder`` holds scores of every history file and split. Raises InputError if not."""
    for corpus, split in product(corpora, splits):
        if not scores_file(folder, corpus.name, split).exists():
            raise InputError(
                f"--work {folder}: holds no scores of '{corpus.name}' and its split '{split}'; run 'pearl train "
                "retriever' with this --work first, or name those to train on and those to choose by with --scores."
            )


def left_unscored(corpora: Sequence[Corpus], splits: Iterable[str], folder: Path) -> set[str]:
    """Return the splits that have enough documents but no scores, because the budget ended before."""
    unscored = set()
    for split in splits:
        read = [read_scores(scores_file(folder, corpus.name, split)) for corpus in corpora]
        enough = any("options" in description for _, description in read)
        if enough and not any(table.num_rows for table, _ in read):
            unscored.add(split)
    return unscored


@dataclass(frozen=True, slots=True)
class ScoreProvenance:
    """The way a history file was scored: with which auxiliary model, template and way of splitting. ``extents``: the
    options of scoring (``GainOptions``) of each split."""

    aux: str
    template: str
    way: str
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    extents: dict[str, Mapping[str, Any]] = field(default_factory=dict)


def origins_of(corpora: Sequence[Corpus], splits: Sequence[str], folder: Path) -> dict[str, ScoreProvenance]:
    """Return how each corpus was scored, by the corpus's name; corpora without scores are left out.

    Raises InputError if corpora were scored by different models or split in different ways, or if one corpus was scored
    with two templates: gains could then not be compared.
    """
    origins: dict[str, ScoreProvenance] = {}
    first: tuple[str, Any] | None = None  # the first corpus with scores, and the description of these
    for corpus in corpora:
        prompts = set()
        for split in splits:
            description: Any = read_scores(scores_file(folder, corpus.name, split))[1]
            options = description.get("options")
            if not options:
                continue
            prompts.add(json.dumps(description.get("template"), sort_keys=True))
            first = first or (corpus.name, description)
            if other := other_model(first[1], description):
                raise _scored_otherwise(folder, tuple(dict.fromkeys((first[0], corpus.name))), f"another {other}")
            way, made_by = str(options.get("way", BY_USERS)), description.get("fingerprint", {})
            origin = ScoreProvenance(str(description["model"]), str(options["template"]), way, made_by)
            origins.setdefault(corpus.name, origin).extents[split] = options
        if len(prompts) > 1:
            raise _scored_otherwise(folder, (corpus.name,), "another template in each split")
    by_time = [name for name, origin in origins.items() if origin.way == BY_TIME]
    if by_time and len(by_time) < len(origins):
        name = by_time[0]
        users = next(len(corpus.histories) for corpus in corpora if corpus.name == name)
        raise InputError(
            f"--history: '{name}' has too few users ({users:,}) for a split by users, so its texts were split by time, "
            "and those of the others by users; fit on it alone, have 'pearl train retriever' score all of them, or "
            "leave it out."
        )
    return origins


def extents_of(origins: Mapping[str, ScoreProvenance]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Return the options of scoring by corpus and split, for an artifact's manifest."""
    return {name: origin.extents for name, origin in origins.items()}


def _scored_otherwise(folder: Path, names: Sequence[str], what: str) -> InputError:
    which = " and ".join(f"'{name}'" for name in names)
    return InputError(
        f"--work {folder}: the histories were not all scored in the same way ({which}: {what}); score them again."
    )


def histories_of(corpora: Sequence[Corpus], split: str, way: str, seed: int) -> dict[str, Sequence[Document]]:
    """Return a split's documents by user, of all history files; user ids get the corpus's name as a prefix."""
    return {
        f"{corpus.name}:{user}": documents
        for corpus in corpora
        for user, documents in written_in(corpus.histories, split, way, seed).items()
    }
