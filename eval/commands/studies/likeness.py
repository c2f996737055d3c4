"""``pearl eval likeness``: how well a person's texts are told apart from other people's, by file and by length.

Dimensions in comments: N claims, V different scores, R resamples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from typer import Option

from eval.commands.reporting import reporting
from eval.likeness.writers import (
    EXPLAINED,
    IMPOSTORS,
    LEAST_TEXTS,
    LIKENESS,
    OWN,
    SAME_DOMAIN,
    TOPIC_MATCHED,
    Claim,
    Lineup,
    claims,
    part_of,
    scores_of,
    texts_by_user,
    writers_of,
)
from eval.report.report import Report
from eval.report.tables import Json, Table, named
from eval.stats.certainty import CertainAnswers, brier, calibration_error, reliability
from pearl.cli.options import known
from pearl.errors import InputError
from pearl.stats.bootstrap import Bootstrap, Estimate, Floats
from pearl.style.likeness.impostors import AGAINST_FEW, FEW, Impostors, is_same_person, shipped_references
from pearl.style.likeness.likeness import Likeness
from pearl.text.usable import counted
from retriever.models.encoder import Encoder, SentenceEncoder

ABOUT = """A history file has many people's texts, as 'pearl import jsonl' reads them. A hash of their ids makes
two fifths of them impostors, and two fifths are tested; the fifth called dev chose the package's coefficients."""
EXAMPLES = """
  pearl eval likeness --history chat.jsonl.gz --history mail.jsonl.gz --json likeness.json
  pearl eval likeness --history team.jsonl --impostors others.jsonl --method likeness --words 60
  pearl eval likeness --history team.jsonl --shipped
"""
METHODS = ("likeness", "words", "characters", "embeddings", "tfidf")
LENGTHS = (60, 100, 200, 400)


@dataclass(frozen=True, slots=True, kw_only=True)
class LikenessOptions:
    history: Annotated[list[Path], Option(metavar="H.jsonl.gz", help="Many people's histories; repeatable.")]
    method: Annotated[
        list[str],
        Option(
            metavar="NAME",
            help=f"Method to measure beside likeness: {', '.join(METHODS[1:])}; repeatable. By default all.",
        ),
    ] = field(default_factory=lambda: [*METHODS])
    words: Annotated[list[int], Option(min=1, help="Length of the passages; repeatable.")] = field(
        default_factory=lambda: list(LENGTHS)
    )
    impostors: Annotated[
        list[Path], Option(metavar="H.jsonl.gz", help="Histories of other people to tell apart from; repeatable.")
    ] = field(default_factory=list)
    shipped: Annotated[
        bool, Option("--shipped", help="Tell people apart from the package's registers, as the service does.")
    ] = False
    part: Annotated[str, Option(help="People to measure: test, or dev to tune on.")] = "test"
    people: Annotated[int, Option(min=2, help="Number of people of each file at most.")] = 60


@reporting("eval", "likeness")
def likeness(options: LikenessOptions) -> Report:
    """Measure how well people's later texts are told from other people's, by length, with the calibration.

    A person's first texts are the history, the last third is asked about; nobody is their own impostor.
    """
    from rich.console import Console

    from pearl.settings import load_settings

    if options.shipped and options.impostors:
        raise InputError("--shipped and --impostors name two kinds of impostors; give one.")
    known("part", options.part, ("test", "dev"))
    methods = list(dict.fromkeys((METHODS[0], *(known("method", name, METHODS) for name in options.method))))
    options = replace(options, method=methods, words=list(dict.fromkeys(options.words)))
    encoder = load_settings().encoder
    with Console(stderr=True).status("Reading...") as status:
        figures = likeness_report(options, SentenceEncoder(encoder), status.update)
    numbers = [(file["file"], file["impostors"]) for file in figures["files"]]
    if options.shipped:
        taken = {name for _, registers in numbers for name in registers}
        numbers = [(f"the register {one.name}", one.authors) for one in shipped_references() if one.name in taken]
    for name, number in numbers:
        if number < FEW:
            typer.echo(f"Note: {name} has {counted(number, 'impostor')}; {AGAINST_FEW}", err=True)
    held = {"method": options.method, "words": options.words}
    return Report(figures, likeness_tables, options=held)


KINDS = (SAME_DOMAIN, TOPIC_MATCHED)
DIGITS = 3
Fields = dict[str, Any]


def likeness_report(options: LikenessOptions, encoder: Encoder, progress: Callable[[str], None]) -> Fields:
    """The figures by file and length. Raises InputError for files that cannot be read or have too few people."""
    files, certainties = [], []
    for path in options.history:
        progress(f"{path.name}: reading")
        lineup, head = _lineup(path, options, encoder)
        lengths = []
        for words in options.words:
            progress(f"{path.name}: {words} words")
            part, certain = _length(claims(lineup.writers, words), words, lineup, options)
            lengths.append(part)
            certainties.append(certain)
        files.append({**head, "lengths": lengths})
    if not any(part[OWN] + part["abstained"] for file in files for part in file["lengths"]):
        raise InputError(f"--words: nobody's later texts fill a passage of {min(options.words):,} words; give fewer.")
    return {"methods": options.method, "files": files, "reliability": _reliability(np.concatenate(certainties))}


def _lineup(path: Path, options: LikenessOptions, encoder: Encoder) -> tuple[Lineup, Fields]:
    """The writers of a file with their impostors (other people to tell apart from), and the numbers of both."""
    texts = texts_by_user(path)
    writers = writers_of(texts, options.part)
    if len(writers) < 2:
        raise InputError(
            f"{path}: user_id: {len(writers)} people of the {options.part} part have {LEAST_TEXTS} texts or more; two "
            "are needed."
        )
    drawn = np.random.default_rng(0).permutation(len(writers))[: options.people]
    chosen = [writers[index] for index in sorted(drawn)]
    if options.shipped:
        fitted = {writer.user: Likeness.fit(writer.history).reference for writer in chosen}
        registers = Counter(reference.name for reference in fitted.values())
        head: Fields = {"impostors": dict(sorted(registers.items())), "removed": []}
        lineup = Lineup(chosen, lambda writer: fitted[writer.user], encoder)
    else:
        others = {user: user_texts for user, user_texts in texts.items() if part_of(user) == IMPOSTORS}
        if options.impostors:
            others = {
                user: user_texts for file in options.impostors for user, user_texts in texts_by_user(file).items()
            }
        removed = sorted(_tested_impostors(others, texts, {writer.user for writer in writers}))
        kept = {user: user_texts for user, user_texts in others.items() if user not in removed}
        if not kept:
            raise InputError(
                f"{path}: nobody is left to be an impostor, for none of those tested is; name histories of other "
                "people with --impostors."
            )
        reference = Impostors.of(path.name, kept)
        head = {"impostors": reference.authors, "removed": removed}
        lineup = Lineup(chosen, lambda writer: reference, encoder)
    return lineup, {"file": path.name, "users": len(texts), "tested": len(chosen), **head}


def _tested_impostors(
    impostors: Mapping[str, Sequence[str]], texts: Mapping[str, Sequence[str]], tested: set[str]
) -> Iterator[str]:
    """Yield the impostors who are also tested: they have the id of a tested person, or share texts with one."""
    tested_texts = {user: set(texts[user]) for user in tested}
    owner = {text: user for user in tested for text in tested_texts[user]}
    for user, user_texts in impostors.items():
        shared = {owner[text] for text in user_texts if text in owner}
        if user in tested or any(is_same_person(tested_texts[other], set(user_texts)) for other in shared):
            yield user


def _length(trials: Sequence[Claim], words: int, lineup: Lineup, options: LikenessOptions) -> tuple[Fields, Floats]:
    """The figures at one length of passages. Also, for as many false claims as true ones, the truth and probability:
    (N, 2)."""
    scores = scores_of(options.method, lineup, trials) if trials else {}
    ours = scores.get(LIKENESS, np.array([]))
    answered = np.isfinite(ours)
    kinds = np.array([claim.kind for claim in trials])
    counts = {kind: int((answered & (kinds == kind)).sum()) for kind in (OWN, *KINDS)}
    part: Fields = {"words": words, **counts, "abstained": int((~answered).sum())}
    if not min(counts[OWN], counts[SAME_DOMAIN]):
        return {**part, "methods": [], "calibration": None}, np.zeros((0, 2))
    names = np.array([lineup.writers[claim.writer].user for claim in trials])
    part["methods"] = [
        {"method": method, **_figures(method, of_method, kinds, names, answered, options)}
        for method, of_method in scores.items()
    ]
    even = _as_many(kinds, names, answered)
    bootstrap = Bootstrap(names[even])
    certain = CertainAnswers((kinds == OWN)[even].astype(float), 100 * ours[even], bootstrap)
    part["calibration"] = {
        name: _rounded(fold(certain)) for name, fold in (("brier", brier), ("ece", calibration_error))
    }
    return part, np.column_stack((certain.correct, certain.certainty))


def _figures(method: str, scores: Floats, kinds: Any, names: Any, answered: Any, options: LikenessOptions) -> Fields:
    """AUC against each kind of impostor, resampled by the claimed person; for our own method also the equal error
    rate."""
    figures: Fields = {}
    for kind in KINDS:
        among = answered & ((kinds == OWN) | (kinds == kind))
        if not (kinds[among] == kind).any():
            continue
        bootstrap = Bootstrap(names[among])
        true = kinds[among] == OWN
        figures[kind] = _rounded(auc(bootstrap, scores[among], true))
        if method == LIKENESS and kind == SAME_DOMAIN:
            figures["eer"] = _rounded(equal_error_rate(bootstrap, scores[among], true))
    return figures


def _as_many(kinds: Any, names: Any, answered: Any) -> Any:
    """A mask of each person's own answered passages and of as many answered passages by same-domain impostors."""
    chosen = answered & (kinds == OWN)
    for name in np.unique(names):
        of_person = answered & (names == name)
        chosen[np.flatnonzero(of_person & (kinds == SAME_DOMAIN))[: (of_person & (kinds == OWN)).sum()]] = True
    return chosen


def _reliability(certainties: Floats) -> list[Fields]:
    """Bins of the probability, over all files and lengths, with the share of true claims in each bin."""
    if not len(certainties):
        return []
    rows = reliability(
        CertainAnswers(certainties[:, 0], certainties[:, 1], Bootstrap(["all"] * len(certainties), resamples=1))
    )
    return [{"said": round(row["certainty"] / 100, DIGITS), "true": row["correct"], "of": row["total"]} for row in rows]


def _rounded(estimate: Estimate) -> Fields | None:
    interval = estimate.to_json()
    return None if interval is None else {name: round(value, DIGITS) for name, value in interval.items()}


def auc(bootstrap: Bootstrap, scores: Floats, true: NDArray[np.bool_]) -> Estimate:
    """AUC: the probability that a true claim scores above a false claim; equal scores count a half."""

    def fold(weights: Floats) -> Floats:
        right, wrong = _by_score(weights, scores, true)
        below = wrong.cumsum(axis=1) - wrong / 2
        return np.asarray((right * below).sum(axis=1) / (right.sum(axis=1) * wrong.sum(axis=1)))

    return bootstrap.weights(fold)


def equal_error_rate(bootstrap: Bootstrap, scores: Floats, true: NDArray[np.bool_]) -> Estimate:
    """The error rate at the score for which true claims are refused as often as false claims are accepted."""

    def fold(weights: Floats) -> Floats:
        right, wrong = _by_score(weights, scores, true)
        refused = right.cumsum(axis=1) / right.sum(axis=1, keepdims=True)
        believed = 1 - wrong.cumsum(axis=1) / wrong.sum(axis=1, keepdims=True)
        crossing = np.abs(refused - believed).argmin(axis=1)[:, None]
        both = np.take_along_axis(refused, crossing, 1) + np.take_along_axis(believed, crossing, 1)
        return np.asarray(both[:, 0] / 2)

    return bootstrap.weights(fold)


def _by_score(weights: Floats, scores: Floats, true: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """The weights of the true claims and of the false claims at each score, in ascending order: (R, V) each."""
    order = np.argsort(scores, kind="stable")
    starts = np.flatnonzero(np.diff(scores[order], prepend=np.nan) != 0)
    ordered = weights[:, order]
    right = np.add.reduceat(ordered * true[order], starts, axis=1)
    return right, np.add.reduceat(ordered, starts, axis=1) - right


TITLES = {SAME_DOMAIN: "people of the same file", TOPIC_MATCHED: "the nearest passage by somebody else (BM25)"}


def likeness_tables(result: Json) -> Iterator[Table]:
    """Yield AUC against each kind of impostor, then error rates and calibration, by file and length."""
    parts = [
        {**file, **part, "by_method": {row["method"]: row for row in part["methods"]}}
        for file in result["files"]
        for part in file["lengths"]
    ]
    for kind, title in TITLES.items():
        rows = [
            {"file": part["file"], "length": part["words"]}
            | {method: part["by_method"].get(method, {}).get(kind) for method in result["methods"]}
            for part in parts
        ]
        explained = "; ".join(f"{method}: {EXPLAINED[method]}" for method in result["methods"])
        caption = f"AUC of a person's later passages, by their length in words, against those by {title}. {explained}. "
        yield Table.plain(caption + "95% intervals by bootstrap over people.", rows, result["command"])
    caption = "Equal error rate and calibration of the probability, true and false claims in equal numbers."
    fields = "file words tested own same_domain abstained by_method.likeness.eer calibration.ece calibration.brier"
    yield Table.of(caption, parts, named(fields), result["command"])
    removed = [{"file": file["file"], "user": user} for file in result["files"] for user in file["removed"]]
    if removed:
        yield Table.plain("Impostors who are tested themselves, and were removed.", removed)
