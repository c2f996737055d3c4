"""The figures of ``pearl eval sets``: which of the best documents a prompt should show, by what they gain together.

A margin leaves out what scores more than that below the best document. `pearl train sets` measures the best document
alone, with the second, and with the second and third: one of these is what a margin shows. Drafts say the same with
far more noise, and of the model that writes them alone.

Dimensions in comments: N requests, K documents shown at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from eval.report.tables import Json, Table, shown
from eval.retrieval.gains import GainsRecord, clusters
from pearl.chance import share_by_chance
from pearl.errors import InputError
from pearl.stats import Bootstrap, Estimate, Floats
from pearl.texts import counted
from pearl.theta import score_words

MARGINS = 10  # tried, at equal steps of the share of documents that they leave out
MOST = 3  # documents that sets have at most


def check_scored_by(retriever: str, files: Mapping[str, Sequence[GainsRecord]]) -> None:
    """Raise InputError for a file that says its scores are of another retriever than the one of this fingerprint."""
    for name, records in files.items():
        other = next((record.retriever for record in records if record.retriever not in (None, retriever)), None)
        if other is not None:
            raise InputError(
                f"{name}: has the scores of '{other}', and --model's are of '{retriever}'; name the retriever that "
                "'pearl train sets' ranked with, with its encoder.",
                param="model",
                code="other_model",
            )


def leading(record: GainsRecord) -> tuple[Floats, Floats]:
    """The distances of the best documents' scores below the best one's, and the gain of as many of them together,
    (K,) each. Raises InputError for a record without scores or without such sets."""
    if record.scores is None or not record.sets:
        raise InputError("a record has no scores or no sets; make the file with 'pearl train sets'.", param="sets")
    # the best is in every set; of two with one score it is the one that the sets say
    members = frozenset.intersection(*record.sets)
    if len(members) != 1:
        raise InputError("no document is in all sets of a record; make the file with 'pearl train sets'.", param="sets")
    (best,) = members
    order = [best, *(int(place) for place in np.argsort(-np.array(record.scores), kind="stable") if place != best)]
    order = order[: min(MOST, len(order))]
    together = [record.gains[best], *(record.sets.get(frozenset(order[:size])) for size in range(2, len(order) + 1))]
    if None in together:
        raise InputError("a record lacks the set of its best documents.", param="sets")
    scores = np.array([record.scores[place] for place in order])
    return scores[0] - scores, np.array(together, np.float64)


def sets_figures(files: Mapping[str, Sequence[GainsRecord]]) -> dict[str, Any]:
    """The gain within each margin, and by how many documents are shown: the mean over files, in which each counts the
    same, and each file's own."""
    read = {name: [leading(record) for record in records] for name, records in files.items()}
    drawn = {name: Bootstrap(clusters(records).names, seed=seed) for seed, (name, records) in enumerate(files.items())}

    def mean(values: Mapping[str, Floats]) -> Estimate:
        means = [drawn[name].mean(own) for name, own in values.items()]
        value = float(np.mean([estimate.value for estimate in means]))
        return Estimate(value, np.mean([estimate.resampled for estimate in means], axis=0))

    def picked(counts: Mapping[str, list[int]]) -> dict[str, Floats]:
        return {
            name: np.array([gains[count - 1] for (_, gains), count in zip(read[name], own, strict=True)])
            for name, own in counts.items()
        }

    def row(margin: float) -> tuple[dict[str, Any], dict[str, Floats]]:
        counts = {name: [int((behind <= margin).sum()) for behind, _ in own] for name, own in read.items()}
        gains = picked(counts)
        figures = {
            "documents": mean({name: np.array(own, np.float64) for name, own in counts.items()}).to_json(),
            "gain": mean(gains).to_json(),
            "by_file": {name: drawn[name].mean(own).to_json() for name, own in gains.items()},
        }
        return figures, gains

    everything, with_all = row(np.inf)
    curve, tried = [], []
    distances = [behind for own in read.values() for behind, _ in own]
    padded = np.array([[*behind, *[np.inf] * (MOST - len(behind))] for behind in distances])
    for margin in margins(padded):
        figures, gains = row(margin)
        tried.append(gains)
        less = {name: own - with_all[name] for name, own in gains.items()}
        curve.append({"margin": margin, **figures, "less_all": {"gain": mean(less).to_json()}})
    most = max(len(gains) for own in read.values() for _, gains in own)
    return {
        "files": [{"file": name, **clusters(records).to_json()} for name, records in files.items()],
        "curve": [*curve, {"margin": None, **everything}],
        "by_chance": {"gain": _by_chance(files, with_all, tried)},
        "by_count": [
            {
                "count": count,
                "gain": mean(
                    picked({name: [min(count, len(gains)) for _, gains in own] for name, own in read.items()})
                ).to_json(),
            }
            for count in range(1, most + 1)
        ],
    }


def _by_chance(
    files: Mapping[str, Sequence[GainsRecord]], with_all: Mapping[str, Floats], tried: Sequence[Mapping[str, Floats]]
) -> float:
    """The share of random exchanges with all documents in which the best margin gains as much, over all files."""
    names = [f"{name} {cluster}" for name, records in files.items() for cluster in clusters(records).names]

    def shares(gains: Mapping[str, Floats]) -> Floats:
        return np.concatenate([own / len(own) for own in gains.values()])[:, None]  # each file counts the same

    return round(share_by_chance(shares(with_all), map(shares, tried), lambda sums: sums[:, 0], names), 4)


def margins(behind: Floats) -> list[float]:
    """The margins that leave out about a tenth more of the documents each, which lie ``behind`` the best, (N, K),
    infinitely where there is none; no margin where nothing can be left out."""
    others = behind[:, 1:][np.isfinite(behind[:, 1:])]
    if not len(others):
        return []
    steps = np.quantile(others, np.linspace(0, 1, MARGINS, endpoint=False))
    return [float(step) for step in np.unique(steps)]


def margin_cell(point: Json) -> str:
    return "all" if point["margin"] is None else score_words(point["margin"], 3)


def sets_tables(result: Json) -> Iterator[Table]:
    (figures,) = result["models"]
    names = [file["file"] for file in figures["files"]]
    rows = tuple(
        (
            margin_cell(point),
            shown(point["documents"], 1),
            shown(point["gain"], 1),
            shown(point.get("less_all", {}).get("gain"), 1, sign=True),
            *(shown(point["by_file"][name], 1) for name in names),
        )
        for point in figures["curve"]
    )
    requests = ", ".join(f"{counted(file['n'], 'request')} of {file['file']}" for file in figures["files"])
    caption = f"{figures['model']}: gain of the documents that score at most the margin below the best; {requests}."
    yield Table(caption, ("margin", "documents", "gain", "less all's", *names), rows, result["command"])
    by_count = tuple((f"the best {row['count']}", shown(row["gain"], 1)) for row in figures["by_count"])
    yield Table(f"{figures['model']}: by count.", ("shown", "gain"), by_count)
